/* SPDX-License-Identifier: MIT */
/*
 * What this machine has that a sandbox can be made of. Looking changes nothing and needs no
 * privileges. Facts explain; whether a sandbox can really be made is known only by making one.
 */
#ifndef KODA_RUN_MACHINE_H
#define KODA_RUN_MACHINE_H

#include "base/macros.h"

#include <stdbool.h>

/* Why there are no user namespaces, as far as it can be seen from outside. */
enum koda_userns {
	KODA_USERNS_FREE = 0, /* nothing speaks against them */
	KODA_USERNS_FILTERED, /* a system-call filter around this process forbids them */
	KODA_USERNS_NONE,     /* user.max_user_namespaces is 0 */
	KODA_USERNS_CLOSED,   /* kernel.unprivileged_userns_clone is 0 */
	KODA_USERNS_APPARMOR  /* kernel.apparmor_restrict_unprivileged_userns is 1 */
};

/* The calls without which nothing can be built: openat2, close_range, mount_setattr. */
enum koda_calls {
	KODA_CALLS_THERE = 0,
	KODA_CALLS_MISSING, /* the kernel is too old */
	KODA_CALLS_FILTERED /* a system-call filter around this process hides them */
};

/* The bubblewrap of this machine. */
enum koda_bubblewrap {
	KODA_BUBBLEWRAP_THERE = 0,
	KODA_BUBBLEWRAP_MISSING, /* in none of the places where it is looked for */
	KODA_BUBBLEWRAP_FOREIGN  /* not root's, or others can write to it */
};

struct koda_machine {
	bool as_root;         /* exempt from some limits */
	int landlock_abi;     /* 0: there is none, and then */
	int landlock_errno;   /* says why */
	bool seccomp_filter;  /* system calls can be filtered */
	bool no_notification; /* but nobody can be asked about them */
	bool no_children;     /* the kernel does not tell who is below whom */
	bool overlay;         /* overlay can be mounted in a user namespace */
	bool cgroup;          /* a control group of its own can be made for each command */
	enum koda_calls calls;
	enum koda_userns userns;
	enum koda_bubblewrap bubblewrap;
	bool open_views; /* views made by bubblewrap cannot be locked */
};

/* Everything. */
void koda_machine_look(struct koda_machine *ret_machine);
/* Only what containment depends on and a sandbox that starts has not proved by that: two system
 * calls, cheap enough for every command. The rest is taken as given. */
void koda_machine_glance(struct koda_machine *ret_machine);
/* Single facts. */
bool koda_machine_has_overlay(void);
bool koda_machine_has_cgroup(void);
/* Are views made by bubblewrap likely to be open? A guess: the launcher finds out. */
bool koda_machine_expects_open_views(void);
/* Bubblewrap, by a list of paths that nothing at run time can change; -1 if ret_found, which may be
 * NULL, says why. The caller closes it. */
int koda_machine_open_bubblewrap(enum koda_bubblewrap *ret_found);

#endif
