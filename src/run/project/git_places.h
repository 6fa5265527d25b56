/* SPDX-License-Identifier: MIT */
/*
 * T-44. The directories that a command may be in while git runs it, and the files that its words
 * name from there. What a command of ours may write among them is protected (git_trail.h).
 */
#ifndef KODA_RUN_PROJECT_GIT_PLACES_H
#define KODA_RUN_PROJECT_GIT_PLACES_H

#include "base/macros.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

struct koda_error;
struct koda_git_trail;

/* How many directories are kept. */
#define KODA_GIT_PLACES_MAX ((size_t)8)

struct koda_git_places {
	struct koda_git_trail *trail;
	struct koda_strv dirs; /* the top of the work tree, targets of cd, operands */
	size_t dir;            /* where the command is, if it goes on from start to end */
	bool dirs_only;        /* of words, only directories count */
};

/* Each fails as koda_git_trail_follow does. */

/* Tells whether a shell computes a part of the word (git_shell.h). */
bool koda_git_places_is_computed(const char *word);
/* Notes a path that is known as a whole: always, or if it is a file. An existing directory is one
 * that the command may change to. */
KODA_CHECK int koda_git_places_note(struct koda_git_places *places, const char *word, bool always,
				    struct koda_error *err);
/* Notes the directory of a program, if only the first len bytes of its path are known. */
KODA_CHECK int koda_git_places_note_parent(struct koda_git_places *places, const char *word,
					   size_t len, struct koda_error *err);
/* Notes a path of which a shell computes a part. */
KODA_CHECK int koda_git_places_note_computed(struct koda_git_places *places, const char *word,
					     bool is_program, struct koda_error *err);
/* Follows cd. */
KODA_CHECK int koda_git_places_change(struct koda_git_places *places, const char *word,
				      struct koda_error *err);

#endif
