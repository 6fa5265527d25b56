/* SPDX-License-Identifier: MIT */
/* The sandbox and the command as structs, shared by the files that own parts of their life. */
#ifndef KODA_RUN_SANDBOX_H
#define KODA_RUN_SANDBOX_H

#include "base/proc.h"
#include "plan/plan.h"
#include "run/admit.h"
#include "run/backend.h"
#include "run/egress.h"
#include "run/grants.h"
#include "run/relay.h"
#include "run/site.h"
#include "run/terminal.h"
#include "run/violation.h"
#include "run/way.h"

#include <koda/event.h>
#include <koda/run.h>
#include <stdatomic.h>

struct koda_sandbox {
	struct koda_site site;
	struct koda_policy *policy; /* owned; links in its paths resolved */
	struct koda_rules *rules;   /* owned */
	struct koda_strv host_env;
	struct koda_strv sockets;
	bool sockets_unsure; /* there may be more of them than were found */
	bool surveyed;       /* for a plan that was made: the next one needs another look */
	char *cgroup;        /* owned; where a control group can be made, or NULL */
	enum koda_trust trust;
	enum koda_backend_kind wanted;
	const struct koda_backend *backend; /* that commands are started with */
	bool proven;                        /* it works on this machine */
	bool open_view;                     /* and its view could not be locked */
	atomic_bool in_doubt; /* a command found that it does not; any thread says so */
	koda_clauses accepted;
	struct koda_way way;        /* used if there is a way out */
	struct koda_launcher spare; /* waits for the next command's plan, if it has a backend */
	koda_event_fn *on_event;    /* may be NULL */
	void *event_ctx;
	koda_question_fn *on_question; /* may be NULL */
	void *question_ctx;
};

struct koda_command {
	struct koda_sandbox *sandbox; /* borrowed */
	koda_clauses unneeded;        /* clauses that its plan has no need of */
	bool open_view;               /* the launcher could not lock the view */
	struct koda_launcher launcher;
	int stdio[3]; /* the caller's, borrowed */
	struct koda_relay input;
	struct koda_relay output[2]; /* stdout, stderr */
	struct koda_terminal terminal;
	uint64_t started_ns;
	uint64_t deadline_ns;
	uint64_t ceilings[KODA_CEILING_COUNT]; /* UINT64_MAX: none */
	unsigned int limits;                   /* reached so far, as in struct koda_outcome */
	bool way_out;                          /* the policy allows some network */
	struct koda_member *member;            /* owned; NULL: no way out, or not yet */
	struct koda_rules *rules;              /* shared with the sandbox */
	struct koda_violations violations;
	struct koda_reader reader; /* of the command's error stream */
	struct koda_grants grants; /* that its messages are held against; none with a view */
	char *text;                /* owned; the command as events show it */
	char *cwd;                 /* owned */
	koda_event_fn *on_event;   /* may be NULL */
	void *event_ctx;
};

/* Opens a sandbox from what the caller has found out already; site, policy (paths resolved) and
 * spare are taken over, also on failure, and left empty. */
struct koda_sandbox_parts {
	struct koda_site site;
	struct koda_policy *policy;
	struct koda_launcher spare;
};

KODA_CHECK int koda_sandbox_assemble(const struct koda_sandbox_options *options,
				     struct koda_sandbox_parts *parts,
				     struct koda_sandbox **ret_sandbox, struct koda_error *err);

/* The command's listener is there (taken): what connects to it meets the rules of the sandbox.
 * token: what connections begin with, where others could connect too; "": nothing. Fails: SYS,
 * NOMEM. */
KODA_CHECK int koda_command_adopt(struct koda_command *command, int listener, const char *token,
				  struct koda_error *err);

/* Notes a denial, and tells the host if it is new. */
void koda_command_note(void *command, const struct koda_noted *noted);

/* Tells the host, if it wants to know; fills in the time. */
void koda_command_tell(const struct koda_command *command, struct koda_event event);

/* Whether anything may run in it on this machine. A launcher that starts proves most of what is
 * needed, so only the rest is looked at. Fails: UNSUPPORTED, INVALID. */
KODA_CHECK int koda_sandbox_admit(const struct koda_sandbox *sandbox, const struct koda_plan *plan,
				  struct koda_error *err);

/* The caller's options as this release knows them. Fails: INVALID, UNSUPPORTED. */
KODA_CHECK int koda_command_options_take(struct koda_command_options *known,
					 const struct koda_command_options *given,
					 struct koda_error *err);

/* Starts a command with the sandbox's backend as it is now, and does not wait for anything. */
KODA_CHECK int koda_command_launch(struct koda_sandbox *sandbox,
				   const struct koda_command_options *options,
				   struct koda_command **ret_command, struct koda_error *err);
/* The same, and waits for the launcher's first word where koda_ladder_awaits says so. What
 * something that changed meanwhile has broken is tried again. 1 as koda_ladder_await gives it. */
KODA_CHECK int koda_command_settle(struct koda_sandbox *sandbox,
				   const struct koda_command_options *options,
				   struct koda_command **ret_command, struct koda_error *err);

/* The ladder (ladder.c). Is the launcher's first word worth waiting for? */
bool koda_ladder_awaits(const struct koda_sandbox *sandbox);
/* Waits for it. 1 if this machine is not fit for the first rung and nobody chose it; SYS if
 * something changed meanwhile. In both cases nothing ran and the command is freed. */
KODA_CHECK int koda_ladder_await(struct koda_command **command, struct koda_error *err);
/* A command that does nothing has ended: does the sandbox work? Fails: as its launcher did, CHILD.
 */
KODA_CHECK int koda_ladder_learn(const struct koda_outcome *outcome, struct koda_error *err);
/* What worked does not any more: the next command begins at the top. NULL is fine. */
void koda_ladder_forget(struct koda_sandbox *sandbox);
/* Chooses the next backend that works here and is good enough, by running the command's plan with a
 * program that does nothing. why: what keeps the first from working. Fails: UNSUPPORTED, and the
 * sandbox's backend is the first again. */
KODA_CHECK int koda_ladder_descend(struct koda_sandbox *sandbox,
				   const struct koda_command_options *options,
				   const struct koda_error *why, struct koda_error *err);

/* Do its commands get a proxy? */
static inline bool koda_sandbox_has_way_out(const struct koda_sandbox *sandbox)
{
	return sandbox->backend != &koda_backend_none && koda_policy_has_network(sandbox->policy);
}

/* The plan for a command in this sandbox, as it is now. */
KODA_CHECK int koda_sandbox_make_plan(struct koda_sandbox *sandbox,
				      const struct koda_command_options *options,
				      struct koda_plan *plan, struct koda_error *err);

#endif
