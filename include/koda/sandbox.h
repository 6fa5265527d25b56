/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes. A sandbox joins a policy to a project. It is opened once, and any number of commands
 * are started in it, each in namespaces of its own:
 *
 *	koda_sandbox_open -> koda_sandbox_start (<koda/command.h>) -> koda_sandbox_close
 *
 * One thread at a time may use a sandbox, except for the functions that say otherwise; a second
 * thread gets KODA_E_INVALID. All sandboxes of a process share one proxy, each with its own rules.
 */
#ifndef KODA_SANDBOX_H
#define KODA_SANDBOX_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/policy.h>
#include <koda/project.h>
#include <koda/trust.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_sandbox;
struct koda_prestart;

/* Ways to make a sandbox, best first. */
enum koda_backend_kind {
	KODA_BACKEND_AUTO = 0, /* the first that works here and holds what the policy asks for */
	KODA_BACKEND_NATIVE,   /* namespaces that koda-sandbox-stage2 makes */
	KODA_BACKEND_BWRAP,    /* namespaces that bubblewrap makes */
	KODA_BACKEND_LANDLOCK, /* no namespaces */
	KODA_BACKEND_COUNT
};

/* Returns "auto", "native" and so on; never NULL. */
KODA_API const char *koda_backend_name(enum koda_backend_kind kind);
/* Reads such a name. Fails: INVALID. */
KODA_API KODA_CHECK int koda_backend_parse(const char *text, enum koda_backend_kind *ret_kind,
					   struct koda_error *err);

/* A command wants to connect to a host that no rule allows or denies. */
struct koda_question {
	uint64_t id;      /* for koda_sandbox_reply */
	const char *host; /* name in its canonical form, or address */
	uint16_t port;
	const char *command;    /* its text */
	const char *command_id; /* as in struct koda_event */
	void *user;             /* as in struct koda_event */
};

/* Called like koda_event_fn, and must return at once. The reply may come later, within a minute, by
 * koda_sandbox_reply. Everything in question is borrowed for the call. */
typedef void koda_question_fn(void *ctx, const struct koda_question *question);

/* Starts the launcher of a backend while the host still finds out what it is to run; the first
 * command of the sandbox then starts sooner. AUTO starts the native launcher. *ret_prestart is NULL
 * for a backend that has nothing to start early. Nothing of a command runs before
 * koda_sandbox_start, and a launcher that is not used is ended by koda_prestart_free. Fails: SYS,
 * LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_prestart(enum koda_backend_kind backend,
				      struct koda_prestart **ret_prestart, struct koda_error *err);
/* Ends the launcher, unless a sandbox has taken it. NULL is fine. */
KODA_API void koda_prestart_free(struct koda_prestart *prestart);

/* All structs whose first member is size may grow in later releases. The caller sets it to sizeof:
 * members beyond the size of a smaller struct count as zero, and members of a larger one that this
 * library does not know must be zero. */
struct koda_sandbox_options {
	size_t size; /* sizeof(struct koda_sandbox_options) */
	enum koda_trust trust;
	const char *root;                 /* project; NULL: the working directory */
	const struct koda_policy *policy; /* NULL: what trust gives for root. Copied. */
	const char *const *host_env;      /* NULL-terminated NAME=VALUE, usually environ. Copied. */
	koda_event_fn *on_event;          /* may be NULL */
	void *event_ctx;
	const enum koda_clause *accept; /* clauses that a person does without; not with auto */
	size_t accept_count;
	enum koda_backend_kind backend;
	const char *const *tls_passthrough; /* NULL, or NULL-terminated: patterns of hosts whose TLS
					     * is not terminated although the policy has net.mitm,
					     * for clients that trust one certificate only. SNI is
					     * checked all the same. Copied. */
	koda_question_fn *on_question;      /* NULL: a host that no rule allows is refused */
	void *question_ctx;
	bool no_sandbox;                /* only a clean environment and rlimits; not with auto */
	struct koda_project *project;   /* NULL, or it stands for root, policy and host_env, which
					 * are NULL then. The sandbox gets a copy of its policy, and
					 * the project can be used again, also after a failure. */
	struct koda_prestart *prestart; /* NULL, or a launcher for the first command. It moves into
					 * the sandbox; the caller frees it all the same. */
};

/* Resolves the policy's paths, looks for repositories below the root and compiles the rules. Fails:
 * DENIED for a refused root or an option that auto does not permit, POLICY, INVALID, UNSUPPORTED
 * for options of a later release, SYS, NOMEM. */
KODA_API KODA_CHECK int koda_sandbox_open(const struct koda_sandbox_options *options,
					  struct koda_sandbox **ret_sandbox,
					  struct koda_error *err);
/* Closes the sandbox. Commands of it that were not freed yet go on, and keep what they need of it.
 * NULL is fine. */
KODA_API void koda_sandbox_close(struct koda_sandbox *sandbox);
/* Tells how each clause of the policy is enforced. */
KODA_API void koda_sandbox_findings(const struct koda_sandbox *sandbox,
				    struct koda_findings *ret_findings);
/* Returns the policy that applies, borrowed; its network rules are those of the opening. */
KODA_API const struct koda_policy *koda_sandbox_policy(const struct koda_sandbox *sandbox);

/* Replaces the network rules of the sandbox, also for commands that run, by those of policy; the
 * rest of policy is ignored. Once this returns, new connections are decided by the new rules, and
 * connections that they refuse have been closed. The rules may become wider as well as narrower:
 * only the host can call this. Any thread may, at any time, also from koda_event_fn and
 * koda_question_fn. Fails: INVALID if the sandbox was opened without network, or if net.mitm comes
 * or goes, SYS, NOMEM; the old rules then stay in force. */
KODA_API KODA_CHECK int koda_sandbox_set_network(struct koda_sandbox *sandbox,
						 const struct koda_policy *policy,
						 struct koda_error *err);
/* Replies to a question. Yes is only for the connections that wait for it; deny rules and the guard
 * of addresses that are not public still apply. Any thread may call this, at any time. Fails:
 * INVALID (there was a reply, a minute has passed, or the connection is gone), SYS. */
KODA_API KODA_CHECK int koda_sandbox_reply(struct koda_sandbox *sandbox, uint64_t question,
					   bool allow, struct koda_error *err);

/* Returns the system-call filter that every command gets, as text that people read. */
KODA_API const char *koda_filter_listing(void);

#ifdef __cplusplus
}
#endif

#endif
