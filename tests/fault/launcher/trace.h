/* SPDX-License-Identifier: MIT */
/*
 * Runs koda-sandbox and makes one system call on the way to the command fail, or kills the process
 * that makes it. Calls are counted per process, so that each can be reached by itself; only those
 * before the command has become the program count.
 */
#ifndef KODA_FAULT_TRACE_H
#define KODA_FAULT_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/* Who starts whom depends on the backend. */
enum trace_shape {
	TRACE_NATIVE,
	TRACE_LANDLOCK,
	TRACE_BWRAP
};

/* In the order in which they start each other. */
enum trace_role {
	TRACE_RUNNER,
	TRACE_SPAWN, /* the guardian before it is one: what libc does on the way to its exec */
	TRACE_GUARDIAN,
	TRACE_BUBBLEWRAP, /* from the guardian's fork on */
	TRACE_NAMESPACED, /* its child, until that is init */
	TRACE_INIT,
	TRACE_NETWORK, /* beside it, where there is bubblewrap */
	TRACE_COMMAND,
	TRACE_ROLES
};

/* What is done to call number `nth` (from 1) of a process. */
struct trace_fault {
	enum trace_role role;
	size_t nth;
	int error; /* the call is not made and gives this; 0: the process is killed instead */
	/* Asked about the call when it is met: the number may stand for another one in the next
	 * run, because a socket of the host came or went. NULL: any will do. */
	bool (*may_fail)(const struct trace_fault *fault, long nr);
};

#define TRACE_CALLS_MAX 4096

struct trace_result {
	int status;           /* of the runner, as wait(2) gives it */
	int launcher;         /* of the guardian, the same; 0: there was none */
	bool fired;           /* the fault was met */
	long fired_nr;        /* at this system call */
	char fired_path[128]; /* that the call names, if it names one */
	unsigned int starts;  /* launchers that the runner has started */
	bool executed;        /* the command has become the program */
	bool late;            /* it did not end by itself */
	unsigned int left;    /* processes that outlived the runner for too long */
	char scratch[64];     /* the temporary directory that the guardian made, if it did */
	size_t count[TRACE_ROLES];
	short calls[TRACE_ROLES][TRACE_CALLS_MAX]; /* numbers of the calls, in order */
};

/* argv with these as descriptors 0 to 3; fault may be NULL. False if tracing itself failed. */
bool trace_run(enum trace_shape shape, char *const argv[], char *const envp[], const int given[4],
	       const struct trace_fault *fault, struct trace_result *ret_result);

#endif
