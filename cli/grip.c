/* SPDX-License-Identifier: MIT */
/* T-48. Doing without. */
#include "grip.h"

#include "base/fd.h"

#include <unistd.h>

int koda_cli_grip_take(struct cli_grip *grip, int option, const char *arg, struct koda_error *err)
{
	enum koda_clause clause;
	int r;

	if (option == CLI_OPT_NO_SANDBOX) {
		grip->no_sandbox = true;
		return KODA_OK;
	}
	r = koda_clause_parse(arg, &clause, err);
	if (r < 0) {
		koda_cli_blame(err, "--accept");
		return r;
	}
	for (size_t i = 0; i < grip->accept_count; i++)
		if (grip->accept[i] == clause)
			return KODA_OK;
	grip->accept[grip->accept_count++] = clause;
	return KODA_OK;
}

int koda_cli_grip_check(const struct cli_grip *grip, const struct cli_shape *shape,
			const struct cli_call *call, struct koda_error *err)
{
	const char *option = grip->no_sandbox ? "--no-sandbox" : "--accept";

	if (shape->trust != KODA_TRUST_AUTO || (!grip->no_sandbox && grip->accept_count == 0))
		return KODA_OK;
	if (shape->trust_given)
		return koda_cli_usage(call, err, "%s is not possible with --trust auto", option);
	return koda_cli_usage(
		call, err,
		"%s needs --trust safe or --trust plan; with auto, the default, it is "
		"not possible",
		option);
}

void koda_cli_grip_apply(const struct cli_grip *grip, struct koda_sandbox_options *options)
{
	options->accept = grip->accept;
	options->accept_count = grip->accept_count;
	options->no_sandbox = grip->no_sandbox;
}

void koda_cli_grip_warn(const struct cli_grip *grip)
{
	static const char text[] =
		CLI_PROGRAM ": WARNING: no sandbox: this command can do whatever you can\n";

	if (grip->no_sandbox)
		(void)!koda_fd_write_all(STDERR_FILENO, text, sizeof(text) - 1, NULL);
}
