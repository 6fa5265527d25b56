/* SPDX-License-Identifier: MIT */
/*
 * An index of host rules. It finds the rules that cover a requested host or another rule. Names are
 * looked up label by label from the right, addresses once per prefix length in use.
 */
#ifndef KODA_POLICY_HOSTINDEX_H
#define KODA_POLICY_HOSTINDEX_H

#include "base/trie.h"
#include "policy/hostrule.h"

/* A rule in the index, without its name. */
struct koda_hostmark {
	uint32_t tag;   /* the caller's */
	uint32_t next;  /* next rule of the same name and kind; 0: none */
	uint32_t same;  /* next rule that also has the same port; for long lists only */
	uint16_t port;  /* 0: any */
	uint8_t kind;   /* enum koda_hostrule_kind */
	uint8_t prefix; /* NET */
	bool public_only;
};

/* Rules of one name and kind. A long list (many ports) is found by port as well. */
struct koda_hostlist {
	uint32_t first; /* mark; 0: none */
	uint32_t count;
};

struct koda_hostnode {
	struct koda_hostlist exact; /* for exactly this name or net */
	struct koda_hostlist below; /* for what lies below it */
};

struct koda_hostindex {
	struct koda_trie trie;       /* labels from the right; nets below the root as one label */
	struct koda_hostnode *nodes; /* owned, by trie node */
	size_t node_cap;
	struct koda_hostmark *marks; /* owned; marks[0] is unused */
	size_t mark_count;
	size_t mark_cap;
	uint64_t prefixes[2][3]; /* bit n: some net of this family (4, 6) has prefix length n */
};

#define KODA_HOSTINDEX_INIT                                                                        \
	{                                                                                          \
		.trie = KODA_TRIE_INIT((size_t)256 << 20)                                          \
	}

/* Adds a rule. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_hostindex_add(struct koda_hostindex *index, const struct koda_hostrule *rule,
				  uint32_t tag, struct koda_error *err);
void koda_hostindex_clear(struct koda_hostindex *index);

/* Calls see for every rule that covers the whole query: one name, all names below a name, or the
 * net of prefix bits. With a port, rules for another port are left out; with 0 all are seen. Least
 * specific host first; stops when see returns true and then returns true itself. */
typedef bool koda_hostindex_see(void *ctx, const struct koda_hostmark *mark);
struct koda_hostquery {
	enum koda_hostrule_kind kind;
	unsigned int prefix;
	uint16_t port;
	const struct koda_host *host;
};
bool koda_hostindex_covering(const struct koda_hostindex *index, const struct koda_hostquery *query,
			     koda_hostindex_see *see, void *ctx);

#define koda_auto_hostindex __attribute__((cleanup(koda_hostindex_clear)))

#endif
