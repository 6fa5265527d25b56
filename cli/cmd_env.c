/* SPDX-License-Identifier: MIT */
/* koda-sandbox env: the environment that a command would get. */
#include "options.h"

#include "base/diag.h"

#include <koda/env.h>
#include <koda/policy.h>
#include <stdint.h>

struct request {
	struct cli_shape shape;
	const char *command; /* borrowed from argv */
	char end;            /* byte after each variable */
};

static int read_request(const struct cli_call *call, struct request *request,
			struct koda_error *err)
{
	static const struct option longs[] = {
		CLI_SHAPE_OPTIONS, { "null", no_argument, NULL, '0' }, CLI_HELP_OPTION, { 0 }
	};
	static const struct cli_syntax syntax = { "+:c:0h", longs };
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		if (option == '0') {
			request->end = '\0';
		} else if (option == 'c' && request->command) {
			return koda_cli_usage(call, err, "-c can be given only once");
		} else if (option == 'c') {
			request->command = optarg;
		} else {
			r = koda_cli_shape_take(&request->shape, option, optarg, err);
			if (r < 0)
				return r;
		}
	}
	if (r < 0)
		return r;
	r = koda_cli_need_command(call, request->command, err);
	if (r < 0)
		return r;
	if (!request->command)
		request->command = call->argv[optind];
	return 1;
}

/* T-10 lines are for people: a value must not look like another variable. NUL keeps every byte. */
static int add_variable(struct koda_buf *out, const char *variable, char end)
{
	struct koda_span text = koda_span_of(variable);
	int r = end ? koda_cli_add_escaped(out, text) : koda_buf_add(out, text.ptr, text.len);

	return r < 0 ? r : koda_buf_add(out, &end, 1);
}

static int print_env(char *const *env, char end, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(SIZE_MAX / 2);

	for (; *env; env++)
		if (add_variable(&text, *env, end) < 0)
			return koda_fail_nomem(err);
	return koda_cli_print(text.ptr, text.len, err);
}

static int build_and_print(const struct cli_call *call, const struct request *request,
			   struct koda_error *err)
{
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct koda_env_request wanted = { .host = call->env, .command = request->command };
	char **env = NULL;
	int r = koda_cli_shape_apply(&request->shape, call->env, &setup, err);

	if (r < 0)
		return r;
	wanted.cwd = setup.cwd;
	wanted.network = koda_policy_has_network(setup.policy);
	wanted.ca_bundle = koda_policy_ca_bundle(setup.policy).ptr != NULL;
	r = koda_env_build(&wanted, &env, err);
	if (r == KODA_OK)
		r = print_env(env, request->end, err);
	koda_env_free(env);
	return r < 0 ? r : CLI_EXIT_OK;
}

int koda_cli_env(const struct cli_call *call, struct koda_error *err)
{
	struct request request = { .shape = CLI_SHAPE_INIT, .end = '\n' };
	int r = read_request(call, &request, err);

	if (r > 0)
		r = build_and_print(call, &request, err);
	koda_cli_shape_clear(&request.shape);
	return r;
}
