/* SPDX-License-Identifier: MIT */
/*
 * Child processes for a host that may have threads: posix_spawn only, an explicit list of
 * descriptors, pidfds for waiting and killing.
 */
#ifndef KODA_BASE_PROC_H
#define KODA_BASE_PROC_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor of ours and the number it gets in the child. */
struct koda_fdmap {
	int ours;
	int theirs;
};

struct koda_proc {
	pid_t pid; /* 0: none */
	int pidfd; /* owned; -1: none */
};

#define KODA_PROC_INIT                                                                             \
	{                                                                                          \
		.pid = 0, .pidfd = -1                                                              \
	}

/* How a child ended. */
struct koda_exit {
	int code;   /* exit status, or -1 */
	int signal; /* signal that ended it, or 0 */
};

/* Starts path with exactly the descriptors in give (every other one is closed), default signal
 * dispositions and an empty signal mask. Nothing is looked up in PATH. Fails: SYS, LIMIT. */
KODA_CHECK int koda_proc_spawn(struct koda_proc *proc, const char *path, char *const argv[],
			       char *const envp[], const struct koda_fdmap *give, size_t count,
			       struct koda_error *err);

/* Waits until the child has ended or the absolute deadline passed, and reaps it.
 * Fails: TIMEOUT (the child still runs), SYS. */
KODA_CHECK int koda_proc_wait(struct koda_proc *proc, uint64_t deadline_ns,
			      struct koda_exit *ret_exit, struct koda_error *err);

/* Sends SIGKILL and reaps the child, if there is one; safe to call twice. */
void koda_proc_kill(struct koda_proc *proc);
#define koda_auto_proc __attribute__((cleanup(koda_proc_kill)))

#endif
