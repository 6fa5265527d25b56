/* SPDX-License-Identifier: MIT */
#include "recipe.h"

#include "base/error.h"

#include <koda/trust.h>

/* Bytes of a message that the recipe may have. */
#define RECIPE_MAX 186

/* Bytes of the word that the message repeats. */
#define SHOWN 20

/* Fits between single quotes. */
static bool is_plain(const char *text)
{
	return text && text[0] && !strchr(text, '\'');
}

/* The value of an option that stands ahead of where getopt is, or NULL. */
static const char *given(const struct cli_call *call, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < optind && i < call->argc; i++) {
		const char *word = call->argv[i];

		if (strncmp(word, name, len) != 0)
			continue;
		if (word[len] == '=')
			return word + len + 1;
		if (word[len] == '\0' && i + 1 < call->argc)
			return call->argv[i + 1];
	}
	return NULL;
}

/* Adds " NAME VALUE", quoted where a shell would not take it as it is. */
static int add_option(struct koda_buf *line, const char *name, const char *value)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._/:+-";
	const char *quote = value[strspn(value, plain)] ? "'" : "";

	return koda_buf_addf(line, " %s %s%s%s", name, quote, value, quote);
}

/* The option of policy show that word is, or the one that is most often meant. */
static int add_allow(struct koda_buf *line, const struct cli_call *call, const char *word,
		     bool in_full)
{
	static const struct {
		const char *name;
		const char *stands_for;
	} known[] = { { "--allow-domain", "HOST" },
		      { "--allow-write", "DIR" },
		      { "--allow-read", "PATH" } };
	size_t len = strcspn(word, "=");
	const char *value = word[len] == '='      ? word + len + 1
			    : optind < call->argc ? call->argv[optind]
						  : "";

	for (size_t i = 0; i < KODA_ARRAY_LEN(known); i++) {
		bool usable = in_full && is_plain(value) && value[0] != '-';

		if (len == strlen(known[i].name) && strncmp(word, known[i].name, len) == 0)
			return add_option(line, known[i].name,
					  usable ? value : known[i].stands_for);
	}
	return add_option(line, known[0].name, known[0].stands_for);
}

/* What was given is repeated, or else what it stands for: up to 2 of the longer ones. */
static int write_recipe(struct koda_buf *line, const struct cli_call *call, const char *word,
			int repeated)
{
	const char *trust = given(call, "--trust");
	const char *root = given(call, "--root");
	enum koda_trust mode;
	int r = koda_buf_addf(line, "d=~/.config/koda/policies; mkdir -p \"$d\" && " CLI_PROGRAM
				    " policy show");

	if (r == KODA_OK && trust && koda_trust_parse(trust, &mode, NULL) == KODA_OK)
		r = add_option(line, "--trust", koda_trust_name(mode));
	if (r == KODA_OK && root)
		r = add_option(line, "--root", repeated > 1 && is_plain(root) ? root : "DIR");
	if (r == KODA_OK)
		r = add_allow(line, call, word, repeated > 0);
	return r < 0 ? r
		     : koda_buf_addf(line,
				     " >\"$d/my.json\" && " CLI_PROGRAM
				     " %s --policy \"$d/my.json\"",
				     call->name);
}

int cli_recipe(const struct cli_call *call, const char *word, struct koda_error *err)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT((size_t)1 << 20);
	int r = write_recipe(&line, call, word, 2);

	for (int repeated = 1; repeated >= 0 && r == KODA_OK && line.len > RECIPE_MAX; repeated--) {
		line.len = 0;
		r = write_recipe(&line, call, word, repeated);
	}
	if (r < 0)
		return koda_fail_nomem(err);
	return koda_fail_at(err, KODA_E_INVALID, 0, call->name,
			    "unknown option '%.*s': options only narrow; instead: %s",
			    (int)strcspn(word, "=") < SHOWN ? (int)strcspn(word, "=") : SHOWN, word,
			    line.ptr);
}
