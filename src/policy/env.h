/* SPDX-License-Identifier: MIT */
/* The tables behind koda_env_build, for the tests that walk them. */
#ifndef KODA_POLICY_ENV_H
#define KODA_POLICY_ENV_H

#include <koda/env.h>
#include <koda/span.h>
#include <stddef.h>

struct koda_env_tool {
	const char *const *tools;     /* NULL-terminated */
	const char *const *variables; /* NULL-terminated */
};

extern const char *const koda_env_base[]; /* NULL-terminated */
extern const struct koda_env_tool koda_env_tools[];
extern const size_t koda_env_tool_count;

/* The tool a command names: its first word without directories; empty if there is none. Borrowed
 * from command. Assignments, parentheses, sudo or a shell in front give no tool that has extras,
 * which is the safe side. */
struct koda_span koda_env_tool_name(const char *command);
/* Its extra variables, NULL-terminated; an empty list for an unknown tool. */
const char *const *koda_env_extras(struct koda_span tool);

#endif
