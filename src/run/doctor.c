/* SPDX-License-Identifier: MIT */
/*
 * Finds out what this machine can enforce. Whether a backend works is known by running `true` in
 * it. The facts about the machine then say how well it works, or why it does not.
 */
#include <koda/doctor.h>

#include "base/error.h"
#include "base/sized.h"
#include "policy/policy.h"
#include "run/backend/findings.h"
#include "run/backend/surroundings.h"
#include "run/fallback.h"

#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROBE_SECS 10

static const struct koda_finding not_started = {
	KODA_ENFORCEMENT_REFUSED, "the sandbox cannot be started, and the reason is unknown", ""
};
static const struct koda_finding not_built = { KODA_ENFORCEMENT_REFUSED, "not in this release",
					       "" };

/* Keeps copies of caches from being made for the temporary project. */
static int deny_caches(const char *dir, const char *const *host_env, struct koda_policy *policy,
		       struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;
	int r = koda_site_load(&site, dir, host_env, err);

	for (size_t i = 0; i < site.caches.len && r == KODA_OK; i++)
		r = koda_policy_add(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, site.caches.items[i],
				    strlen(site.caches.items[i]), err);
	koda_site_clear(&site);
	return r;
}

/* Opens a sandbox with the policy of trust mode auto that accepts every missing clause: the
 * question is whether the backend works at all, not whether auto would run. */
static int open_probe(enum koda_backend_kind kind, const char *dir, const char *const *host_env,
		      struct koda_sandbox **ret_sandbox, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	enum koda_clause accept[KODA_CLAUSE_COUNT];
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_SAFE,
						.root = dir,
						.host_env = host_env,
						.accept = accept,
						.accept_count = KODA_CLAUSE_COUNT,
						.backend = kind };
	int r = koda_policy_for_trust(KODA_TRUST_AUTO, dir, &policy, err);

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		accept[i] = (enum koda_clause)i;
	if (r == KODA_OK)
		r = koda_policy_set_limit(policy, KODA_LIMIT_WALL_TIME, PROBE_SECS, err);
	if (r == KODA_OK)
		r = deny_caches(dir, host_env, policy, err);
	options.policy = policy;
	return r < 0 ? r : koda_sandbox_open(&options, ret_sandbox, err);
}

static int run_probe(struct koda_sandbox *sandbox, bool *ret_open_view, struct koda_error *err)
{
	const struct koda_command_options options = { .size = sizeof(options), .shell = "true" };
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	int r = koda_sandbox_start(sandbox, &options, &command, err);

	if (r == KODA_OK)
		r = koda_command_wait(command, &outcome, err);
	if (command)
		*ret_open_view = command->open_view;
	koda_command_free(command);
	return r < 0 ? r : koda_fallback_learn(&outcome, err);
}

static int make_directory(char *dir, size_t size, struct koda_error *err)
{
	static const char *const templates[] = { "/tmp/koda-doctor.XXXXXX",
						 "/var/tmp/koda-doctor.XXXXXX" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(templates); i++) {
		memcpy(dir, templates[i], strnlen(templates[i], size - 1) + 1);
		if (mkdtemp(dir))
			return KODA_OK;
	}
	return koda_fail_at(err, KODA_E_SYS, errno, "/tmp", "cannot make a directory to try it in");
}

static int diagnose(enum koda_backend_kind kind, const char *const *host_env,
		    struct koda_backend_state *state, struct koda_error *err)
{
	const struct koda_backend *backend = koda_backend_of(kind);
	struct koda_sandbox *sandbox = NULL;
	struct koda_machine machine;
	bool open_view = false;
	char dir[64];
	int r;

	state->name = koda_backend_name(kind);
	if (!backend) {
		(void)koda_fail(&state->error, KODA_E_UNSUPPORTED, 0, "%s", not_built.reason);
		koda_findings_all(&state->findings, not_built);
		return KODA_OK;
	}
	r = make_directory(dir, sizeof(dir), err);
	if (r < 0)
		return r;
	r = open_probe(kind, dir, host_env, &sandbox, &state->error);
	if (r == KODA_OK)
		r = run_probe(sandbox, &open_view, &state->error);
	koda_sandbox_close(sandbox);
	(void)rmdir(dir);
	state->usable = r == KODA_OK;
	if (state->usable) {
		koda_machine_probe_quick(&machine);
		machine.overlay = koda_machine_has_overlay();
		machine.cgroup = koda_machine_has_cgroup();
		machine.open_views = open_view;
	} else {
		koda_machine_probe_full(&machine);
	}
	if (backend->judge(&machine, &state->findings) && !state->usable)
		koda_findings_all(&state->findings, not_started);
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}

/* Tells about the container, if there is one, and about restrictions that a service or a wrapper
 * has put on this process. */
static void look_around(const char *const *host_env, struct koda_diagnosis *diagnosis)
{
	bool native_works = diagnosis->backends[0].usable; /* KODA_BACKEND_NATIVE is tried first */
	struct koda_surroundings surroundings;
	struct koda_machine machine;

	koda_surroundings_look("", host_env, &surroundings);
	koda_machine_probe_full(&machine);
	koda_surroundings_judge(&surroundings, native_works, &machine, diagnosis);
}

int koda_diagnose(const char *const *host_env, struct koda_diagnosis *ret_diagnosis,
		  struct koda_error *err)
{
	struct koda_diagnosis d = { .count = 0 };
	struct utsname names;
	int r = koda_sized_check(ret_diagnosis, sizeof(d), "koda_diagnosis", err);

	if (uname(&names) == 0)
		memcpy(d.kernel, names.release, sizeof(d.kernel));
	for (int kind = KODA_BACKEND_NATIVE; kind < KODA_BACKEND_COUNT && r == KODA_OK; kind++)
		r = diagnose((enum koda_backend_kind)kind, host_env, &d.backends[d.count++], err);
	if (r < 0)
		return r;
	look_around(host_env, &d);
	koda_sized_give(ret_diagnosis, &d, sizeof(d));
	return r;
}

bool koda_diagnosis_is_sound(const struct koda_diagnosis *diagnosis)
{
	size_t at = 0;
	bool sound = true;

	while (at < diagnosis->count && !diagnosis->backends[at].usable)
		at++;
	for (int i = 0; i < KODA_CLAUSE_COUNT && at < diagnosis->count; i++)
		sound = sound && (!koda_clause_contains((enum koda_clause)i) ||
				  diagnosis->backends[at].findings.clause[i].enforcement ==
					  KODA_ENFORCEMENT_ENFORCED);
	return sound && at < diagnosis->count;
}
