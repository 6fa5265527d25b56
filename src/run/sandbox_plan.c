/* SPDX-License-Identifier: MIT */
/* Makes the plans of a sandbox's commands, and renders them as text. */
#include "base/error.h"
#include "plan/bwrap.h"
#include "plan/json.h"
#include "plan/make.h"
#include "policy/policy.h"
#include "run/command.h"
#include "run/cwd.h"
#include "run/in_use.h"
#include "run/project/ca_bundle.h"
#include "run/project/cache.h"
#include "run/project/fs_view.h"
#include "run/reports.h"
#include "run/sandbox.h"
#include "run/stream/passed_fds.h"
#include "run/stream/streams.h"
#include "run/survey.h"

#include <koda/env.h>
#include <unistd.h>

/* Lists the program, then its argv. */
static int command_line(const struct koda_sandbox *sandbox,
			const struct koda_command_options *options, struct koda_strv *line,
			struct koda_error *err)
{
	int r = KODA_OK;

	if (options->shell) {
		const char *const words[] = { "/bin/sh", "sh", "-c", options->shell };

		for (size_t i = 0; i < KODA_ARRAY_LEN(words) && r == KODA_OK; i++)
			r = koda_strv_add(line, words[i], err);
		return r;
	}
	if (!options->argv || !options->argv[0])
		return koda_fail(err, KODA_E_INVALID, 0, "no command");
	r = koda_strv_add(line, sandbox->helper ? sandbox->helper : options->argv[0], err);
	for (const char *const *arg = options->argv; *arg && r == KODA_OK; arg++)
		r = koda_strv_add(line, *arg, err);
	return r;
}

/* Builds the environment of a command; a helper has only what it is given. */
static int make_env(const struct koda_sandbox *sandbox, const struct koda_env_request *request,
		    struct koda_strv *env, struct koda_error *err)
{
	char **built = NULL;
	const char *const *list = request->add;
	int r = sandbox->helper ? KODA_OK : koda_env_build(request, &built, err);

	if (built)
		list = (const char *const *)built;
	for (; r == KODA_OK && list && *list; list++)
		r = koda_strv_add(env, *list, err);
	koda_env_free(built);
	return r;
}

int koda_sandbox_make_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			   struct koda_plan *plan, struct koda_error *err)
{
	koda_auto_strv struct koda_strv line = KODA_STRV_INIT;
	koda_auto_buf struct koda_buf trusted = KODA_BUF_INIT(KODA_CA_BUNDLE_MAX);
	koda_auto_free char *caches = NULL;
	koda_auto_free char *journal = NULL;
	koda_auto_free char *store = NULL;
	koda_auto_free char *scratch = NULL;
	struct koda_place place = koda_site_place(&sandbox->site);
	struct koda_env_request env_request = {
		.size = sizeof(env_request),
		.host = (const char *const *)sandbox->host_env.items,
		.command = options->shell  ? options->shell
			   : options->argv ? options->argv[0]
					   : NULL,
		.cwd = options->cwd ? options->cwd : sandbox->site.root,
		.network = koda_sandbox_has_network(sandbox),
		.ca_bundle = koda_policy_ca_bundle(sandbox->policy).ptr != NULL,
		.no_sandbox = !sandbox->backend->is_sandbox,
		.add = options->env,
	};
	struct koda_terminal_state terminal;
	struct koda_passed_fds passed = { .count = 0 };
	static const char *const no_env;
	koda_auto_strv struct koda_strv env = KODA_STRV_INIT;
	int r = command_line(sandbox, options, &line, err);

	if (r == KODA_OK)
		r = koda_passed_fds_offer_numbers(options, &passed, err);

	if (options->terminal)
		koda_streams_describe_terminal(options, &terminal);
	if (r == KODA_OK)
		r = koda_cache_store(&sandbox->site, &caches, err);
	if (r == KODA_OK)
		r = koda_cache_placeholder_journal(&sandbox->site, &journal, err);
	if (r == KODA_OK)
		r = koda_cache_placeholder_store(&sandbox->site, &store, err);
	if (r == KODA_OK && sandbox->backend->needs_scratch)
		r = koda_scratch_name(&scratch, err);
	env_request.scratch = scratch;
	if (r == KODA_OK)
		r = make_env(sandbox, &env_request, &env, err);
	if (r == KODA_OK && env_request.network && env_request.ca_bundle)
		r = koda_ca_bundle_make(sandbox->policy, &trusted, err);
	if (r == KODA_OK) {
		const struct koda_plan_request request = {
			.policy = sandbox->policy,
			.rules = sandbox->rules,
			.place = &place,
			.fs = &koda_fs_view_host,
			.trust = sandbox->trust,
			.max_processes = options->max_processes,
			.memory_limit = options->max_memory_bytes,
			.max_memory = koda_trust_memory(),
			.as_root = geteuid() == 0,
			.terminal = options->terminal ? &terminal : NULL,
			.sockets = (const char *const *)sandbox->sockets.items,
			.caches = caches,
			.cgroup = env_request.no_sandbox ? NULL : sandbox->cgroup,
			.journal = journal,
			.store = store,
			.authorities = koda_buf_span(&trusted),
			.scratch = scratch,
			.report = !koda_reports_obstacle(sandbox, options),
			.cwd = env_request.cwd,
			.argv = (const char *const *)line.items,
			.env = env.items ? (const char *const *)env.items : &no_env,
			.passed_fds = &passed,
		};

		r = koda_plan_make(plan, &request, err);
	}
	return r;
}

/* Makes a plan and renders it as text. */
static int show_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		     int (*render)(const struct koda_plan *plan, struct koda_buf *out,
				   struct koda_error *err),
		     char **ret_text, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)64 << 20);
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	koda_auto_free char *cwd = NULL;
	struct koda_command_options known;
	int r = koda_command_options_take(&known, options, err);

	if (r == KODA_OK)
		r = koda_command_options_check(&known, err);
	if (r == KODA_OK)
		r = koda_in_use_begin(&sandbox->in_use, "sandbox", err);
	if (r < 0)
		return r;
	r = koda_cwd_take(sandbox->site.root, &known, &cwd, err);
	if (r == KODA_OK)
		r = koda_survey_for_plan(sandbox, err);
	if (r == KODA_OK)
		r = koda_sandbox_make_plan(sandbox, &known, &plan, err);
	(void)koda_in_use_end(&sandbox->in_use); /* koda_sandbox_close counts references */
	if (r == KODA_OK)
		r = render(&plan, &text, err);
	if (r < 0)
		return r;
	r = koda_buf_take(&text, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_sandbox_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		      char **ret_text, struct koda_error *err)
{
	return show_plan(sandbox, options, koda_plan_print, ret_text, err);
}

int koda_sandbox_plan_bwrap(struct koda_sandbox *sandbox,
			    const struct koda_command_options *options, char **ret_text,
			    struct koda_error *err)
{
	return show_plan(sandbox, options, koda_bwrap_print, ret_text, err);
}

int koda_sandbox_plan_json(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			   char **ret_text, struct koda_error *err)
{
	return show_plan(sandbox, options, koda_plan_json, ret_text, err);
}
