/* SPDX-License-Identifier: MIT */
/* What a plan is made from: a policy, a place and facts about the machine. */
#ifndef KODA_PLAN_REQUEST_H
#define KODA_PLAN_REQUEST_H

#include "plan/fs_ops.h"
#include "wire/passed_fds.h"
#include "wire/terminal.h"

#include <koda/rules.h>
#include <koda/span.h>
#include <koda/trust.h>

struct koda_policy;

struct koda_plan_request {
	const struct koda_policy *policy;
	const struct koda_rules *rules; /* of that policy and place */
	const struct koda_place *place;
	const struct koda_fs_ops *fs;
	enum koda_trust trust;  /* for the limits that a policy has no field for */
	uint64_t max_processes; /* 0: as the trust mode says */
	uint64_t memory_limit;  /* narrows the policy's; 0: as the policy says */
	uint64_t max_memory;    /* largest limit of any trust mode on this machine; 0: unknown */
	bool as_root;           /* the command runs as root, so more kernel files are protected */
	const struct koda_terminal_state *terminal; /* of a new terminal for the command; or NULL */
	const char *const *sockets;   /* host sockets to hide, NULL-terminated; may be NULL */
	const char *caches;           /* directory of the copies of caches; NULL: no copies */
	const char *cgroup;           /* parent of the command's control group; NULL: none */
	const char *journal;          /* of placeholders that other runs remove; NULL: none */
	const char *store;            /* of directories that were placeholders; NULL: none */
	struct koda_span authorities; /* CA bundle for the command; ptr NULL: the host's */
	const char *scratch; /* backend landlock: the command's temporary directory; else NULL */
	bool report;         /* init is told of calls that the view can refuse */
	const char *cwd;
	const char *const *argv; /* program to execute, then its argv; NULL-terminated */
	const char *const *env;  /* NULL-terminated */
	const struct koda_passed_fds *passed_fds; /* descriptors besides 0-2; NULL: none */
};

#endif
