/* SPDX-License-Identifier: MIT */
/*
 * T-44. Any text as a command line of git's configuration. Splitting ends, levels stay below the
 * bound, words hold no more than the text and its values, and a second reading gives what the first
 * one gave.
 */
#include "target.h"

#include "base/buf.h"
#include "base/macros.h"
#include "run/project/git_shell.h"

#include <koda/error.h>

#define ROOM 4096

struct seen {
	size_t words;
	size_t bytes;
};

static int see(void *ctx, const struct koda_git_shell_word *word, struct koda_error *err)
{
	struct seen *seen = ctx;

	(void)err;
	CHECK(word->level < KODA_GIT_SHELL_LEVELS);
	CHECK(!(word->first && word->is_target));
	(void)koda_git_shell_kind_of(word->text);
	seen->words++;
	seen->bytes += strlen(word->text);
	return KODA_OK;
}

static const char *value(void *ctx, struct koda_span name)
{
	(void)ctx;
	return name.len == 1 ? "value" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_free char *text = strndup((const char *)data, size);
	struct seen seen[2] = { { 0 }, { 0 } };

	CHECK(text);
	for (size_t i = 0; i < 2; i++) {
		struct koda_git_shell shell = {
			.see = see, .value = value, .ctx = &seen[i], .room = ROOM
		};

		CHECK(koda_git_shell_split(&shell, text, 0, NULL) == KODA_OK);
	}
	CHECK(seen[0].words == seen[1].words && seen[0].bytes == seen[1].bytes);
	/* Each level is a part of the one above it. */
	CHECK(seen[0].bytes <= KODA_GIT_SHELL_LEVELS * strlen(text) + ROOM);
	return 0;
}
