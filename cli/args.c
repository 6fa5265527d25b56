/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "recipe.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#define WORD_MAX 32 /* the longest word that a typing error is looked for in */

/* Bytes of a user's word that a message repeats; the rest of the line must survive. */
#define SHOWN 60

static int min3(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Edits (insert, drop, replace, swap neighbours) that turn a into b. */
static int distance(const char *a, const char *b)
{
	int rows[3][WORD_MAX + 1];
	int la = (int)strlen(a);
	int lb = (int)strlen(b);

	for (int j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (int i = 1; i <= la; i++) {
		int *row = rows[i % 3];
		const int *above = rows[(i + 2) % 3];
		const int *second = rows[(i + 1) % 3];

		row[0] = i;
		for (int j = 1; j <= lb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				      above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    second[j - 2] + 1 < row[j])
				row[j] = second[j - 2] + 1;
		}
	}
	return rows[la % 3][lb];
}

/* Returns the only candidate that begins with word, or NULL. It is named in the message and not
 * accepted: a script must not change its meaning when a later release has more options. */
static const char *only_one_of(const char *word, const char *const *candidates)
{
	const char *found = NULL;

	for (; strlen(word) >= 3 && *candidates; candidates++) {
		if (strncmp(word, *candidates, strlen(word)) != 0)
			continue;
		if (found)
			return NULL;
		found = *candidates;
	}
	return found;
}

static const char *nearest_of(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	size_t len = strlen(word);
	/* More than a third of a word changed is another word. */
	int best_distance = len < 3 ? 2 : (int)(len / 3) + 1;

	if (len > WORD_MAX)
		return NULL;
	for (; *candidates; candidates++) {
		int d;

		if (strlen(*candidates) > WORD_MAX)
			continue;
		d = distance(word, *candidates);
		if (d < best_distance) {
			best = *candidates;
			best_distance = d;
		}
	}
	return best;
}

int cli_args_fail(const struct cli_call *call, struct koda_error *err, const char *format, ...)
{
	char what[256];
	const char *space = call->name[0] ? " " : "";
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (len < 0)
		what[0] = '\0';
	return koda_fail_at(err, KODA_E_INVALID, 0, call->name,
			    "%s; see '" CLI_PROGRAM "%s%s --help'", what, space, call->name);
}

/* dashes: what is written ahead of the word and of its candidates. */
static int unknown(const struct cli_call *call, const char *what, const char *dashes,
		   const char *word, const char *const *candidates, struct koda_error *err)
{
	const char *nearest = nearest_of(word, candidates);
	const char *space = call->name[0] ? " " : "";

	if (!nearest)
		nearest = only_one_of(word, candidates);
	if (!nearest)
		return cli_args_fail(call, err, "unknown %s '%s%.*s'", what, dashes, SHOWN, word);
	return koda_fail_at(err, KODA_E_INVALID, 0, call->name,
			    "unknown %s '%s%.*s', did you mean '%s%s'? See '" CLI_PROGRAM
			    "%s%s --help'",
			    what, dashes, SHOWN, word, dashes, nearest, space, call->name);
}

int cli_args_fail_unknown(const struct cli_call *call, const char *what, const char *word,
			  const char *const *candidates, struct koda_error *err)
{
	return unknown(call, what, "", word, candidates, err);
}

void cli_args_start(void)
{
	optind = 0; /* 0, not 1: makes glibc forget what it knows of an earlier argv */
	opterr = 0;
}

/* The word that getopt has just read a long option from. */
static const char *option_word(const struct cli_call *call)
{
	bool separate = optarg && optind > 1 && optarg == call->argv[optind - 1];

	return call->argv[optind - (separate ? 2 : 1)];
}

static bool has_option(const struct cli_syntax *syntax, const char *name)
{
	for (const struct option *o = syntax->longs; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

static int unknown_long(const struct cli_call *call, const struct cli_syntax *syntax,
			const char *word, struct koda_error *err)
{
	const char *names[64];
	char bare[WORD_MAX + 1];
	size_t len = strcspn(word + 2, "=");
	size_t count = 0;

	if (strncmp(word, "--allow", strlen("--allow")) == 0 && has_option(syntax, "policy") &&
	    !has_option(syntax, "allow-domain"))
		return cli_recipe(call, word, err);
	if (len >= sizeof(bare))
		return cli_args_fail(call, err, "unknown option '%.*s...'", SHOWN, word);
	memcpy(bare, word + 2, len);
	bare[len] = '\0';
	for (const struct option *o = syntax->longs; o->name && count + 1 < KODA_ARRAY_LEN(names);
	     o++)
		names[count++] = o->name;
	names[count] = NULL;
	return unknown(call, "option", "--", bare, names, err);
}

/* What getopt's '?' is about: optopt is 0 for a long option it does not know, the value of a long
 * option that got an argument it does not take, or else an unknown letter. */
static int bad_option(const struct cli_call *call, const struct cli_syntax *syntax,
		      struct koda_error *err)
{
	const char *word = call->argv[optind - 1];

	if (optopt == 0)
		return unknown_long(call, syntax, word, err);
	for (const struct option *o = syntax->longs; o->name; o++)
		if (o->val == optopt)
			return cli_args_fail(call, err, "option '--%s' takes no argument", o->name);
	return cli_args_fail(call, err, "unknown option '-%c'", optopt);
}

static int missing_argument(const struct cli_call *call, struct koda_error *err)
{
	const char *word = call->argv[optind - 1];

	if (strncmp(word, "--", 2) == 0)
		return cli_args_fail(call, err, "option '%.*s' needs an argument", SHOWN, word);
	return cli_args_fail(call, err, "option '-%c' needs an argument", optopt);
}

int cli_args_next(const struct cli_call *call, const struct cli_syntax *syntax, int *ret_option,
		  struct koda_error *err)
{
	int index = -1;
	/* One thread, so getopt's globals are as good as parameters. */
	int option = getopt_long( // NOLINT(concurrency-mt-unsafe)
		call->argc, call->argv, syntax->shorts, syntax->longs, &index);

	if (option < 0)
		return 0;
	if (option == '?')
		return bad_option(call, syntax, err);
	if (option == ':')
		return missing_argument(call, err);
	if (index >= 0) {
		const char *word = option_word(call);

		if (strcspn(word + 2, "=") != strlen(syntax->longs[index].name))
			return unknown_long(call, syntax, word, err);
	}
	*ret_option = option;
	return 1;
}

int cli_args_read(const struct cli_call *call, const struct cli_syntax *syntax, cli_option_fn *take,
		  void *ctx, struct koda_error *err)
{
	int option = 0;
	int r;

	cli_args_start();
	while ((r = cli_args_next(call, syntax, &option, err)) > 0) {
		if (option == 'h')
			return cli_help_print(call->name, err);
		r = take ? take(call, ctx, option, err) : KODA_OK;
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 1;
}

int cli_args_need_command(const struct cli_call *call, const char *shell, struct koda_error *err)
{
	if (shell && optind < call->argc)
		return cli_args_fail(call, err, "takes -c COMMAND or a program, not both");
	if (!shell && optind >= call->argc)
		return cli_args_fail(call, err, "needs -c COMMAND or a program");
	return KODA_OK;
}

int cli_args_need_operands(const struct cli_call *call, int count, const char *names,
			   struct koda_error *err)
{
	if (call->argc - optind < count)
		return cli_args_fail(call, err, "needs %s", names);
	if (call->argc - optind > count)
		return cli_args_fail(call, err, "unexpected argument '%.*s'", SHOWN,
				     call->argv[optind + count]);
	return KODA_OK;
}
