/* SPDX-License-Identifier: MIT */
/* koda-sandbox env: the environment that a command would get. */
#include "request.h"

#include "base/diag.h"
#include "run/scratch.h"

#include <koda/env.h>
#include <koda/policy.h>
#include <stdint.h>

/* T-10 lines are for people: a value must not look like another variable. NUL keeps every byte. */
static int add_variable(struct koda_buf *out, const char *variable, char end)
{
	struct koda_span text = koda_span_of(variable);
	int r = end ? koda_cli_add_escaped(out, text) : koda_buf_add(out, text.ptr, text.len);

	return r < 0 ? r : koda_buf_add(out, &end, 1);
}

static int print_env(char *const *env, const struct request *request, struct koda_error *err)
{
	static const char inside[] = "KODA_SANDBOX=";
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(SIZE_MAX / 2);

	for (; *env; env++) {
		if (request->grip.no_sandbox && strncmp(*env, inside, strlen(inside)) == 0)
			continue;
		if (add_variable(&text, *env, request->null ? '\0' : '\n') < 0)
			return koda_fail_nomem(err);
	}
	return koda_cli_print(text.ptr, text.len, err);
}

static int build_and_print(const struct cli_call *call, const struct request *request,
			   struct koda_error *err)
{
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	koda_auto_free char *scratch = NULL;
	struct koda_env_request wanted = { .host = call->env,
					   .command = request->shell ? request->shell
								     : request->argv[0] };
	char **env = NULL;
	int r = koda_cli_shape_apply(&request->shape, call->env, &setup, err);

	/* Only the kind of name is the same in the end: each command has a directory of its own. */
	if (r == KODA_OK && request->backend == KODA_BACKEND_LANDLOCK)
		r = koda_scratch_name(&scratch, err);
	if (r < 0)
		return r;
	wanted.cwd = setup.cwd;
	wanted.scratch = scratch;
	wanted.network = !request->grip.no_sandbox && koda_policy_has_network(setup.policy);
	wanted.ca_bundle = koda_policy_ca_bundle(setup.policy).ptr != NULL;
	r = koda_env_build(&wanted, &env, err);
	if (r == KODA_OK)
		r = print_env(env, request, err);
	koda_env_free(env);
	return r < 0 ? r : CLI_EXIT_OK;
}

int koda_cli_env(const struct cli_call *call, struct koda_error *err)
{
	struct request request = CLI_REQUEST_INIT(TO_LIST);
	int r = koda_cli_request_read(call, &request, err);

	if (r > 0)
		r = build_and_print(call, &request, err);
	koda_cli_request_clear(&request);
	return r;
}
