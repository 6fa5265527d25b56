/* SPDX-License-Identifier: MIT */
/* Opens a sandbox and judges its backend. */
#include "run/sandbox.h"

#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "policy/policy.h"
#include "run/backend/cgroup.h"
#include "run/backend/findings.h"
#include "run/command.h"
#include "run/prestart.h"
#include "run/project.h"
#include "run/project/ca_bundle.h"
#include "run/project/policy_links.h"
#include "run/project/remedy.h"
#include "run/survey.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The size of the struct in the first release. */
#define OPTIONS_LEAST                                                                              \
	(offsetof(struct koda_sandbox_options, no_sandbox) +                                       \
	 sizeof(((struct koda_sandbox_options *)NULL)->no_sandbox))

/* Loads the project of options that name none, and the policy of a project that has none. */
static int load_project(struct koda_project *project, const struct koda_sandbox_options *options,
			struct koda_error *err)
{
	struct koda_policy *policy = NULL;
	int r = KODA_OK;

	if (project != options->project)
		r = koda_project_load(project, options->root, options->host_env, err);
	if (r < 0 || project->policy)
		return r;
	if (options->policy)
		return koda_project_set_policy(project, options->policy, err);
	r = koda_policy_for_trust(options->trust, project->site.root, &policy, err);
	return r < 0 ? r : koda_project_adopt_policy(project, policy, err);
}

/* Refuses options that a project answers already. */
static int check_project(const struct koda_sandbox_options *options, struct koda_error *err)
{
	if (!options->project)
		return KODA_OK;
	if (options->root || options->policy || options->host_env)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "project and %s exclude each other: a project has its own",
				 options->root     ? "root"
				 : options->policy ? "policy"
						   : "host_env");
	return KODA_OK;
}

/* A policy may name a root that does not exist yet, but a command needs a working directory. */
static int check_root(const struct koda_sandbox *sandbox, struct koda_error *err)
{
	struct stat st;
	int r = KODA_OK;

	if (stat(sandbox->site.root, &st) < 0) {
		r = koda_fail_at(err, KODA_E_SYS, errno, sandbox->site.root,
				 "the project root cannot be used");
		koda_remedy_add_for(err, KODA_FAILURE_ROOT);
	} else if (!S_ISDIR(st.st_mode)) {
		r = koda_fail_at(err, KODA_E_INVALID, 0, sandbox->site.root,
				 "the project root is not a directory");
		koda_remedy_add_for(err, KODA_FAILURE_ROOT_KIND);
	}
	return r;
}

static int choose_backend(struct koda_sandbox *sandbox, const struct koda_sandbox_options *options,
			  struct koda_error *err)
{
	enum koda_backend_kind first =
		options->backend == KODA_BACKEND_AUTO ? KODA_BACKEND_NATIVE : options->backend;

	sandbox->wanted = options->backend;
	sandbox->backend =
		options->no_sandbox ? koda_backend_unsandboxed() : koda_backend_of(first);
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

/* Refuses clauses that the backend enforces in general, but not on this site. T-17: a socket that
 * was not found cannot be hidden; with brokered connect() it need not be. T-88: without a view,
 * Landlock cannot hide a file by one name and open it by another. */
static void refuse_by_site(const struct koda_sandbox *sandbox, struct koda_findings *findings)
{
	if (sandbox->sockets_unsure && !sandbox->backend->brokered_connect)
		findings->clause[KODA_CLAUSE_SOCKETS] = koda_finding_refused(
			"a socket of the host is not where it was bound, and there are too many "
			"files to look for it",
			"end the programs whose sockets were moved or removed (ss -xap lists "
			"them)");
	if (sandbox->site.has_open_alias && !sandbox->backend->has_view)
		findings->clause[KODA_CLAUSE_HIDDEN_READS] = koda_finding_refused(
			"something hidden is mounted elsewhere, too, where the project or a part "
			"that the policy opens is, and without a view of its own both are one",
			"use --backend native, which needs user namespaces");
}

int koda_sandbox_admit(const struct koda_sandbox *sandbox, const struct koda_plan *plan,
		       koda_clauses unneeded, struct koda_error *err)
{
	struct koda_machine machine;
	struct koda_findings findings;
	int r;

	if (!sandbox->backend->is_sandbox)
		return KODA_OK; /* the caller has asked for no sandbox by name */
	koda_machine_probe_quick(&machine);
	if (!sandbox->backend->judge(&machine, &findings))
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "the sandbox cannot be set up, nothing ran: %s; %s",
				 findings.clause[0].reason, findings.clause[0].remedy);
	koda_admit_relax(sandbox->policy, &findings);
	refuse_by_site(sandbox, &findings);
	koda_admit_forgo(unneeded, &findings);
	r = koda_admit(sandbox->trust, &findings, sandbox->accepted, err);
	if (r < 0)
		koda_admit_name_link(plan, sandbox->site.root, err);
	return r;
}

void koda_sandbox_findings(const struct koda_sandbox *sandbox, struct koda_findings *ret_findings)
{
	struct koda_machine machine;

	memset(ret_findings, 0, sizeof(*ret_findings));
	koda_machine_probe_quick(&machine);
	machine.overlay = koda_machine_has_overlay();
	machine.cgroup = koda_machine_has_cgroup();
	(void)sandbox->backend->judge(&machine, ret_findings);
	if (!sandbox->backend->is_sandbox)
		return;
	koda_admit_relax(sandbox->policy, ret_findings);
	refuse_by_site(sandbox, ret_findings);
}

/* Opens a sandbox with the site and policy of project and the launcher of options->prestart. */
static int assemble(const struct koda_sandbox_options *options, struct koda_project *project,
		    struct koda_sandbox **ret_sandbox, struct koda_error *err)
{
	struct koda_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int r = KODA_OK;

	if (!sandbox)
		return koda_fail_nomem(err);
	atomic_init(&sandbox->references, 1);
	r = koda_project_take(project, &sandbox->site, &sandbox->policy, err);
	if (r < 0) {
		free(sandbox);
		return r;
	}
	sandbox->prestarted = koda_prestart_take(options->prestart);
	sandbox->trust = options->trust;
	sandbox->on_event = options->on_event;
	sandbox->event_ctx = options->event_ctx;
	sandbox->on_question = options->on_question;
	sandbox->question_ctx = options->question_ctx;
	koda_net_rules_init(&sandbox->net, sandbox->policy, options->on_question != NULL);
	for (size_t i = 0; i < project->host_env.len && r == KODA_OK; i++)
		r = koda_strv_add(&sandbox->host_env, project->host_env.items[i], err);
	for (const char *const *at = options->tls_passthrough; at && *at && r == KODA_OK; at++)
		r = koda_strv_add(&sandbox->net.tls_passthrough, *at, err);
	if (r == KODA_OK)
		r = koda_policy_blob_check(&sandbox->net.tls_passthrough, err);
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
	struct koda_project own = KODA_PROJECT_INIT;
	struct koda_sandbox_options known;
	struct koda_project *project;
	int r = koda_sized_take(&known, sizeof(known), OPTIONS_LEAST, options,
				"koda_sandbox_options", err);

	if (r == KODA_OK)
		r = check_project(&known, err);
	if (r < 0)
		return r;
	project = known.project ? known.project : &own;
	r = load_project(project, &known, err);
	if (r == KODA_OK)
		r = assemble(&known, project, ret_sandbox, err);
	koda_project_clear(&own);
	return r;
}

struct koda_sandbox *koda_sandbox_share(struct koda_sandbox *sandbox)
{
	(void)atomic_fetch_add(&sandbox->references, 1);
	return sandbox;
}

void koda_sandbox_close(struct koda_sandbox *sandbox)
{
	if (!sandbox || atomic_fetch_sub(&sandbox->references, 1) > 1)
		return;
	koda_launcher_clear(&sandbox->prestarted);
	koda_net_rules_clear(&sandbox->net);
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

/* Fails if the sandbox was opened without a proxy, which cannot change later. */
static int check_network(const struct koda_sandbox *sandbox, struct koda_error *err)
{
	return koda_sandbox_has_network(sandbox)
		       ? KODA_OK
		       : koda_fail(err, KODA_E_INVALID, 0,
				   "the sandbox was opened without network");
}

int koda_sandbox_set_network(struct koda_sandbox *sandbox, const struct koda_policy *policy,
			     struct koda_error *err)
{
	int r = check_network(sandbox, err);

	return r < 0 ? r : koda_net_rules_set_rules(&sandbox->net, policy, err);
}

int koda_sandbox_reply(struct koda_sandbox *sandbox, uint64_t question, bool allow,
		       struct koda_error *err)
{
	int r = check_network(sandbox, err);

	return r < 0 ? r : koda_net_rules_answer(&sandbox->net, question, allow, err);
}
