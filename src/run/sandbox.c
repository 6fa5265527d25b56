/* SPDX-License-Identifier: MIT */
/* A sandbox: policy, place and rules, from which each command's plan is made. */
#include "run/sandbox.h"

#include "base/diag.h"
#include "base/path.h"
#include "plan/bwrap.h"
#include "policy/policy.h"
#include "run/authority.h"
#include "run/cgroup.h"
#include "run/handout.h"
#include "run/judge.h"
#include "run/remedy.h"
#include "run/scratch.h"
#include "run/sized.h"
#include "run/survey.h"
#include "run/world.h"

#include <errno.h>
#include <koda/env.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the first release had. */
#define OPTIONS_LEAST                                                                              \
	(offsetof(struct koda_sandbox_options, no_sandbox) +                                       \
	 sizeof(((struct koda_sandbox_options *)NULL)->no_sandbox))

static int load_policy(struct koda_sandbox_parts *parts, const struct koda_sandbox_options *options,
		       struct koda_error *err)
{
	int r = options->policy ? koda_policy_copy(options->policy, &parts->policy, err)
				: koda_policy_for_trust(options->trust, parts->site.root,
							&parts->policy, err);

	return r < 0 ? r : koda_site_resolve_policy(&parts->site, parts->policy, err);
}

/* A command needs somewhere to be; policies may speak of roots that do not exist yet. */
static int check_root(const struct koda_sandbox *sandbox, struct koda_error *err)
{
	struct stat st;

	if (stat(sandbox->site.root, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, sandbox->site.root,
				    "the project root cannot be used");
	if (!S_ISDIR(st.st_mode))
		return koda_fail_at(err, KODA_E_INVALID, 0, sandbox->site.root,
				    "the project root is not a directory");
	return KODA_OK;
}

static int choose_backend(struct koda_sandbox *sandbox, const struct koda_sandbox_options *options,
			  struct koda_error *err)
{
	enum koda_backend_kind first =
		options->backend == KODA_BACKEND_AUTO ? KODA_BACKEND_NATIVE : options->backend;

	sandbox->wanted = options->backend;
	sandbox->backend = options->no_sandbox ? &koda_backend_none : koda_backend_of(first);
	if (!sandbox->backend)
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "the backend %s is not in this release", koda_backend_name(first));
	for (size_t i = 0; i < options->accept_count; i++) {
		if ((unsigned int)options->accept[i] >= KODA_CLAUSE_COUNT)
			return koda_fail(err, KODA_E_INVALID, 0, "there is no clause %u to accept",
					 (unsigned int)options->accept[i]);
		sandbox->accepted |= KODA_CLAUSE_BIT(options->accept[i]);
	}
	return koda_trust_admit(options->trust, true, options->no_sandbox, err);
}

/* What the backend would hold, but not here. T-17: what is not found cannot be hidden; where init
 * makes every connection nothing has to be. T-88: a place is open or not, where names do not count.
 */
static void doubt(const struct koda_sandbox *sandbox, struct koda_findings *findings)
{
	if (sandbox->sockets_unsure && sandbox->backend != &koda_backend_landlock)
		findings->of[KODA_CLAUSE_SOCKETS] = koda_refused(
			"a socket of the host is not where it was bound, and there are too many "
			"files to look for it",
			"end the programs whose sockets were moved or removed (ss -xap lists "
			"them)");
	if (sandbox->site.twofold && sandbox->backend == &koda_backend_landlock)
		findings->of[KODA_CLAUSE_HIDDEN_READS] = koda_refused(
			"something hidden is mounted elsewhere, too, where the project or a part "
			"that the policy opens is, and without a view of its own both are one",
			"use --backend native, which needs user namespaces");
}

int koda_sandbox_admit(const struct koda_sandbox *sandbox, const struct koda_plan *plan,
		       struct koda_error *err)
{
	struct koda_machine machine;
	struct koda_findings findings;

	if (sandbox->backend == &koda_backend_none)
		return KODA_OK; /* it was asked for by name, and not with auto */
	koda_machine_glance(&machine);
	if (!sandbox->backend->judge(&machine, &findings))
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "the sandbox cannot be set up, nothing ran: %s; %s",
				 findings.of[0].why, findings.of[0].remedy);
	koda_admit_relax(sandbox->policy, &findings);
	doubt(sandbox, &findings);
	koda_admit_forgo(koda_admit_unneeded(plan), &findings);
	return koda_admit(sandbox->trust, &findings, sandbox->accepted, err);
}

void koda_sandbox_findings(const struct koda_sandbox *sandbox, struct koda_findings *ret_findings)
{
	struct koda_machine machine;

	memset(ret_findings, 0, sizeof(*ret_findings));
	koda_machine_glance(&machine);
	machine.overlay = koda_machine_has_overlay();
	machine.cgroup = koda_machine_has_cgroup();
	(void)sandbox->backend->judge(&machine, ret_findings);
	if (sandbox->backend == &koda_backend_none)
		return;
	koda_admit_relax(sandbox->policy, ret_findings);
	doubt(sandbox, ret_findings);
}

int koda_sandbox_assemble(const struct koda_sandbox_options *options,
			  struct koda_sandbox_parts *parts, struct koda_sandbox **ret_sandbox,
			  struct koda_error *err)
{
	struct koda_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int r = KODA_OK;

	if (!sandbox) {
		koda_site_clear(&parts->site);
		koda_policy_free(parts->policy);
		koda_launcher_clear(&parts->spare);
		return koda_fail_nomem(err);
	}
	sandbox->site = parts->site;
	sandbox->policy = parts->policy;
	sandbox->spare = parts->spare;
	*parts = (struct koda_sandbox_parts){ .spare = KODA_LAUNCHER_INIT };
	sandbox->trust = options->trust;
	sandbox->on_event = options->on_event;
	sandbox->event_ctx = options->event_ctx;
	sandbox->on_question = options->on_question;
	sandbox->question_ctx = options->question_ctx;
	koda_way_init(&sandbox->way, sandbox->policy, options->on_question != NULL);
	for (const char *const *env = options->host_env; env && *env && r == KODA_OK; env++)
		r = koda_strv_add(&sandbox->host_env, *env, err);
	for (const char *const *at = options->opaque; at && *at && r == KODA_OK; at++)
		r = koda_strv_add(&sandbox->way.except, *at, err);
	if (r == KODA_OK)
		r = koda_terms_check(&sandbox->way.except, err);
	if (r == KODA_OK)
		r = check_root(sandbox, err);
	if (r == KODA_OK)
		r = choose_backend(sandbox, options, err);
	if (r == KODA_OK)
		r = koda_survey(sandbox, err);
	if (r == KODA_OK)
		r = koda_cgroup_find(KODA_CGROUP_MOUNT, KODA_CGROUP_SELF, &sandbox->cgroup, err);
	if (r < 0) {
		koda_remedy_add(err);
		koda_sandbox_close(sandbox);
		return r;
	}
	*ret_sandbox = sandbox;
	return KODA_OK;
}

int koda_sandbox_open(const struct koda_sandbox_options *options, struct koda_sandbox **ret_sandbox,
		      struct koda_error *err)
{
	struct koda_sandbox_parts parts = { .spare = KODA_LAUNCHER_INIT };
	struct koda_sandbox_options known;
	int r = koda_sized_take(&known, sizeof(known), OPTIONS_LEAST, options,
				"koda_sandbox_options", err);

	if (r < 0)
		return r;
	r = koda_site_load(&parts.site, known.root, known.host_env, err);
	if (r == KODA_OK)
		r = load_policy(&parts, &known, err);
	if (r == KODA_OK)
		return koda_sandbox_assemble(&known, &parts, ret_sandbox, err);
	koda_site_clear(&parts.site);
	koda_policy_free(parts.policy);
	return r;
}

void koda_sandbox_close(struct koda_sandbox *sandbox)
{
	if (!sandbox)
		return;
	koda_launcher_clear(&sandbox->spare);
	koda_way_clear(&sandbox->way);
	koda_site_clear(&sandbox->site);
	koda_policy_free(sandbox->policy);
	koda_rules_free(sandbox->rules);
	koda_strv_clear(&sandbox->host_env);
	koda_strv_clear(&sandbox->sockets);
	free(sandbox->cgroup);
	free(sandbox);
}

const struct koda_policy *koda_sandbox_policy(const struct koda_sandbox *sandbox)
{
	return sandbox->policy;
}

/* Whether connections go through the proxy at all; that cannot change later. */
static int check_way_out(const struct koda_sandbox *sandbox, struct koda_error *err)
{
	return koda_sandbox_has_way_out(sandbox)
		       ? KODA_OK
		       : koda_fail(err, KODA_E_INVALID, 0,
				   "the sandbox was opened without network");
}

int koda_sandbox_set_network(struct koda_sandbox *sandbox, const struct koda_policy *policy,
			     struct koda_error *err)
{
	int r = check_way_out(sandbox, err);

	return r < 0 ? r : koda_way_set_rules(&sandbox->way, policy, err);
}

int koda_sandbox_answer(struct koda_sandbox *sandbox, uint64_t question, bool allow,
			struct koda_error *err)
{
	int r = check_way_out(sandbox, err);

	return r < 0 ? r : koda_way_answer(&sandbox->way, question, allow, err);
}

/* What to execute, then its argv. */
static int command_line(const struct koda_command_options *options, struct koda_strv *line,
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
	r = koda_strv_add(line, options->argv[0], err);
	for (const char *const *arg = options->argv; *arg && r == KODA_OK; arg++)
		r = koda_strv_add(line, *arg, err);
	return r;
}

int koda_sandbox_make_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			   struct koda_plan *plan, struct koda_error *err)
{
	koda_auto_strv struct koda_strv line = KODA_STRV_INIT;
	koda_auto_buf struct koda_buf trusted = KODA_BUF_INIT(KODA_AUTHORITY_MAX);
	koda_auto_free char *caches = NULL;
	koda_auto_free char *scratch = NULL;
	struct koda_place place = koda_site_place(&sandbox->site);
	struct koda_env_request env_request = {
		.host = (const char *const *)sandbox->host_env.items,
		.command = options->shell  ? options->shell
			   : options->argv ? options->argv[0]
					   : NULL,
		.cwd = options->cwd ? options->cwd : sandbox->site.root,
		.network = koda_sandbox_has_way_out(sandbox),
		.ca_bundle = koda_policy_ca_bundle(sandbox->policy).ptr != NULL,
	};
	struct koda_terminal_state terminal;
	struct koda_handed handed = { .count = 0 };
	char **env = NULL;
	int r = command_line(options, &line, err);

	if (r == KODA_OK)
		r = koda_handout_numbers(options, &handed, err);

	if (options->terminal)
		koda_terminal_describe(options->stdio, &terminal);
	if (r == KODA_OK)
		r = koda_site_cache_store(&sandbox->site, &caches, err);
	if (r == KODA_OK && sandbox->backend == &koda_backend_landlock)
		r = koda_scratch_name(&scratch, err);
	env_request.scratch = scratch;
	if (r == KODA_OK)
		r = koda_env_build(&env_request, &env, err);
	if (r == KODA_OK && env_request.network && env_request.ca_bundle)
		r = koda_authority_bundle(sandbox->policy, &trusted, err);
	if (r == KODA_OK) {
		const struct koda_plan_request request = {
			.policy = sandbox->policy,
			.rules = sandbox->rules,
			.place = &place,
			.world = &koda_world_here,
			.trust = sandbox->trust,
			.max_processes = options->max_processes,
			.max_memory = koda_trust_memory(),
			.as_root = geteuid() == 0,
			.terminal = options->terminal ? &terminal : NULL,
			.sockets = (const char *const *)sandbox->sockets.items,
			.caches = caches,
			.cgroup = sandbox->cgroup,
			.authorities = koda_buf_span(&trusted),
			.scratch = scratch,
			.cwd = env_request.cwd,
			.argv = (const char *const *)line.items,
			.env = (const char *const *)env,
			.handed = &handed,
		};

		r = koda_plan_make(plan, &request, err);
	}
	koda_env_free(env);
	return r;
}

/* Makes the plan and renders it. */
static int show_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		     int (*render)(const struct koda_plan *plan, struct koda_buf *out,
				   struct koda_error *err),
		     char **ret_text, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)64 << 20);
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_command_options known;
	int r = koda_command_options_take(&known, options, err);

	if (r == KODA_OK)
		r = koda_survey_for_plan(sandbox, err);
	if (r == KODA_OK)
		r = koda_sandbox_make_plan(sandbox, &known, &plan, err);
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
