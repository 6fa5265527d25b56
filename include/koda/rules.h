/* SPDX-License-Identifier: MIT */
/*
 * Verdicts. A rule set is a policy compiled together with the built-in floor for one place (a
 * project on a machine). Every enforcer asks it: the mount plan, Landlock, the file worker, the
 * proxy and `koda-sandbox policy check`.
 *
 * To be read, a path must not be hidden: of all deny_read and allow_read_within_deny entries above
 * it the longest one counts, and a deny counts for more than a hole of the same length. To be
 * written it must be below some allow_write entry, and neither below a deny_write_within_allow nor
 * below a deny_read entry. If the root of a linked worktree or a submodule may be written, so may
 * the git directory that its .git file leads to. Package caches can be written too, as a copy that
 * the host's files are never part of, if the policy lets anything be written. A host must not match
 * denied_domains and, unless that list is empty, must match allowed_domains; special addresses must
 * be listed. What is built in (the floor) comes before any of this.
 *
 * Asking allocates nothing and cannot fail; a malformed path or host is denied. A rule set does
 * not change once built, so threads may share it.
 */
#ifndef KODA_RULES_H
#define KODA_RULES_H

#include <koda/error.h>
#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_policy;
struct koda_rules;

enum koda_answer {
	KODA_DENY = 0,
	KODA_ALLOW
};

/* What decided: enumerator, name as printed. */
#define KODA_REASONS(X)                                                                            \
	X(INVALID, "invalid") /* not a path, not a host */                                         \
	X(DEFAULT, "default") /* no rule covers it */                                              \
	X(DENY_READ, "fs.deny_read")                                                               \
	X(READ_HOLE, "fs.allow_read_within_deny")                                                  \
	X(ALLOW_WRITE, "fs.allow_write")                                                           \
	X(DENY_WRITE, "fs.deny_write_within_allow")                                                \
	X(HOST_ALLOWED, "net.allowed_domains")                                                     \
	X(HOST_DENIED, "net.denied_domains")                                                       \
	X(ADDRESS, "net.address_guard")     /* loopback, private, metadata ... */                  \
	X(OWN_STATE, "floor.own_state")     /* koda's keys and run-time state, hidden */           \
	X(CREDENTIALS, "floor.credentials") /* credential stores below $HOME */                    \
	X(PROJECT_NAME, "floor.project")    /* names a host tool runs or trusts */                 \
	X(GIT, "floor.git")                 /* hooks, config and pointers of a git dir */          \
	X(EXEC_DIR, "floor.exec_dir")       /* a PATH directory or our helpers */                  \
	X(KERNEL, "floor.kernel")           /* /sys, /proc/sys and friends */                      \
	X(GIT_DIR, "project.git_dir")       /* where a writable project's .git file leads */       \
	X(CACHE, "cache.copy_on_write")     /* a package cache: what is written stays inside */    \
	X(OTHER_NAME, "floor.other_name")   /* of something protected: link, hard link, mount */   \
	X(HIDDEN_NAME, "floor.hidden_name") /* of something that is, or may be, hidden */          \
	X(OWN_POLICY, "floor.own_policy")   /* where a person keeps policies for koda-sandbox */   \
	X(KERNEL_HIDDEN, "floor.kernel_hidden") /* what the kernel tells of the host */

enum koda_reason {
#define KODA_REASON_ENUM(name, text) KODA_REASON_##name,
	KODA_REASONS(KODA_REASON_ENUM)
#undef KODA_REASON_ENUM
	KODA_REASON_COUNT
};

struct koda_verdict {
	enum koda_answer answer;
	enum koda_reason reason;
	struct koda_span
		rule; /* the deciding rule's text, borrowed from the rule set; may be empty */
};

/* Facts about the machine and the project. All borrowed for the call; NULL means unknown, and rules
 * that depend on it are left out. Paths are absolute. koda_project_place fills it in. */
struct koda_place {
	size_t size;                     /* sizeof(struct koda_place) */
	const char *root;                /* project root */
	const char *home;                /* $HOME */
	const char *config_home;         /* $XDG_CONFIG_HOME; NULL: home/.config */
	const char *state_home;          /* $XDG_STATE_HOME; NULL: home/.local/state */
	const char *runtime_dir;         /* $XDG_RUNTIME_DIR */
	const char *const *exec_dirs;    /* PATH directories and our helpers', NULL-terminated */
	const char *const *git_dirs;     /* repositories' git directories besides root/.git */
	const char *const *git_files;    /* .git pointer files (worktrees, submodules) */
	const char *const *missing_dirs; /* directories that would hold a protected name, if they
					  * existed; each is reserved as a whole */
	const char *const
		*readonly_aliases; /* where links among the protected names lead: not writable */
	const char *const *hidden; /* where links to hidden files lead: not readable either */
	/* Directories that root/.git, a pointer file, leads to and that are known to be this
	 * project's: writable if the root is, but for the protected names in them. */
	const char *const *own_git_dirs;
	const char *const *caches; /* package caches that exist */
};

/* Compiles policy and floor; keeps nothing of its arguments. Fails: POLICY for a place that is
 * not an absolute path, LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_rules_new(const struct koda_policy *policy,
				       const struct koda_place *place,
				       struct koda_rules **ret_rules, struct koda_error *err);
/* Compiles the rules about paths only, which is faster for long lists of hosts. Every host is
 * denied. Fails: as koda_rules_new. */
KODA_API KODA_CHECK int koda_rules_new_for_paths(const struct koda_policy *policy,
						 const struct koda_place *place,
						 struct koda_rules **ret_rules,
						 struct koda_error *err);
/* NULL is fine. */
KODA_API void koda_rules_free(struct koda_rules *rules);

KODA_API struct koda_verdict koda_rules_read(const struct koda_rules *rules, const char *path,
					     size_t len);
KODA_API struct koda_verdict koda_rules_write(const struct koda_rules *rules, const char *path,
					      size_t len);

/* Decides whether the file at path may be renamed, removed or replaced. It and its directory must
 * be writable, and everything below it: a protected name would go with the directory above it.
 * Takes time in proportion to the rules below path. */
KODA_API struct koda_verdict koda_rules_replace(const struct koda_rules *rules, const char *path,
						size_t len);

/* An IPv4 address (family 4, bytes 0-3) or an IPv6 one (family 6). */
struct koda_addr {
	uint8_t family;
	uint8_t bytes[16];
};

/* Decides about a host, a name or an address literal in any spelling. A name that is allowed here
 * still has to pass koda_rules_address for every address it resolves to. */
KODA_API struct koda_verdict koda_rules_connect(const struct koda_rules *rules, const char *host,
						size_t len, uint16_t port);
/* Decides whether a connection that koda_rules_connect allowed may go to this address. */
KODA_API struct koda_verdict koda_rules_address(const struct koda_rules *rules, const char *host,
						size_t len, uint16_t port,
						const struct koda_addr *addr);

/* Returns "fs.deny_read" for KODA_REASON_DENY_READ and so on; never NULL. */
KODA_API const char *koda_reason_name(enum koda_reason reason);

#ifdef __cplusplus
}
#endif

#endif
