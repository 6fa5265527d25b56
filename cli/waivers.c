/* SPDX-License-Identifier: MIT */
/* T-48. */
#include "waivers.h"

int cli_waivers_take(struct cli_waivers *waivers, int option, const char *arg,
		     struct koda_error *err)
{
	enum koda_clause clause;
	int r;

	if (option == CLI_OPT_NO_SANDBOX) {
		waivers->no_sandbox = true;
		return KODA_OK;
	}
	r = koda_clause_parse(arg, &clause, err);
	if (r < 0) {
		cli_error_place(err, "--accept");
		return r;
	}
	for (size_t i = 0; i < waivers->accept_count; i++)
		if (waivers->accept[i] == clause)
			return KODA_OK;
	waivers->accept[waivers->accept_count++] = clause;
	return KODA_OK;
}

int cli_waivers_check(const struct cli_waivers *waivers, const struct cli_policy_options *options,
		      const struct cli_call *call, struct koda_error *err)
{
	const char *option = waivers->no_sandbox ? "--no-sandbox" : "--accept";

	if (options->trust != KODA_TRUST_AUTO ||
	    (!waivers->no_sandbox && waivers->accept_count == 0))
		return KODA_OK;
	if (options->trust_given)
		return cli_args_fail(call, err, "%s is not possible with --trust auto", option);
	return cli_args_fail(call, err,
			     "%s needs --trust safe or --trust plan; with auto, the default, it is "
			     "not possible",
			     option);
}

void cli_waivers_apply(const struct cli_waivers *waivers, struct koda_sandbox_options *options)
{
	options->accept = waivers->accept;
	options->accept_count = waivers->accept_count;
	options->no_sandbox = waivers->no_sandbox;
}

void cli_waivers_warn(const struct cli_waivers *waivers)
{
	static const char text[] =
		CLI_PROGRAM ": WARNING: no sandbox: this command can do whatever you can\n";

	if (waivers->no_sandbox)
		cli_output_warn(text, sizeof(text) - 1);
}
