/* SPDX-License-Identifier: MIT */
/* koda-sandbox completion: the scripts that tools/gen_cli.py made from the manual pages. */
#include "cli.h"

int cli_cmd_completion(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	static const char *const shells[] = { "bash", "zsh", "fish", NULL };
	const char *script;
	int r = cli_args_read(call, &syntax, NULL, NULL, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 1, "a shell: bash, zsh or fish", err);
	if (r < 0)
		return r;
	script = cli_help_completion(call->argv[optind]);
	if (!script)
		return cli_args_fail_unknown(call, "shell", call->argv[optind], shells, err);
	r = cli_output_print(script, strlen(script), err);
	return r < 0 ? r : CLI_EXIT_OK;
}
