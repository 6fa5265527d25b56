/* SPDX-License-Identifier: MIT */
/*
 * Splits a command line of git's configuration into words, as a shell does: quotes, backslashes,
 * variables, command substitutions. Nothing is run. What only a shell can know stays unknown.
 */
#ifndef KODA_RUN_PROJECT_GIT_SHELL_H
#define KODA_RUN_PROJECT_GIT_SHELL_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>

struct koda_error;

/* Bytes of a word that stand for text that is not known: the value of a variable, the output of a
 * command. */
#define KODA_GIT_SHELL_VALUE  '\1'
#define KODA_GIT_SHELL_OUTPUT '\2'

/* How deep commands in commands are read. */
#define KODA_GIT_SHELL_LEVELS 5U

struct koda_git_shell_word {
	const char *text;   /* borrowed; without quotes */
	unsigned int level; /* of the command in commands */
	bool first;         /* begins a command */
	bool is_target;     /* of "<" or ">" */
	bool is_pattern;    /* has "*", "?", "[" or "{" outside of quotes */
	bool is_text;       /* has blanks or operators in quotes, so it may be a command itself */
	bool is_split;      /* a value has blanks, at which a shell splits the word */
};

struct koda_git_shell {
	/* Called for each word; words of a substitution come before the word that it is part of. A
	 * negative result stops the splitting. */
	int (*see)(void *ctx, const struct koda_git_shell_word *word, struct koda_error *err);
	/* Returns the value of a variable, borrowed; NULL if it is not known. */
	const char *(*value)(void *ctx, struct koda_span name);
	void *ctx;
	size_t room; /* how many more bytes of values are put in */
};

/* Splits a text at a level below KODA_GIT_SHELL_LEVELS. Fails: NOMEM, and what see fails with. */
KODA_CHECK int koda_git_shell_split(struct koda_git_shell *shell, const char *text,
				    unsigned int level, struct koda_error *err);

enum koda_git_shell_kind {
	KODA_GIT_SHELL_OTHER,
	KODA_GIT_SHELL_PREFIX,      /* a keyword, or a program that runs the program after it */
	KODA_GIT_SHELL_SHELL,       /* runs the script that its first operand names */
	KODA_GIT_SHELL_INTERPRETER, /* runs a script as well; its options may have operands */
	KODA_GIT_SHELL_SOURCE,
	KODA_GIT_SHELL_EVAL,
	KODA_GIT_SHELL_CD,
};

/* Classifies the first word of a command. */
enum koda_git_shell_kind koda_git_shell_kind_of(const char *word);

#endif
