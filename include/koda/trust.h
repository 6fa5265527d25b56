/* SPDX-License-Identifier: MIT */
/*
 * How far a person trusts the agent. Each of three modes stands for a row of built-in settings;
 * there is nothing else to configure.
 */
#ifndef KODA_TRUST_H
#define KODA_TRUST_H

#include <koda/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_policy;

/* Ordered: a smaller value trusts less. */
enum koda_trust {
	KODA_TRUST_PLAN = 0, /* look, do not touch */
	KODA_TRUST_SAFE,     /* act after asking */
	KODA_TRUST_AUTO      /* act */
};

/* What an action does to the world; the host classifies its tools. */
enum koda_effect {
	KODA_EFFECT_DESTRUCTIVE = 0, /* loses data or cannot be taken back */
	KODA_EFFECT_REMOTE_ACTION,   /* changes something elsewhere */
	KODA_EFFECT_LOCAL_MUTATION,  /* changes files or processes here */
	KODA_EFFECT_READ_ONLY
};

/* Circumstances, or-ed together. KODA_ACT_SUBAGENT is 1, so a bool will do for it. */
enum koda_act {
	KODA_ACT_SUBAGENT = 1 << 0,    /* no person can answer */
	KODA_ACT_UNSANDBOXED = 1 << 1, /* runs without a kernel sandbox */
	KODA_ACT_OUTSIDE = 1 << 2,     /* writes outside the project */
	KODA_ACT_OWN_FILE = 1 << 3     /* removes a file that the agent itself created */
};

enum koda_decision {
	KODA_DECIDE_DENY = 0,
	KODA_DECIDE_CONFIRM,
	KODA_DECIDE_ALLOW
};

/* Settings of a mode that the policy schema has no field for. */
struct koda_trust_limits {
	uint64_t max_processes;
	uint64_t max_file_bytes;
	uint64_t max_core_bytes;
	uint64_t wall_time_ceiling_secs;
};

/* Reads plan|readonly|read-only, safe|confirm|strict|normal, auto|yolo|accept in any case.
 * Fails: INVALID. */
KODA_API KODA_CHECK int koda_trust_parse(const char *text, enum koda_trust *ret_trust,
					 struct koda_error *err);
/* Returns "plan", "safe" or "auto"; "plan" for any other value. */
KODA_API const char *koda_trust_name(enum koda_trust trust);
/* Returns the trust of a sub-agent, which never exceeds its parent's. */
KODA_API enum koda_trust koda_trust_clamp(enum koda_trust parent, enum koda_trust declared);

/* Decides whether to allow, ask about or refuse one action. acts is a set of enum koda_act. */
KODA_API enum koda_decision koda_trust_decide(enum koda_trust trust, enum koda_effect effect,
					      unsigned int acts);

/* Checks whether commands may run at all. Auto is refused without a kernel sandbox; Plan and Safe
 * only with the user's explicit no_sandbox. Fails: UNSUPPORTED, DENIED. */
KODA_API KODA_CHECK int koda_trust_admit(enum koda_trust trust, bool kernel_sandbox,
					 bool no_sandbox, struct koda_error *err);

/* Makes the policy for a mode and a project root (absolute; it need not exist).
 * Fails: POLICY for a bad path, NOMEM. */
KODA_API KODA_CHECK int koda_policy_for_trust(enum koda_trust trust, const char *root,
					      struct koda_policy **ret_policy,
					      struct koda_error *err);
KODA_API struct koda_trust_limits koda_trust_limits(enum koda_trust trust);
/* Returns the wall time of a command in seconds: what the policy states, or 60, but never more than
 * the mode's ceiling. */
KODA_API uint64_t koda_trust_wall_time(enum koda_trust trust, const struct koda_policy *policy);

#ifdef __cplusplus
}
#endif

#endif
