/* SPDX-License-Identifier: MIT */
/*
 * T-105. What koda-sandbox report knows of its events. Every table has a bound: what comes later is
 * counted. Every text is cut.
 */
#ifndef KODA_CLI_REPORT_H
#define KODA_CLI_REPORT_H

#include "base/buf.h"

#include <koda/event.h>

#define CLI_REPORT_COMMANDS_MAX 500
#define CLI_REPORT_ROWS_MAX     300
/* Bytes of a text that are shown. */
#define CLI_REPORT_TEXT_MAX ((size_t)1024)

struct cli_report_command {
	char *id; /* owned, and so are all texts here; NULL: unknown */
	char *text;
	char *backend;
	char *message; /* why nothing ran */
	const char *trust;
	bool ended;
	double start; /* seconds since the epoch */
	double end;
	double wall_ms;
	int code; /* -1: none */
	int signal;
	enum koda_end how;
	uint64_t denials;
	uint64_t refusals;   /* of connections */
	unsigned int limits; /* bits of enum koda_limit */
};

struct cli_report_denial {
	enum koda_violation kind;
	char *target;
	char *rule;
	char *process;
	char *call;
	char *hint;
	size_t command; /* the first one; CLI_REPORT_COMMANDS_MAX: unknown */
	uint64_t count;
};

struct cli_report_host {
	char *name;
	uint16_t port;
	char *reason; /* of the last refusal or failure; NULL: none */
	uint64_t allowed;
	uint64_t refused;
	uint64_t up;
	uint64_t down;
};

struct cli_report_limit {
	enum koda_limit which;
	uint64_t value;
	char *hint;
	size_t command;
};

struct cli_report_left {
	char *path;
	size_t command;
};

struct cli_report {
	struct cli_report_command commands[CLI_REPORT_COMMANDS_MAX];
	size_t command_count;
	struct cli_report_denial denials[CLI_REPORT_ROWS_MAX];
	size_t denial_count;
	struct cli_report_host hosts[CLI_REPORT_ROWS_MAX];
	size_t host_count;
	struct cli_report_limit limits[CLI_REPORT_ROWS_MAX];
	size_t limit_count;
	struct cli_report_left left[CLI_REPORT_ROWS_MAX];
	size_t left_count;
	uint64_t all_denials;
	uint64_t all_refusals;
	uint64_t up;
	uint64_t down;
	uint64_t untold;  /* denials and connections that have no event */
	uint64_t unshown; /* events beyond the bounds of a table */
	double first;     /* time of the first and of the last event; 0: there is none */
	double last;
	bool failed; /* out of memory */
};

/* Adds an event; a koda_event_fn whose ctx is the struct cli_report, which begins as zero. */
void cli_report_take_event(void *report, const struct koda_event *event);
void cli_report_clear(struct cli_report *report);

/* Prints the page to standard output. Fails: SYS, NOMEM. */
KODA_CHECK int cli_report_print(const struct cli_report *report, struct koda_error *err);

#endif
