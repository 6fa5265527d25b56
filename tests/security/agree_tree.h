/* SPDX-License-Identifier: MIT */
/* Random trees for the agreement test: files, directories, links, repositories, pointers. */
#ifndef KODA_TEST_AGREE_TREE_H
#define KODA_TEST_AGREE_TREE_H

#include "../unit/koda_test.h"

#include <limits.h>

#define PATHS_MAX 160

struct world {
	struct koda_rng rng;
	char top[PATH_MAX / 2]; /* of this case */
	char root[PATH_MAX / 2 + 64];
	char paths[PATHS_MAX][PATH_MAX];
	size_t count;
	unsigned int wrong;
	unsigned int compared;
	unsigned int refused; /* cases that did not start */
	unsigned int unclaimed;
};

/* A name that means something to somebody, or nothing. */
const char *koda_tree_name(struct world *w);
/* Remembers dir/name; NULL when there is no more room. */
const char *koda_tree_note(struct world *w, const char *dir, const char *name);
/* Something at random below dir. */
void koda_tree_fill(struct world *w, const char *dir, unsigned int depth);
/* A repository in other, of which the project is a worktree; or only says that it is. */
void koda_tree_worktree(struct world *w, const char *other);

#endif
