/* SPDX-License-Identifier: MIT */
/*
 * What the launcher tells the runner: fixed-size records, each one message on the status socket.
 * A record may carry a descriptor that was made inside and is used outside.
 */
#ifndef KODA_WIRE_REPORT_H
#define KODA_WIRE_REPORT_H

#include <stdint.h>

/* Exit status of the launcher when its own set-up fails. */
#define KODA_STAGE2_FAILED 88

/* The launcher's descriptors besides 0-2, which are the command's. */
#define KODA_STAGE2_PLAN_FD   3 /* the plan: read once the lifeline says that it is sealed */
#define KODA_STAGE2_STATUS_FD 4 /* reports go here */
#define KODA_STAGE2_LIFE_FD   5 /* messages, below; its end ends everything */

/* The launcher's argument where there are no namespaces, and a descriptor more: the filters that
 * the plan will have, in the form of a plan, to be installed while the rest of it is made. */
#define KODA_STAGE2_LANDLOCK   "landlock"
#define KODA_STAGE2_FILTERS_FD 6

/* The first message says that the plan is there, and how long the command may take; all others are
 * signals for the command, of one byte. */
#define KODA_LIFE_PLAN    0
#define KODA_LIFE_FOREVER UINT32_MAX
struct koda_life_plan {
	uint32_t word;         /* KODA_LIFE_PLAN */
	uint32_t wall_seconds; /* KODA_LIFE_FOREVER: no limit */
};

enum koda_report_kind {
	KODA_REPORT_SETUP_FAILED = 1, /* nothing ran */
	KODA_REPORT_EXEC_FAILED,      /* all was set up, but the program could not be executed */
	KODA_REPORT_EXITED,           /* status is what wait(2) gave */
	KODA_REPORT_TERMINAL,         /* with the controlling side of the command's terminal */
	KODA_REPORT_LISTENER,         /* with the socket on which the way out begins; path is a
				       * token that connections begin with, if it is not empty */
	KODA_REPORT_READY,            /* namespaces can be had; status: enum koda_report_ready */
	KODA_REPORT_LIMIT             /* status is an enum koda_report_limit; everything ends */
};

/* A limit that the launcher watches because the kernel does not. */
enum koda_report_limit {
	KODA_REPORT_LIMIT_PROCESSES = 1,
	KODA_REPORT_LIMIT_MEMORY,
	KODA_REPORT_LIMIT_WALL_TIME /* which the runner did not look at in time */
};

/* How well. */
enum koda_report_ready {
	KODA_REPORT_READY_LOCKED = 0, /* the view is, or will be, locked to what it covers */
	KODA_REPORT_READY_OPEN        /* it cannot be; nothing may leave it instead */
};

struct koda_report {
	uint32_t kind;
	int32_t status;
	int32_t sys_errno;
	char step[64];  /* what was being done: whole, because people and tables read it */
	char path[180]; /* to what; may be cut */
};

#endif
