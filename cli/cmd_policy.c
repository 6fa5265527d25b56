/* SPDX-License-Identifier: MIT */
/* koda-sandbox policy show and compose; check has a file of its own. */
#include "setup.h"
#include "widen.h"

#include "base/error.h"

#include <stdio.h>
#include <unistd.h>

/* Prints what the text does not say by itself: that "trust" is about approvals, and which limits
 * have another value in effect than is written. For terminals only; programs get the text alone. */
static void print_notes(const struct koda_policy *policy)
{
	static const char *const approvals[] = { [KODA_ASK_FORBID] = "no command runs",
						 [KODA_ASK_REQUIRE] = "a person has to approve",
						 [KODA_ASK_AUTO] = "none is needed" };
	const unsigned int stated = koda_policy_stated_search_depth(policy);
	const unsigned int depth = koda_policy_search_depth(policy);

	if (!isatty(STDOUT_FILENO))
		return;
	(void)fprintf(stderr,
		      CLI_PROGRAM
		      ": note: \"trust\" is the approval that a command needs, here: %s; "
		      "it is not the trust mode\n",
		      approvals[koda_policy_ask(policy)]);
	if (depth != stated)
		(void)fprintf(stderr,
			      CLI_PROGRAM ": note: mandatory_deny_search_depth %u acts as %u\n",
			      stated, depth);
}

static int print_policy(const struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = koda_policy_emit(policy, &text, err);

	if (r == KODA_OK)
		r = cli_output_print(text, strlen(text), err);
	if (r < 0)
		return r;
	print_notes(policy);
	return CLI_EXIT_OK;
}

static int take_option(const struct cli_call *call, void *options, int option,
		       struct koda_error *err)
{
	(void)call;
	return cli_policy_options_take(options, option, optarg, err);
}

int cli_cmd_policy_show(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = {
		CLI_POLICY_OPTIONS, CLI_WIDEN_OPTIONS, CLI_HELP_OPTION, { 0 }
	};
	static const struct cli_syntax syntax = { ":h", longs };
	cli_auto_policy_options struct cli_policy_options options = CLI_POLICY_OPTIONS_INIT;
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	int r = cli_args_read(call, &syntax, take_option, &options, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 0, "", err);
	if (r == KODA_OK)
		r = cli_policy_options_check_source(&options, call, err);
	if (r == KODA_OK)
		r = cli_setup_make(&options, call->env, &setup, err);
	if (r == KODA_OK)
		r = cli_widen_tell(&options.widen, setup.project, err);
	return r != KODA_OK ? r : print_policy(koda_project_policy(setup.project), err);
}

int cli_cmd_policy_compose(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	cli_auto_policy struct koda_policy *parent = NULL;
	cli_auto_policy struct koda_policy *child = NULL;
	cli_auto_policy struct koda_policy *both = NULL;
	char **files;
	int r = cli_args_read(call, &syntax, NULL, NULL, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 2, "two files, PARENT and CHILD", err);
	if (r < 0)
		return r;
	files = call->argv + optind;
	if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0)
		return cli_args_fail(call, err, "standard input can be read only once");
	r = cli_input_load(files[0], &parent, err);
	if (r == KODA_OK)
		r = cli_input_load(files[1], &child, err);
	if (r == KODA_OK)
		r = koda_policy_compose(parent, child, &both, err);
	return r != KODA_OK ? r : print_policy(both, err);
}
