/* SPDX-License-Identifier: MIT */
/*
 * A policy says what a command may do: files, network, limits, and whether a person is asked.
 * It is plain data. Lists are ordered sets: adding an entry twice keeps the first. Paths are
 * stored lexically normalised and host patterns in canonical form, so two policies that mean the
 * same list compare equal.
 *
 * Thread use: a policy may be read by many threads while none of them changes it.
 */
#ifndef KODA_POLICY_H
#define KODA_POLICY_H

#include <koda/error.h>
#include <koda/limit.h>
#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_policy;

/* Largest policy text, in bytes, and deepest nesting that are decoded. */
#define KODA_POLICY_TEXT_MAX  ((size_t)1024 * 1024)
#define KODA_POLICY_DEPTH_MAX 16

/* Lists, with the JSON name each has below "fs" or "net". */
enum koda_list {
	KODA_LIST_DENY_READ,               /* fs.deny_read */
	KODA_LIST_ALLOW_READ_WITHIN_DENY,  /* fs.allow_read_within_deny */
	KODA_LIST_ALLOW_WRITE,             /* fs.allow_write, may be unset */
	KODA_LIST_DENY_WRITE_WITHIN_ALLOW, /* fs.deny_write_within_allow */
	KODA_LIST_ALLOWED_DOMAINS,         /* net.allowed_domains */
	KODA_LIST_DENIED_DOMAINS,          /* net.denied_domains */
	KODA_LIST_COUNT
};

enum koda_flag {
	KODA_FLAG_ALLOW_GIT_CONFIG,       /* fs.allow_git_config */
	KODA_FLAG_ALLOW_LOCAL_BINDING,    /* net.allow_local_binding */
	KODA_FLAG_WEAKER_MACOS_ISOLATION, /* net.weaker_macos_isolation */
	KODA_FLAG_COUNT
};

/* Largest value of a limit: what both JSON readers and 64-bit signed hosts agree on. */
#define KODA_LIMIT_MAX INT64_MAX

/* Whether a person is asked before a command runs; larger is looser. */
enum koda_ask {
	KODA_ASK_FORBID = 0, /* never runs */
	KODA_ASK_REQUIRE,    /* needs an approval */
	KODA_ASK_AUTO        /* runs */
};

/* Makes the default policy: empty lists, allow_write unset, no limits, depth 3, ask auto. Owned by
 * the caller. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_policy_new(struct koda_policy **ret_policy, struct koda_error *err);
KODA_API KODA_CHECK int koda_policy_copy(const struct koda_policy *policy,
					 struct koda_policy **ret_policy, struct koda_error *err);
/* NULL is fine. */
KODA_API void koda_policy_free(struct koda_policy *policy);

/* Decodes text[0..len) strictly: unknown or duplicate keys, wrong types, relative paths and so
 * on are errors that name the place in err->field. Fails: POLICY, LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_policy_parse(const char *text, size_t len,
					  struct koda_policy **ret_policy, struct koda_error *err);
/* Returns the canonical JSON text: every field, null where nothing was stated, fixed order,
 * two-space indent, final newline. Decoded, it composes as the policy does. *ret_text is
 * NUL-terminated, owned by the caller (free). Fails: NOMEM. */
KODA_API KODA_CHECK int koda_policy_emit(const struct koda_policy *policy, char **ret_text,
					 struct koda_error *err);

/* Compares field by field (an unstated flag equals a false one); the order inside a list counts.
 * Equal policies have equal hashes. Equal hashes prove nothing, because collisions can be
 * constructed: compare as well. */
KODA_API bool koda_policy_equal(const struct koda_policy *a, const struct koda_policy *b);
KODA_API uint64_t koda_policy_hash(const struct koda_policy *policy);

/* Makes the meet: the result allows what parent and child both allow. A parent stands for what it
 * states and for the defaults of what it does not; a child only for what it states, so the default
 * policy as a child changes nothing. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_policy_compose(const struct koda_policy *parent,
					    const struct koda_policy *child,
					    struct koda_policy **ret_policy,
					    struct koda_error *err);

/* Adds a path (absolute; "." and empty components vanish, ".." and NUL are refused) or a host
 * pattern. Adding to allow_write also marks it as stated. Fails: POLICY, LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_policy_add(struct koda_policy *policy, enum koda_list list,
					const char *entry, size_t len, struct koda_error *err);
KODA_API size_t koda_policy_count(const struct koda_policy *policy, enum koda_list list);
/* Returns entry i, NUL-terminated, borrowed until the policy changes; {NULL, 0} past the end. */
KODA_API struct koda_span koda_policy_get(const struct koda_policy *policy, enum koda_list list,
					  size_t i);

/* Unset allow_write makes nothing writable, but a child that leaves it unset inherits; stated and
 * empty means nothing is writable, for a child too. Clearing the mark also empties the list. */
KODA_API bool koda_policy_has_allow_write(const struct koda_policy *policy);
KODA_API void koda_policy_state_allow_write(struct koda_policy *policy, bool stated);

/* A flag or search depth that was never set has its default, and in a child says nothing. */
KODA_API bool koda_policy_flag(const struct koda_policy *policy, enum koda_flag flag);
KODA_API void koda_policy_set_flag(struct koda_policy *policy, enum koda_flag flag, bool value);

/* Returns true and *ret_value if the limit is stated. */
KODA_API bool koda_policy_limit(const struct koda_policy *policy, enum koda_limit limit,
				uint64_t *ret_value);
/* Fails: LIMIT above KODA_LIMIT_MAX. */
KODA_API KODA_CHECK int koda_policy_set_limit(struct koda_policy *policy, enum koda_limit limit,
					      uint64_t value, struct koda_error *err);
KODA_API void koda_policy_unset_limit(struct koda_policy *policy, enum koda_limit limit);

/* Returns how many levels down repositories are searched for: what the policy states, but at least
 * KODA_SEARCH_DEPTH_MIN and at most KODA_SEARCH_DEPTH_MAX. */
#define KODA_SEARCH_DEPTH_MIN 8
#define KODA_SEARCH_DEPTH_MAX 40
KODA_API uint8_t koda_policy_search_depth(const struct koda_policy *policy);
/* Returns the depth as the policy states it, which may be outside of those bounds; 3 if it states
 * none. */
KODA_API uint8_t koda_policy_stated_search_depth(const struct koda_policy *policy);
KODA_API void koda_policy_set_search_depth(struct koda_policy *policy, uint8_t depth);

KODA_API enum koda_ask koda_policy_ask(const struct koda_policy *policy);
KODA_API void koda_policy_set_ask(struct koda_policy *policy, enum koda_ask ask);

/* Returns the path of the CA bundle for TLS termination, or {NULL, 0} without "mitm". */
KODA_API struct koda_span koda_policy_ca_bundle(const struct koda_policy *policy);
KODA_API KODA_CHECK int koda_policy_set_ca_bundle(struct koda_policy *policy, const char *path,
						  size_t len, struct koda_error *err);
/* Needs a CA bundle first (INVALID otherwise). */
KODA_API KODA_CHECK int koda_policy_add_socket_map(struct koda_policy *policy, const char *domain,
						   const char *socket_path, struct koda_error *err);
KODA_API size_t koda_policy_socket_map_count(const struct koda_policy *policy);
KODA_API void koda_policy_get_socket_map(const struct koda_policy *policy, size_t i,
					 struct koda_span *ret_domain,
					 struct koda_span *ret_socket_path);

/* Returns false if denied_domains holds "*": the command gets no network at all. */
KODA_API bool koda_policy_has_network(const struct koda_policy *policy);

#ifdef __cplusplus
}
#endif

#endif
