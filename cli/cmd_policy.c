/* SPDX-License-Identifier: MIT */
/* koda-sandbox policy show and compose; check has a file of its own. */
#include "options.h"

#include "base/diag.h"
#include "policy/policy.h"

static int print_policy(const struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = koda_policy_emit(policy, &text, err);

	if (r == KODA_OK)
		r = koda_cli_print(text, strlen(text), err);
	return r < 0 ? r : CLI_EXIT_OK;
}

int koda_cli_policy_show(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_SHAPE_OPTIONS, CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	koda_auto_shape struct cli_shape shape = CLI_SHAPE_INIT;
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		r = koda_cli_shape_take(&shape, option, optarg, err);
		if (r < 0)
			return r;
	}
	if (r == KODA_OK)
		r = koda_cli_need_operands(call, 0, "", err);
	if (r == KODA_OK)
		r = koda_cli_shape_one_source(&shape, call, err);
	if (r == KODA_OK)
		r = koda_cli_shape_apply(&shape, call->env, &setup, err);
	return r < 0 ? r : print_policy(setup.policy, err);
}

int koda_cli_policy_compose(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	koda_auto_policy struct koda_policy *parent = NULL;
	koda_auto_policy struct koda_policy *child = NULL;
	koda_auto_policy struct koda_policy *both = NULL;
	char **files;
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0)
		if (option == 'h')
			return koda_cli_help(call->name, err);
	if (r == KODA_OK)
		r = koda_cli_need_operands(call, 2, "two files, PARENT and CHILD", err);
	if (r < 0)
		return r;
	files = call->argv + optind;
	if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
		return koda_cli_usage(call, err, "standard input can be read only once");
	r = koda_cli_load_policy(files[0], &parent, err);
	if (r == KODA_OK)
		r = koda_cli_load_policy(files[1], &child, err);
	if (r == KODA_OK)
		r = koda_policy_compose(parent, child, &both, err);
	return r < 0 ? r : print_policy(both, err);
}
