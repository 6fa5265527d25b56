/* SPDX-License-Identifier: MIT */
/* The policy as a struct, and the tables of its field names. */
#ifndef KODA_POLICY_POLICY_H
#define KODA_POLICY_POLICY_H

#include "base/macros.h"
#include "base/set.h"

#include <koda/policy.h>

#define KODA_SEARCH_DEPTH_DEFAULT 3

/* Bytes one list may hold; a decoded policy stays far below, a composed one may come near. */
#define KODA_LIST_BYTES_MAX ((size_t)64 << 20)

/* An upper bound that may be absent. "Absent" is a flag, never a magic number. */
struct koda_cap {
	bool stated;
	uint64_t max;
};

/* A permission that a policy may leave out. Left out it grants nothing, and in a child policy it
 * takes nothing away. */
struct koda_grant {
	bool stated;
	bool on;
};

struct koda_policy {
	struct koda_set lists[KODA_LIST_COUNT];
	bool allow_write_stated;
	struct koda_grant flags[KODA_FLAG_COUNT];
	struct koda_cap limits[KODA_LIMIT_POLICY_COUNT];
	bool depth_stated;
	uint8_t search_depth;
	enum koda_ask ask;
	char *ca_bundle;             /* owned; NULL without mitm */
	struct koda_set map_domains; /* net.mitm.socket_map: domain i goes to socket i */
	char **map_sockets;          /* owned, map_domains.count of them */
	struct koda_buf scratch;     /* working memory for adding an entry; not part of the value */
};

extern const char *const koda_policy_list_names[KODA_LIST_COUNT];
extern const char *const koda_policy_flag_names[KODA_FLAG_COUNT];
extern const char *const koda_policy_limit_names[KODA_LIMIT_POLICY_COUNT];
extern const char *const koda_policy_ask_names[KODA_ASK_AUTO + 1];

static inline bool koda_list_is_paths(enum koda_list list)
{
	return list < KODA_LIST_ALLOWED_DOMAINS;
}

/* Adds an entry in canonical form, such as one of another policy. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_policy_add_canonical(struct koda_policy *policy, enum koda_list list,
					 struct koda_span entry, struct koda_error *err);

/* Adds the entries of a, then those of b, to a list of out. Fails: NOMEM. */
KODA_CHECK int koda_policy_add_union(struct koda_policy *out, enum koda_list list,
				     const struct koda_policy *a, const struct koda_policy *b,
				     struct koda_error *err);

/* Like koda_policy_add_socket_map, for bytes without a NUL terminator. */
KODA_CHECK int koda_policy_map_socket(struct koda_policy *policy, struct koda_span domain,
				      struct koda_span socket_path, struct koda_error *err);

/* Returns the memory limit of every trust mode: three quarters of the machine's memory, or 0 if
 * sysconf(3) does not tell. */
uint64_t koda_trust_memory(void);

/* Copies the "mitm" object; dst must not have one. Fails: NOMEM. */
KODA_CHECK int koda_policy_copy_mitm(struct koda_policy *dst, const struct koda_policy *src,
				     struct koda_error *err);

void koda_policy_free_ptr(struct koda_policy **policy);
#define koda_auto_policy __attribute__((cleanup(koda_policy_free_ptr)))

#endif
