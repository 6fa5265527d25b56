/* SPDX-License-Identifier: MIT */
/*
 * A plan: the exact ops that put a command into its sandbox, each with the rule behind it. It is
 * made from a policy and from facts about the file system, and making it changes nothing.
 */
#ifndef KODA_PLAN_PLAN_H
#define KODA_PLAN_PLAN_H

#include "base/buf.h"
#include "base/set.h"
#include "base/str.h"
#include "wire/descriptor.h"
#include "wire/op.h"
#include "wire/terminal.h"

#include <koda/rules.h>
#include <koda/trust.h>

struct koda_policy;

/* What is at a path, links not followed. A placeholder counts as missing: whoever made it, it is
 * there so that nothing else is. */
enum koda_thing {
	KODA_THING_MISSING = 0,
	KODA_THING_DIR,
	KODA_THING_LINK,
	KODA_THING_OTHER
};

struct koda_look {
	enum koda_thing thing;
	uint64_t dev;
	uint64_t ino;
	bool neutral; /* a file that git reads as if it were not there, as placeholders are */
	bool closed;  /* missing, as far as can be told: a directory on the way is closed to us */
};

/* The file system as the planner may ask it; tests give one of their own. */
struct koda_world {
	int (*look)(void *ctx, const char *path, struct koda_look *ret_look,
		    struct koda_error *err);
	void *ctx;
	/* Appends the names in a directory; one that is gone, or closed to us, has none. May be
	 * NULL where nothing is planned without namespaces. Fails: LIMIT above max names. */
	int (*list)(void *ctx, const char *dir, size_t max, struct koda_strv *names,
		    struct koda_error *err);
};

struct koda_plan_request {
	const struct koda_policy *policy;
	const struct koda_rules *rules; /* of that policy and place */
	const struct koda_place *place;
	const struct koda_world *world;
	enum koda_trust trust;  /* for the limits that a policy has no field for */
	uint64_t max_processes; /* 0: what trust says */
	uint64_t max_memory;    /* that any mode gives on this machine; 0: unknown */
	bool as_root;           /* the command's user is root: kernel files need more */
	const struct koda_terminal_state *terminal; /* of the command's own; NULL: none */
	const char *const *sockets;   /* host sockets to hide, NULL-terminated; may be NULL */
	const char *caches;           /* where copies of caches are kept; NULL: not at all */
	const char *cgroup;           /* where a control group can be made; NULL: nowhere */
	struct koda_span authorities; /* what programs inside trust; NULL: as outside */
	const char *scratch; /* without namespaces: the command's temporary directory; NULL: with */
	const char *cwd;
	const char *const *argv;          /* program to execute, then its argv; NULL-terminated */
	const char *const *env;           /* NULL-terminated */
	const struct koda_handed *handed; /* descriptors besides 0-2; NULL: none */
};

/* One op and why it is there. */
struct koda_plan_line {
	struct koda_op op; /* texts owned by the plan */
	char *why;         /* owned; the rule or reason, may be "" */
};

struct koda_plan {
	struct koda_plan_line *lines; /* owned */
	size_t count;
	size_t cap;
};

#define KODA_PLAN_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* plan must be KODA_PLAN_INIT. Fails: what world->look fails with, DENIED, LIMIT, NOMEM. */
KODA_CHECK int koda_plan_make(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);
void koda_plan_clear(struct koda_plan *plan);

/* Appends a op; texts are copied. why may be NULL. */
KODA_CHECK int koda_plan_add(struct koda_plan *plan, const struct koda_op *op, const char *why,
			     struct koda_error *err);

/* The form the launcher reads. */
KODA_CHECK int koda_plan_encode(const struct koda_plan *plan, struct koda_buf *out,
				struct koda_error *err);
/* The form people read: one line per op. */
KODA_CHECK int koda_plan_print(const struct koda_plan *plan, struct koda_buf *out,
			       struct koda_error *err);
/* The form programs read, see koda-sandbox-plan(1). */
KODA_CHECK int koda_plan_json(const struct koda_plan *plan, struct koda_buf *out,
			      struct koda_error *err);

/* The marked paths of a rule set at which something changes, shallow ones first; the same depth by
 * bytes (order.c). Owned by the caller, paths borrowed from the rules. Fails: NOMEM. */
struct koda_marked {
	struct koda_span path;
	size_t depth;
	bool has_hole; /* something below is readable by a hole */
};

KODA_CHECK int koda_plan_order(const struct koda_rules *rules, struct koda_marked **ret_list,
			       size_t *ret_count, struct koda_error *err);
/* The directory above; of "/" itself. */
struct koda_span koda_plan_parent(struct koda_span path);

/* Are the directories that were closed to us, and became read-only as a whole, all there is to be
 * mounted in them (shut.c)? Fails: SYS. */
KODA_CHECK int koda_plan_check_shut(const struct koda_set *shut, const struct koda_set *mounted,
				    struct koda_error *err);

/* What git reads as if path were not there; NULL for a name outside a git directory (hold.c). */
const char *koda_plan_neutral(const struct koda_rules *rules, struct koda_span path);
/* A placeholder at path; contents: of a file, NULL for a node. Fails: NOMEM. */
KODA_CHECK int koda_plan_hold(struct koda_plan *plan, const struct koda_rules *rules,
			      struct koda_span path, const char *contents, const char *why,
			      struct koda_error *err);

/* The parts of koda_plan_make. */
KODA_CHECK int koda_plan_view(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);
/* Fresh directories and devices; a fresh /proc; is path in one of those? */
KODA_CHECK int koda_plan_own(struct koda_plan *plan, const struct koda_plan_request *request,
			     struct koda_error *err);
KODA_CHECK int koda_plan_proc(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);
bool koda_plan_is_own(struct koda_span path);
/* Those directories, outermost ones first; NULL after the last. */
const char *koda_plan_own_dir(size_t i);
/* Is it one of those itself, or below one in which nothing of the host is ever shown? */
bool koda_plan_is_all_own(struct koda_span path);
/* Copy-on-write views of package caches (cache.c), made while the view is planned. */
struct koda_copy {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set *mounted; /* what has a mount already */
	struct koda_error *err;
};

KODA_CHECK int koda_plan_cache(const struct koda_copy *copy, struct koda_span cache,
			       const struct koda_look *look);
/* Closes path inside a copy by kind, READONLY or MASK. */
KODA_CHECK int koda_plan_close_copy(const struct koda_copy *copy, struct koda_span path,
				    enum koda_op_kind kind, const char *why);
/* Hides what may be gone, or not there yet, when its turn comes; flags: KODA_OP_DIRECTORY or 0. */
KODA_CHECK int koda_plan_mask_loosely(const struct koda_copy *copy, struct koda_span path,
				      uint32_t flags, const char *why);
/* Will copies be kept below path? Then it is there by the time the view is made. */
bool koda_plan_is_store(const struct koda_plan_request *request, struct koda_span path);
KODA_CHECK int koda_plan_lock(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);

KODA_CHECK int koda_plan_limits(struct koda_plan *plan, const struct koda_plan_request *request,
				struct koda_error *err);
KODA_CHECK int koda_plan_command(struct koda_plan *plan, const struct koda_plan_request *request,
				 struct koda_error *err);

/* The whole plan where there are no namespaces (fence.c), and what of the file system it grants
 * (fragment.c). Fails: as koda_plan_make; LIMIT if that takes too many rules. */
KODA_CHECK int koda_plan_fence(struct koda_plan *plan, const struct koda_plan_request *request,
			       struct koda_error *err);
/* Its filters alone, which are the same for every request, as an encoded plan. */
KODA_CHECK int koda_plan_fence_filters(struct koda_buf *out, struct koda_error *err);
KODA_CHECK int koda_plan_fragments(struct koda_plan *plan, const struct koda_plan_request *request,
				   struct koda_error *err);

#define koda_auto_plan __attribute__((cleanup(koda_plan_clear)))

#endif
