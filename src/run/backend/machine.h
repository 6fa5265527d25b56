/* SPDX-License-Identifier: MIT */
/*
 * Facts about this machine on which backends depend. Probing changes nothing and needs no
 * privileges. The facts explain failures; whether a sandbox works is known only by making one.
 */
#ifndef KODA_RUN_BACKEND_MACHINE_H
#define KODA_RUN_BACKEND_MACHINE_H

#include "base/macros.h"

#include <stdbool.h>

/* Why user namespaces cannot be created, as far as that can be seen without trying. */
enum koda_userns {
	KODA_USERNS_FREE = 0, /* no reason was found */
	KODA_USERNS_FILTERED, /* a system-call filter around this process forbids them */
	KODA_USERNS_NONE,     /* user.max_user_namespaces is 0 */
	KODA_USERNS_CLOSED,   /* kernel.unprivileged_userns_clone is 0 */
	KODA_USERNS_APPARMOR  /* kernel.apparmor_restrict_unprivileged_userns is 1 */
};

/* The system calls that every sandbox needs: openat2, close_range, mount_setattr. */
enum koda_calls {
	KODA_CALLS_THERE = 0,
	KODA_CALLS_MISSING, /* the kernel is too old */
	KODA_CALLS_FILTERED /* a system-call filter around this process hides them */
};

/* The bubblewrap program of this machine. */
enum koda_bubblewrap {
	KODA_BUBBLEWRAP_THERE = 0,
	KODA_BUBBLEWRAP_MISSING, /* at none of the paths that are tried */
	KODA_BUBBLEWRAP_FOREIGN  /* not owned by root, or writable for others */
};

struct koda_machine {
	bool as_root;         /* root is exempt from some limits */
	int landlock_abi;     /* 0: none */
	int landlock_errno;   /* why there is none */
	bool seccomp_filter;  /* system calls can be filtered */
	bool no_notification; /* there is no seccomp user notification */
	bool no_children;     /* there is no /proc/PID/task/TID/children */
	bool overlay;         /* overlay can be mounted in a user namespace */
	bool cgroup;          /* a cgroup can be made for each command */
	enum koda_calls calls;
	enum koda_userns userns;
	enum koda_bubblewrap bubblewrap;
	bool open_views; /* views made by bubblewrap cannot be locked */
};

/* Finds out everything. */
void koda_machine_probe_full(struct koda_machine *ret_machine);
/* Finds out what containment depends on and a launcher that starts does not prove: two system
 * calls, cheap enough for every command. The rest is assumed to be there. */
void koda_machine_probe_quick(struct koda_machine *ret_machine);
/* Find out single facts. */
bool koda_machine_has_overlay(void);
bool koda_machine_has_cgroup(void);
/* Guesses whether views made by bubblewrap cannot be locked. The launcher finds out. */
bool koda_machine_expects_open_views(void);
/* Opens bubblewrap at one of a fixed list of paths. -1 if there is none to be used; ret_found (may
 * be NULL) says why. The caller closes the descriptor. */
int koda_machine_open_bubblewrap(enum koda_bubblewrap *ret_found);

/* Returns why a command's calls cannot be watched by seccomp user notification; NULL if they can.
 */
const char *koda_machine_notify_obstacle(void);

#endif
