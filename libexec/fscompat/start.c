/* SPDX-License-Identifier: MIT */
#include "start.h"

#include "base/error.h"
#include "base/macros.h"
#include "base/strv.h"

#include <koda/env.h>
#include <koda/project.h>
#include <string.h>

#define POLICY_VARIABLE "KODA_FS_WORKER_POLICY"

/* What the older client sets for its worker, and tests by get_env. */
static const char *const client_variables[] = {
	"HTTPS_PROXY",         "https_proxy",        "HTTP_PROXY",
	"http_proxy",          "NO_PROXY",           "no_proxy",
	"ALL_PROXY",           "all_proxy",          "SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
};

/* Returns whether variable (NAME=VALUE) has this name. */
static bool has_name(const char *variable, const char *name)
{
	size_t len = strlen(name);

	return strncmp(variable, name, len) == 0 && variable[len] == '=';
}

/* Decodes the policy; without the variable it is the default policy. */
static int read_policy(const char *const *environment, struct koda_policy **ret_policy,
		       struct koda_error *err)
{
	for (const char *const *variable = environment; *variable; variable++) {
		const char *text = *variable + sizeof(POLICY_VARIABLE);
		int r;

		if (!has_name(*variable, POLICY_VARIABLE))
			continue;
		r = koda_policy_parse(text, strlen(text), ret_policy, err);
		if (r < 0)
			koda_error_within(err, POLICY_VARIABLE);
		return r;
	}
	return koda_policy_new(ret_policy, err);
}

/* Opens the project with the policy. The worker needs no network, and the older one let the root
 * be written without being told so. */
static int open_project(const char *root, const char *const *environment,
			struct koda_project **ret_project, struct koda_error *err)
{
	struct koda_project *project = NULL;
	struct koda_policy *policy = NULL;
	const char *path;
	int r = read_policy(environment, &policy, err);

	if (r == KODA_OK)
		r = koda_project_open(root, environment, &project, err);
	if (r == KODA_OK) {
		path = koda_project_root(project);
		r = koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, path, strlen(path), err);
	}
	if (r == KODA_OK)
		r = koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, err);
	if (r == KODA_OK)
		r = koda_project_set_policy(project, policy, err);
	koda_policy_free(policy);
	if (r < 0)
		koda_project_close(project);
	else
		*ret_project = project;
	return r;
}

static bool is_clients(const char *variable)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(client_variables); i++)
		if (has_name(variable, client_variables[i]))
			return !koda_env_looks_secret(variable);
	return false;
}

static int make_environment(const char *const *environment, const char *root, char ***ret_env,
			    struct koda_error *err)
{
	koda_auto_strv struct koda_strv given = KODA_STRV_INIT;
	struct koda_env_request request = { .size = sizeof(request),
					    .host = environment,
					    .command = "koda-fs-worker",
					    .cwd = root };
	int r = KODA_OK;

	for (const char *const *variable = environment; r == KODA_OK && *variable; variable++)
		if (is_clients(*variable))
			r = koda_strv_add(&given, *variable, err);
	request.add = (const char *const *)given.items;
	return r < 0 ? r : koda_env_build(&request, ret_env, err);
}

int fscompat_start(const char *root, const char *const *environment, struct koda_fs **ret_fs,
		   struct koda_error *err)
{
	struct koda_project *project = NULL;
	struct koda_sandbox *sandbox = NULL;
	char **env = NULL;
	/* The host that names the policy has asked, where a person is to be asked. */
	struct koda_fs_options worker = { .size = sizeof(worker), .approved = true };
	struct koda_sandbox_options options = { .size = sizeof(options), .trust = KODA_TRUST_AUTO };
	int r = open_project(root, environment, &project, err);

	options.project = project;
	if (r == KODA_OK)
		r = make_environment(environment, koda_project_root(project), &env, err);
	if (r == KODA_OK)
		r = koda_sandbox_open(&options, &sandbox, err);
	worker.env = (const char *const *)env;
	if (r == KODA_OK)
		r = koda_fs_open(sandbox, &worker, ret_fs, err);
	koda_env_free(env);
	koda_sandbox_close(sandbox);
	koda_project_close(project);
	return r;
}
