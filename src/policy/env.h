/* SPDX-License-Identifier: MIT */
/* The tables of koda_env_build; tests read them too. */
#ifndef KODA_POLICY_ENV_H
#define KODA_POLICY_ENV_H

#include <koda/env.h>
#include <koda/span.h>
#include <stddef.h>

struct koda_env_tool {
	const char *const *tools;     /* NULL-terminated */
	const char *const *variables; /* NULL-terminated */
};

extern const char *const koda_env_base[];   /* NULL-terminated */
extern const char *const koda_env_common[]; /* NULL-terminated; what tools are told by */
extern const struct koda_env_tool koda_env_tools[];
extern const size_t koda_env_tool_count;

/* Returns the tool of a command, borrowed from it: its first word without directories, or empty. A
 * command that starts with an assignment, a parenthesis, sudo or a shell gets no extra variables.
 */
struct koda_span koda_env_tool_name(const char *command);
/* Returns the extra variables of a tool, NULL-terminated; an empty list for an unknown one. */
const char *const *koda_env_extras(struct koda_span tool);

#endif
