/* SPDX-License-Identifier: MIT */
/* What a person can do about a launch that failed. */
#ifndef KODA_RUN_PROJECT_REMEDY_H
#define KODA_RUN_PROJECT_REMEDY_H

#include <koda/error.h>

#include <stdint.h>

/* Failures of the runner that have remedies of their own. */
enum koda_failure {
	KODA_FAILURE_BWRAP_MISSING, /* bubblewrap is not installed */
	KODA_FAILURE_BWRAP_FOREIGN, /* bubblewrap could be changed by others than root */
	KODA_FAILURE_CWD,           /* the working directory has no path */
	KODA_FAILURE_ROOT,          /* the project root cannot be used */
	KODA_FAILURE_ROOT_KIND,     /* the project root is not a directory */
	KODA_FAILURE_SOCKET_LIST,   /* there are too many sockets */
	KODA_FAILURE_SOCKET_TABLE,  /* the kernel's table of sockets cannot be read */
	KODA_FAILURE_NO_PROC,       /* /proc is not mounted */
	KODA_FAILURE_START,         /* a helper program cannot be started */
};

/* Appends the remedy for the errno of a failure of the runner to its message, if there is one. NULL
 * is fine. */
void koda_remedy_add(struct koda_error *err);
/* Appends the remedy for this failure, unless koda_remedy_add has one for its errno. For the
 * function that fails: one further up calls koda_remedy_add. NULL is fine. */
void koda_remedy_add_for(struct koda_error *err, enum koda_failure failure);
/* Appends a remedy for a step of the launcher that failed (wire/launch_step.h). */
void koda_remedy_add_for_step(struct koda_error *err, uint32_t step);

#endif
