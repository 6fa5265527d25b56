/* SPDX-License-Identifier: MIT */
/* koda-sandbox env: the environment that a command would get. */
#include "request.h"
#include "setup.h"

#include "base/error.h"

#include <koda/env.h>
#include <koda/policy.h>
#include <stdint.h>

/* T-10 lines are for people: a value must not look like another variable. NUL keeps every byte. */
static int add_variable(struct koda_buf *out, const char *variable, char end)
{
	struct koda_span text = koda_span_of(variable);
	int r = end ? cli_output_escape(out, text) : koda_buf_add(out, text.ptr, text.len);

	return r < 0 ? r : koda_buf_add(out, &end, 1);
}

static int print_env(char *const *env, const struct cli_request *request, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(SIZE_MAX / 2);

	for (; *env; env++)
		if (add_variable(&text, *env, request->null ? '\0' : '\n') < 0)
			return koda_fail_nomem(err);
	return cli_output_print(text.ptr, text.len, err);
}

static int build_and_print(const struct cli_call *call, const struct cli_request *request,
			   struct koda_error *err)
{
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	koda_auto_free char *scratch = NULL;
	struct koda_env_request wanted = { .size = sizeof(wanted),
					   .host = call->env,
					   .command = request->shell ? request->shell
								     : request->argv[0],
					   .add = (const char *const *)request->variables.items };
	const struct koda_policy *policy;
	char **env = NULL;
	int r = cli_setup_make(&request->policy, call->env, &setup, err);

	/* An example: each command has a directory of its own. */
	if (r == KODA_OK && request->backend == KODA_BACKEND_LANDLOCK)
		r = koda_scratch_name(&scratch, err);
	if (r < 0)
		return r;
	policy = koda_project_policy(setup.project);
	wanted.cwd = setup.cwd;
	wanted.scratch = scratch;
	wanted.network = !request->waivers.no_sandbox && koda_policy_has_network(policy);
	wanted.no_sandbox = request->waivers.no_sandbox;
	wanted.ca_bundle = koda_policy_ca_bundle(policy).ptr != NULL;
	r = koda_env_build(&wanted, &env, err);
	if (r == KODA_OK)
		r = print_env(env, request, err);
	koda_env_free(env);
	return r < 0 ? r : CLI_EXIT_OK;
}

int cli_cmd_env(const struct cli_call *call, struct koda_error *err)
{
	struct cli_request request = CLI_REQUEST_INIT(CLI_TO_LIST);
	int r = cli_request_read(call, &request, err);

	if (r > 0)
		r = build_and_print(call, &request, err);
	cli_request_clear(&request);
	return r;
}
