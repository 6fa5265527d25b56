/* SPDX-License-Identifier: MIT */
/* T-04. */
#include "variables.h"

#include <koda/env.h>
#include <string.h>

/* Returns the caller's NAME=VALUE, or NULL. */
static const char *caller_entry(const struct cli_call *call, const char *name)
{
	size_t len = strlen(name);

	for (const char *const *entry = call->env; *entry; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return *entry;
	return NULL;
}

int cli_variables_take(struct koda_strv *variables, const struct cli_call *call, int option,
		       const char *arg, struct koda_error *err)
{
	const char *entry = strchr(arg, '=') ? arg : caller_entry(call, arg);
	int name_len = (int)strcspn(arg, "=");

	/* Messages show the name alone: the value may be the secret. */
	if (name_len == 0)
		return cli_args_fail(call, err, "--%s needs NAME or NAME=VALUE",
				     option == CLI_OPT_ENV ? "env" : "env-secret");
	if (option == CLI_OPT_ENV && koda_env_looks_secret(entry ? entry : arg))
		return cli_args_fail(call, err,
				     "%.*s looks like a credential: the command, and what it runs, "
				     "could send it away; --env-secret %.*s passes it",
				     name_len, arg, name_len, arg);
	return entry ? koda_strv_add(variables, entry, err) : KODA_OK;
}
