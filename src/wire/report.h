/* SPDX-License-Identifier: MIT */
/*
 * Reports of the launcher to the runner: fixed-size records, each one message on the status socket.
 * A record may carry a descriptor (SCM_RIGHTS) that was made inside and is used outside.
 */
#ifndef KODA_WIRE_REPORT_H
#define KODA_WIRE_REPORT_H

#include <stdint.h>

/* Exit status of the launcher when its own set-up fails. */
#define KODA_STAGE2_FAILED 88

/* The launcher's descriptors besides 0-2, which are the command's. */
#define KODA_STAGE2_PLAN_FD                                                                        \
	3 /* the plan, a memfd; read once the lifeline says that it is sealed                      \
	   */
#define KODA_STAGE2_STATUS_FD 4 /* reports go here */
#define KODA_STAGE2_LIFE_FD   5 /* the lifeline: messages, below; its end ends everything */

/* The launcher's argument for the landlock backend, and its further descriptor: a plan with the
 * filters only, which are installed while the runner makes the rest of the plan. */
#define KODA_STAGE2_LANDLOCK   "landlock"
#define KODA_STAGE2_FILTERS_FD 6

/* The first message on the lifeline says that the plan is sealed, and how long the command may
 * take. All others are signals for the command, of one byte. */
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
	KODA_REPORT_LISTENER,         /* with the socket on which the proxy accepts; path is a
				       * token that connections begin with, if it is not empty */
	KODA_REPORT_READY,            /* the namespaces are made; status: enum koda_report_ready */
	KODA_REPORT_LIMIT,            /* status is an enum koda_report_limit; everything ends */
	KODA_REPORT_DENIED /* a struct koda_report_denied instead of a struct koda_report */
};

/* A limit that the launcher watches because the kernel does not enforce it. */
enum koda_report_limit {
	KODA_REPORT_LIMIT_PROCESSES = 1,
	KODA_REPORT_LIMIT_MEMORY,
	KODA_REPORT_LIMIT_WALL_TIME /* that the runner did not enforce in time */
};

/* Whether the view is locked in a user namespace of its own. */
enum koda_report_ready {
	KODA_REPORT_READY_LOCKED = 0, /* every mount is, or will be, locked to what it covers */
	KODA_REPORT_READY_OPEN /* mounts cannot be locked; no descriptor may leave the view instead
				*/
};

struct koda_report {
	uint32_t kind;
	int32_t status;
	int32_t sys_errno;
	uint32_t step;  /* of KODA_REPORT_SETUP_FAILED: an enum koda_launch_step */
	char path[180]; /* that the step was about; may be cut */
};

/* What a denied call would have done with its path. */
enum koda_denied {
	KODA_DENIED_READ = 0,
	KODA_DENIED_EXEC,
	KODA_DENIED_WRITE,
	KODA_DENIED_REPLACE, /* remove, rename or create the name */
	KODA_DENIED_WITHIN,  /* create the name in a placeholder */
	KODA_DENIED_HIDDEN,  /* write a file that the view does not show */
	KODA_DENIED_COUNT
};

/* A call that the view refuses. The record ends with the path. */
struct koda_report_denied {
	uint32_t kind;     /* KODA_REPORT_DENIED */
	uint32_t act;      /* enum koda_denied */
	uint32_t closed;   /* 1: a directory on the way cannot be searched */
	uint32_t dropped;  /* denials before this one that have no record */
	uint32_t path_len; /* 0: there is no denial, only a number of dropped ones */
	char call[16];
	char process[16]; /* any bytes */
	char path[8192];  /* absolute, without terminator; any bytes but NUL */
};

#endif
