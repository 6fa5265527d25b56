/* SPDX-License-Identifier: MIT */
/*
 * An index of path rules. A walk goes from "/" towards a path and returns the marks of every
 * directory on the way. It costs one step per component and ends where no rule lies below.
 */
#ifndef KODA_POLICY_PATHINDEX_H
#define KODA_POLICY_PATHINDEX_H

#include "base/path.h"
#include "base/strlist.h"
#include "base/trie.h"

struct koda_pathnode {
	uint32_t marks; /* the caller's bits */
	uint32_t text;  /* number of the path in texts, if there are any */
	uint32_t above; /* the node of the directory that it is in, whose number is less */
};

/* A directory on the way to the path that was added last. */
struct koda_pathstep {
	uint32_t node;
	uint32_t len; /* of the path up to here */
};

#define KODA_PATHINDEX_TRAIL 16

struct koda_pathindex {
	struct koda_trie trie;
	struct koda_strlist texts;   /* the marked paths */
	struct koda_pathnode *nodes; /* owned, by trie node */
	size_t node_cap;
	uint32_t marks; /* of all nodes */
	/* Neighbours in a list often share a directory, which is then found without a walk. */
	struct koda_pathstep trail[KODA_PATHINDEX_TRAIL];
	size_t trail_len;
	uint32_t last; /* number in texts of the path that the trail leads to */
};

#define KODA_PATHINDEX_BYTES ((size_t)256 << 20)
#define KODA_PATHINDEX_INIT                                                                        \
	{                                                                                          \
		.trie = KODA_TRIE_INIT(KODA_PATHINDEX_BYTES),                                      \
		.texts = KODA_STRLIST_INIT(KODA_PATHINDEX_BYTES)                                   \
	}

/* Reserves room for more paths of so many bytes in total. Fails: LIMIT, NOMEM; the index is
 * unchanged then. */
KODA_CHECK int koda_pathindex_reserve(struct koda_pathindex *index, size_t more, size_t bytes);
/* Adds marks (not 0) to path, which is in normal form. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_pathindex_add(struct koda_pathindex *index, struct koda_span path,
				  uint32_t marks, struct koda_error *err);
void koda_pathindex_clear(struct koda_pathindex *index);

struct koda_pathwalk {
	uint32_t marks;        /* of the directory reached, never 0 */
	struct koda_span rule; /* its path, borrowed from the index */
	/* private: */
	const struct koda_pathindex *index;
	struct koda_span rest;
	uint32_t node;
	bool begun;
};

/* Starts a walk at "/" towards path, which need not be in normal form but must be well-formed. */
struct koda_pathwalk koda_pathwalk_start(const struct koda_pathindex *index, struct koda_span path);
/* Moves to the next marked directory. Returns false if there is none. */
bool koda_pathwalk_next(struct koda_pathwalk *walk);

/* Returns true if path or a path below it is marked. */
bool koda_pathindex_leads_to(const struct koda_pathindex *index, struct koda_span path);

/* Returns true if path is absolute, without "..", NUL and over-long components. */
bool koda_pathwalk_is_sound(struct koda_span path);

#define koda_auto_pathindex __attribute__((cleanup(koda_pathindex_clear)))

#endif
