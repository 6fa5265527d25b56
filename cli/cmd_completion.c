/* SPDX-License-Identifier: MIT */
/* koda-sandbox completion: the scripts that tools/gen_cli.py made from the manual pages. */
#include "cli.h"

int koda_cli_completion(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	static const char *const shells[] = { "bash", "zsh", "fish", NULL };
	const char *script;
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0)
		if (option == 'h')
			return koda_cli_help(call->name, err);
	if (r == KODA_OK)
		r = koda_cli_need_operands(call, 1, "a shell: bash, zsh or fish", err);
	if (r < 0)
		return r;
	script = koda_cli_completion_script(call->argv[optind]);
	if (!script)
		return koda_cli_unknown(call, "shell", call->argv[optind], shells, err);
	r = koda_cli_print(script, strlen(script), err);
	return r < 0 ? r : CLI_EXIT_OK;
}
