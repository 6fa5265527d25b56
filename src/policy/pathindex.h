/* SPDX-License-Identifier: MIT */
/*
 * Many path rules, asked quickly. A walk goes from "/" towards a path and shows the marks of every
 * directory on the way; it costs one step per component and stops where no rule leads further.
 */
#ifndef KODA_POLICY_PATHINDEX_H
#define KODA_POLICY_PATHINDEX_H

#include "base/path.h"
#include "base/texts.h"
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
	struct koda_texts texts;     /* the marked paths */
	struct koda_pathnode *nodes; /* owned, by trie node */
	size_t node_cap;
	uint32_t marks; /* all there are */
	/* Neighbours in a list often lie in the same directory, which is not looked for again. */
	struct koda_pathstep trail[KODA_PATHINDEX_TRAIL];
	size_t trail_len;
	uint32_t last; /* number in texts of the path that the trail leads to */
};

#define KODA_PATHINDEX_BYTES ((size_t)256 << 20)
#define KODA_PATHINDEX_INIT                                                                        \
	{                                                                                          \
		.trie = KODA_TRIE_INIT(KODA_PATHINDEX_BYTES),                                      \
		.texts = KODA_TEXTS_INIT(KODA_PATHINDEX_BYTES)                                     \
	}

/* Makes room for so many more paths, and bytes in them, at once. Fails: LIMIT, NOMEM; nothing is
 * lost then. */
KODA_CHECK int koda_pathindex_reserve(struct koda_pathindex *index, size_t more, size_t bytes);
/* path is in normal form, marks is not 0. Fails: LIMIT, NOMEM. */
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

/* Starts at "/" towards path, which need not be in normal form but must be well-formed. */
struct koda_pathwalk koda_pathwalk_start(const struct koda_pathindex *index, struct koda_span path);
/* Moves to the next marked directory; false when there is none. */
bool koda_pathwalk_next(struct koda_pathwalk *walk);

/* Is a path marked at or below this one? */
bool koda_pathindex_leads_to(const struct koda_pathindex *index, struct koda_span path);

/* Absolute, no "..", no NUL, nothing over-long: fit for a verdict. */
bool koda_pathwalk_is_sound(struct koda_span path);

#define koda_auto_pathindex __attribute__((cleanup(koda_pathindex_clear)))

#endif
