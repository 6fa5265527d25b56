/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/error.h"
#include "cli_text.h"

static const char *find_text(const struct cli_text *texts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i].name, name) == 0)
			return texts[i].text;
	return NULL;
}

int cli_help_print(const char *name, struct koda_error *err)
{
	const char *text = find_text(cli_help_texts, KODA_ARRAY_LEN(cli_help_texts), name);
	int r;

	if (!text)
		return koda_fail_at(err, KODA_E_INTERNAL, 0, name, "has no help");
	r = cli_output_print(text, strlen(text), err);
	return r < 0 ? r : CLI_EXIT_OK;
}

const char *cli_help_completion(const char *shell)
{
	return find_text(cli_completions, KODA_ARRAY_LEN(cli_completions), shell);
}
