/* SPDX-License-Identifier: MIT */
/*
 * What happens in a sandbox, told while it happens. Events are handed to a callback; everything in
 * them is borrowed for the call.
 */
#ifndef KODA_EVENT_H
#define KODA_EVENT_H

#include <koda/clause.h>
#include <koda/error.h>
#include <koda/trust.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum koda_event_type {
	KODA_EVENT_START = 0,
	KODA_EVENT_VIOLATION,
	KODA_EVENT_EGRESS,
	KODA_EVENT_LIMIT,
	KODA_EVENT_EXIT
};

/* What was tried: enumerator, name in JSON, name in the text for people and models. */
#define KODA_VIOLATIONS(X)                                                                         \
	X(FILE_READ, "file_read", "file-read*")                                                    \
	X(FILE_WRITE, "file_write", "file-write*")                                                 \
	X(NETWORK, "network_outbound", "network-outbound")                                         \
	X(EXEC, "process_exec", "process-exec")                                                    \
	X(OTHER, "other", "other")

enum koda_violation {
#define KODA_VIOLATION_ENUM(name, json, text) KODA_VIOLATION_##name,
	KODA_VIOLATIONS(KODA_VIOLATION_ENUM)
#undef KODA_VIOLATION_ENUM
	KODA_VIOLATION_COUNT
};

/* Who noticed. */
#define KODA_SOURCES(X)                                                                            \
	X(KERNEL, "kernel")                                                                        \
	X(PROXY, "proxy")                                                                          \
	X(WORKER, "worker")                                                                        \
	X(STDERR, "stderr")

enum koda_source {
#define KODA_SOURCE_ENUM(name, text) KODA_SOURCE_##name,
	KODA_SOURCES(KODA_SOURCE_ENUM)
#undef KODA_SOURCE_ENUM
	KODA_SOURCE_COUNT
};

/* A limit that was reached. */
#define KODA_CEILINGS(X)                                                                           \
	X(WALL_TIME, "wall_time")                                                                  \
	X(OUTPUT, "output")                                                                        \
	X(MEMORY, "memory")                                                                        \
	X(PROCESSES, "processes")                                                                  \
	X(CPU_TIME, "cpu_time")                                                                    \
	X(FILE_SIZE, "file_size")

enum koda_ceiling {
#define KODA_CEILING_ENUM(name, text) KODA_CEILING_##name,
	KODA_CEILINGS(KODA_CEILING_ENUM)
#undef KODA_CEILING_ENUM
	KODA_CEILING_COUNT
};

/* How a run ended. */
#define KODA_REASONS(X)                                                                            \
	X(EXITED, "exited")                                                                        \
	X(SIGNAL, "signal")                                                                        \
	X(WALL_TIME, "wall_time")                                                                  \
	X(REFUSED, "refused") /* the policy or the user said no */                                 \
	X(SETUP, "setup")     /* the sandbox could not be made; nothing ran */

enum koda_reason {
#define KODA_REASON_ENUM(name, text) KODA_REASON_##name,
	KODA_REASONS(KODA_REASON_ENUM)
#undef KODA_REASON_ENUM
	KODA_REASON_COUNT
};

struct koda_event_start {
	const char *backend;
	enum koda_trust trust;
	const struct koda_findings *findings;
};

struct koda_event_violation {
	enum koda_violation kind;
	const char *target; /* NULL: unknown; any bytes */
	const char *rule;   /* NULL: unknown */
	enum koda_source source;
	const char *command;
};

struct koda_event_egress {
	const char *host;
	uint16_t port;
	const char *address; /* NULL: none was connected to */
	bool allowed;
	const char *reason;
	const char *rule;   /* NULL: none */
	const char *method; /* NULL: a tunnel */
	const char *path;   /* NULL: a tunnel; never with a query */
	uint64_t bytes_up;
	uint64_t bytes_down;
	double ms;
	uint64_t dropped; /* events like this one that were lost before it, for nobody read them */
};

struct koda_event_limit {
	enum koda_ceiling which;
	uint64_t value; /* what the limit is: seconds, bytes or processes */
};

struct koda_event_exit {
	int code;   /* -1: none */
	int signal; /* 0: none */
	enum koda_reason reason;
	double wall_ms;
};

struct koda_event {
	enum koda_event_type type;
	double time; /* seconds since the epoch */
	union {
		struct koda_event_start start;
		struct koda_event_violation violation;
		struct koda_event_egress egress;
		struct koda_event_limit limit;
		struct koda_event_exit exit;
	} of;
};

/* Called from the thread that starts the command or waits for it; must not call back into them. */
typedef void koda_event_fn(void *ctx, const struct koda_event *event);

/* The event as one line of JSON with its newline; owned by the caller (free). Fails: NOMEM. */
KODA_API KODA_CHECK int koda_event_json(const struct koda_event *event, char **ret_line,
					struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
