/* SPDX-License-Identifier: MIT */
/*
 * The sandbox as a struct, shared by the files of this folder. A sandbox is what all its commands
 * have in common: policy, project, backend and network rules. A plan for each command is made from
 * it.
 */
#ifndef KODA_RUN_SANDBOX_H
#define KODA_RUN_SANDBOX_H

#include "plan/plan.h"
#include "run/backend/admit.h"
#include "run/backend/backend.h"
#include "run/project/site.h"
#include "run/proxy/net_rules.h"

#include <koda/command.h>
#include <koda/event.h>
#include <stdatomic.h>

struct koda_sandbox {
	atomic_uint references; /* the caller's, and one of each command */
	atomic_uint in_use;     /* as in_use.h says */
	struct koda_site site;
	struct koda_policy *policy; /* owned; links in its paths are resolved */
	struct koda_rules *rules;   /* owned */
	struct koda_strv host_env;
	struct koda_strv sockets; /* sockets of the host, which the view hides */
	bool sockets_unsure;      /* the host may have sockets that were not found */
	uint64_t surveyed_ns;     /* when the survey of koda_sandbox_open ended */
	bool surveyed;            /* the survey was used for a plan; the next plan needs another */
	uint64_t survey_ns;       /* time that surveys took, which counts towards the wall time */
	char *cgroup;             /* owned; a directory where a cgroup can be made, or NULL */
	enum koda_trust trust;
	enum koda_backend_kind wanted;
	const struct koda_backend *backend; /* starts the commands */
	bool backend_verified;              /* the backend has worked on this machine */
	bool open_view; /* the launcher could not lock the view (KODA_REPORT_READY_OPEN) */
	atomic_bool backend_suspect;     /* a launch has failed since it was verified; set from any
					    thread */
	koda_clauses accepted;           /* clauses that need not be enforced */
	struct koda_net_rules net;       /* used if koda_sandbox_has_network() */
	struct koda_launcher prestarted; /* waits for the next plan; no backend: none */
	const char *helper; /* the program of koda_sandbox_start_helper while that runs, or NULL */
	koda_event_fn *on_event; /* may be NULL */
	void *event_ctx;
	koda_question_fn *on_question; /* may be NULL */
	void *question_ctx;
};

/* Returns another reference, which koda_sandbox_close drops. */
struct koda_sandbox *koda_sandbox_share(struct koda_sandbox *sandbox);

/* Fails if the backend does not enforce what the policy asks for on this machine. A launcher that
 * starts proves most of it, so only the rest is examined. unneeded: clauses that the plan does not
 * depend on. Fails: UNSUPPORTED, INVALID. */
KODA_CHECK int koda_sandbox_admit(const struct koda_sandbox *sandbox, const struct koda_plan *plan,
				  koda_clauses unneeded, struct koda_error *err);

/* Makes the plan of a command, with the backend that the sandbox has now. */
KODA_CHECK int koda_sandbox_make_plan(struct koda_sandbox *sandbox,
				      const struct koda_command_options *options,
				      struct koda_plan *plan, struct koda_error *err);

/* Starts a program of koda-sandbox like a command. program is what is executed, and argv[0] only
 * its name. It has no wall time, and no environment but options->env. Fails: as koda_sandbox_start.
 */
KODA_CHECK int koda_sandbox_start_helper(struct koda_sandbox *sandbox, const char *program,
					 const struct koda_command_options *options,
					 struct koda_command **ret_command, struct koda_error *err);

/* Tells whether commands get a listener that the egress proxy serves. */
static inline bool koda_sandbox_has_network(const struct koda_sandbox *sandbox)
{
	return sandbox->backend->is_sandbox && koda_policy_has_network(sandbox->policy);
}

/* Returns how events name the treatment of TLS under net.mitm; NULL without net.mitm. */
static inline const char *koda_sandbox_tls(const struct koda_sandbox *sandbox)
{
	if (!koda_policy_ca_bundle(sandbox->policy).ptr)
		return NULL;
	return sandbox->net.all_passthrough ? "opaque" : "terminated";
}

#endif
