/* SPDX-License-Identifier: MIT */
/*
 * T-44. Any bytes as a configuration of git's. Every setting has a name, the parts are no longer
 * than the text, and a second reading gives what the first one gave.
 */
#include "target.h"

#include "base/buf.h"
#include "run/project/git_config.h"

struct seen {
	size_t text;
	size_t count;
	size_t bytes;
};

static int see(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	struct seen *seen = ctx;
	size_t len = strlen(setting->name) + strlen(setting->value);

	(void)err;
	CHECK(setting->name[0] >= 'a' && setting->name[0] <= 'z');
	CHECK(!strpbrk(setting->section, " \t\n\"]."));
	CHECK(len <= seen->text &&
	      strlen(setting->section) + strlen(setting->subsection) <= seen->text);
	seen->count++;
	seen->bytes += len;
	return KODA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span text = { size ? (const char *)data : "", size };
	struct seen first = { .text = size };
	struct seen again = { .text = size };

	CHECK(koda_git_config_parse(text, see, &first, NULL) == KODA_OK);
	CHECK(koda_git_config_parse(text, see, &again, NULL) == KODA_OK);
	CHECK(first.count == again.count && first.bytes == again.bytes);
	/* The names and values of a text are parts of it. */
	CHECK(first.bytes <= size);
	return 0;
}
