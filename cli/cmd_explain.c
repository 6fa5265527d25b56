/* SPDX-License-Identifier: MIT */
/* koda-sandbox explain: denials of event files, by cause. */
#include "event_files.h"

#include <koda/explain.h>

static int take_option(const struct cli_call *call, void *json, int option, struct koda_error *err)
{
	(void)call;
	(void)err;
	*(bool *)json = option == 'j';
	return KODA_OK;
}

int cli_cmd_explain(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
					       CLI_HELP_OPTION,
					       { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	struct koda_explain *explain = NULL;
	koda_auto_free char *text = NULL;
	bool json = false;
	int r = cli_args_read(call, &syntax, take_option, &json, err);

	if (r <= 0)
		return r;
	r = koda_explain_new(&explain, err);
	if (r == KODA_OK)
		r = cli_event_files_read(call, koda_explain_take_event, explain, err);
	if (r == KODA_OK)
		r = json ? koda_explain_json(explain, &text, err)
			 : koda_explain_text(explain, &text, err);
	if (r == KODA_OK)
		r = cli_output_print(text, strlen(text), err);
	koda_explain_free(explain);
	return r;
}
