/* SPDX-License-Identifier: MIT */
/*
 * What happens in a sandbox, reported while it happens. Events are passed to a callback; everything
 * in them is borrowed for the call.
 */
#ifndef KODA_EVENT_H
#define KODA_EVENT_H

#include <koda/clause.h>
#include <koda/error.h>
#include <koda/limit.h>
#include <koda/trust.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum koda_event_type {
	KODA_EVENT_START = 0,
	KODA_EVENT_VIOLATION,
	KODA_EVENT_EGRESS,
	KODA_EVENT_LIMIT,
	KODA_EVENT_EXIT,
	KODA_EVENT_LEFT_BEHIND
};

/* What was tried: enumerator, name in JSON, name in the text for people and models. */
#define KODA_VIOLATIONS(X)                                                                         \
	X(FILE_READ, "file_read", "file-read*")                                                    \
	X(FILE_WRITE, "file_write", "file-write*")                                                 \
	X(NETWORK, "network_outbound", "network-outbound")                                         \
	X(EXEC, "process_exec", "process-exec*")                                                   \
	X(OTHER, "other", "")

enum koda_violation {
#define KODA_VIOLATION_ENUM(name, json, text) KODA_VIOLATION_##name,
	KODA_VIOLATIONS(KODA_VIOLATION_ENUM)
#undef KODA_VIOLATION_ENUM
	KODA_VIOLATION_COUNT
};

/* Where a denial was noticed. */
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

/* How a command ended: enumerator, name in JSON. */
#define KODA_ENDS(X)                                                                               \
	X(SETUP, "setup")     /* the sandbox could not be set up; nothing ran */                   \
	X(REFUSED, "refused") /* the policy or the user said no; nothing ran */                    \
	X(EXEC, "exited")     /* execve() of the program failed */                                 \
	X(EXITED, "exited")                                                                        \
	X(SIGNAL, "signal")                                                                        \
	X(WALL_TIME, "wall_time") /* the wall time passed; every process was ended */

enum koda_end {
#define KODA_END_ENUM(name, text) KODA_END_##name,
	KODA_ENDS(KODA_END_ENUM)
#undef KODA_END_ENUM
	KODA_END_COUNT
};

/* Files of a command that host tools obey, in a directory that existed before it. */
#define KODA_LEFTS(X)                                                                              \
	X(GIT_DIR, "git_dir")                                                                      \
	X(GIT_FILE, "git_file")         /* a .git that leads to another directory */               \
	X(BARE_GIT_DIR, "bare_git_dir") /* a directory that is a git directory itself */           \
	X(GITLINK, "gitlink")           /* the index of a known repository leads there */          \
	X(HG_DIR, "hg_dir")             /* a .hg, .sl or .jj */                                    \
	X(UNSEEN, "git_dir") /* a directory that could not be read: there may be one in it */

enum koda_left {
#define KODA_LEFT_ENUM(name, text) KODA_LEFT_##name,
	KODA_LEFTS(KODA_LEFT_ENUM)
#undef KODA_LEFT_ENUM
	KODA_LEFT_COUNT
};

struct koda_event_start {
	const char *backend;
	enum koda_trust trust;
	const struct koda_findings *findings;
	const uint64_t *limits; /* KODA_LIMIT_COUNT of them; UINT64_MAX: none */
	const char *tls; /* "terminated", or "opaque" if the bundle of net.mitm has no key; NULL
			    without net.mitm */
	enum koda_source denials; /* source of denied files: KERNEL, or STDERR alone */
	const char *denials_why;  /* with STDERR: why the kernel does not tell of them; else NULL */
	const char *command;      /* any bytes; the line of JSON has its beginning */
};

struct koda_event_violation {
	enum koda_violation kind;
	const char *target; /* NULL: unknown; any bytes */
	const char *rule;   /* NULL: unknown */
	enum koda_source source;
	const char *command;
	const char *call;    /* the system call that was denied; NULL: unknown */
	const char *process; /* the name of the process that made it; NULL: unknown; any bytes */
	const char *hint;    /* as <koda/hint.h> says; NULL: none is known */
	uint64_t dropped;    /* denials before this one that have no event */
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
	uint64_t dropped;     /* egress events that were lost before this one: they were not read */
	const char *tls_name; /* NULL: host is what TLS names, or it names none */
};

struct koda_event_limit {
	enum koda_limit which;
	uint64_t value;   /* the limit: seconds, bytes, processes or repositories */
	const char *hint; /* as in struct koda_event_violation */
};

struct koda_event_left_behind {
	const char *path; /* absolute; any bytes */
	enum koda_left what;
	uint64_t more; /* with the last event: how many were found beyond those reported */
};

struct koda_event_exit {
	int code;   /* -1: none */
	int signal; /* 0: none */
	enum koda_end end;
	double wall_ms;
	const char *message; /* why nothing ran; NULL if the command ran */
	bool by_host;        /* the signal was the host's SIGKILL: koda_command_kill */
	uint64_t lost; /* events of this command that a writer of event files has dropped, because
			  their reader was too slow; the library itself drops none */
};

struct koda_event {
	enum koda_event_type type;
	double time;    /* seconds since the epoch */
	const char *id; /* id of the command; NULL: of no command (koda_egress_serve) */
	void *user;     /* user of struct koda_command_options */
	union {
		struct koda_event_start start;
		struct koda_event_violation violation;
		struct koda_event_egress egress;
		struct koda_event_limit limit;
		struct koda_event_exit exit;
		struct koda_event_left_behind left_behind;
	} data;
};

/* Called from the thread that starts the command, waits for it, steps it or frees it; must not call
 * these functions for the command or sandbox of the event, but may free the command. Every
 * koda_sandbox_start is followed by exactly one KODA_EVENT_EXIT, which is the last event of its
 * command: also if the command is freed while it runs, and if koda_sandbox_start fails, which then
 * has no KODA_EVENT_START. Only a call that was refused because the sandbox is in use or the size
 * of the options is wrong has no event. */
typedef void koda_event_fn(void *ctx, const struct koda_event *event);

/* Returns the event as one line of JSON with its newline; owned by the caller (free). Fails: NOMEM.
 */
KODA_API KODA_CHECK int koda_event_json(const struct koda_event *event, char **ret_line,
					struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
