/* SPDX-License-Identifier: MIT */
#include <koda/trust.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/developer_hosts.h"
#include "policy/policy.h"

#include <unistd.h>

#define GIB (1024ULL * 1024 * 1024)

/* One row of the trust table. */
struct mode {
	const char *name;
	const char *const *aliases; /* NULL-terminated, name included */
	bool project_writable;
	bool network;
	bool local_binding;
	enum koda_ask ask;
	uint8_t search_depth;
	uint64_t max_open_fds;
	struct koda_trust_limits limits;
};

#define WALL_TIME_DEFAULT 60
#define WALL_TIME_CEILING 300
#define OUTPUT_KEPT       (2ULL * 1024 * 1024)

static const char *const plan_names[] = { "plan", "readonly", "read-only", NULL };
static const char *const safe_names[] = { "safe", "confirm", "strict", "normal", NULL };
static const char *const auto_names[] = { "auto", "yolo", "accept", NULL };

static const struct mode modes[] = {
	[KODA_TRUST_PLAN] = { "plan",
			      plan_names,
			      false,
			      false,
			      false,
			      KODA_ASK_AUTO,
			      3,
			      4096,
			      { 512, 8 * GIB, 0, WALL_TIME_CEILING } },
	[KODA_TRUST_SAFE] = { "safe",
			      safe_names,
			      true,
			      true,
			      true,
			      KODA_ASK_REQUIRE,
			      5,
			      16384,
			      { 2048, 64 * GIB, 0, WALL_TIME_CEILING } },
	[KODA_TRUST_AUTO] = { "auto",
			      auto_names,
			      true,
			      true,
			      true,
			      KODA_ASK_AUTO,
			      10,
			      16384,
			      { 2048, 64 * GIB, 0, WALL_TIME_CEILING } },
};

/* An unknown value counts as the least trust. */
static const struct mode *mode_of(enum koda_trust trust)
{
	return &modes[trust == KODA_TRUST_SAFE || trust == KODA_TRUST_AUTO ? trust
									   : KODA_TRUST_PLAN];
}

/* Ignores the case of ASCII letters, in any locale. */
static bool is_same_word(const char *lower, const char *text)
{
	while (*lower && *lower == koda_ascii_lower(*text)) {
		lower++;
		text++;
	}
	return !*lower && !*text;
}

int koda_trust_parse(const char *text, enum koda_trust *ret_trust, struct koda_error *err)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(modes); i++) {
		for (const char *const *name = modes[i].aliases; *name; name++) {
			if (is_same_word(*name, text)) {
				*ret_trust = (enum koda_trust)i;
				return KODA_OK;
			}
		}
	}
	return koda_fail(err, KODA_E_INVALID, 0, "'%s' is not a trust mode (plan, safe or auto)",
			 text);
}

const char *koda_trust_name(enum koda_trust trust)
{
	return mode_of(trust)->name;
}

enum koda_trust koda_trust_clamp(enum koda_trust parent, enum koda_trust declared)
{
	enum koda_trust a = (enum koda_trust)(mode_of(parent) - modes);
	enum koda_trust b = (enum koda_trust)(mode_of(declared) - modes);

	return a < b ? a : b;
}

/* Returns the decision where a user can be asked. */
static enum koda_decision decide_top(enum koda_trust trust, enum koda_effect effect,
				     unsigned int acts)
{
	if (trust != KODA_TRUST_SAFE && trust != KODA_TRUST_AUTO)
		return KODA_DECIDE_DENY;
	if (acts & KODA_ACT_OUTSIDE)
		return KODA_DECIDE_CONFIRM;
	if (effect == KODA_EFFECT_DESTRUCTIVE && (acts & KODA_ACT_OWN_FILE))
		return KODA_DECIDE_ALLOW;
	if (trust == KODA_TRUST_SAFE || (acts & KODA_ACT_UNSANDBOXED))
		return KODA_DECIDE_CONFIRM;
	switch (effect) {
	case KODA_EFFECT_REMOTE_ACTION:
	case KODA_EFFECT_LOCAL_MUTATION:
	case KODA_EFFECT_READ_ONLY:
		return KODA_DECIDE_ALLOW;
	case KODA_EFFECT_DESTRUCTIVE:
		break;
	}
	return KODA_DECIDE_CONFIRM;
}

enum koda_decision koda_trust_decide(enum koda_trust trust, enum koda_effect effect,
				     unsigned int acts)
{
	enum koda_decision answer;
	bool grave;

	if (effect == KODA_EFFECT_READ_ONLY)
		return KODA_DECIDE_ALLOW;
	answer = decide_top(trust, effect, acts);
	if (!(acts & KODA_ACT_SUBAGENT) || answer != KODA_DECIDE_CONFIRM)
		return answer;
	/* A sub-agent's parent approved the task, so ordinary steps need no second question. Acts
	 * that cannot be undone or leave the project are denied: no person is there to ask. */
	grave = (effect != KODA_EFFECT_REMOTE_ACTION && effect != KODA_EFFECT_LOCAL_MUTATION) ||
		(acts & KODA_ACT_OUTSIDE);
	return grave ? KODA_DECIDE_DENY : KODA_DECIDE_ALLOW;
}

int koda_trust_admit(enum koda_trust trust, bool kernel_sandbox, bool no_sandbox,
		     struct koda_error *err)
{
	if (trust == KODA_TRUST_AUTO && no_sandbox)
		return koda_fail(err, KODA_E_DENIED, 0,
				 "trust mode auto never runs without a sandbox; use safe or plan");
	if (kernel_sandbox || no_sandbox)
		return KODA_OK;
	if (trust == KODA_TRUST_AUTO)
		return koda_fail(
			err, KODA_E_UNSUPPORTED, 0,
			"trust mode auto needs a kernel sandbox, and this machine offers none");
	return koda_fail(
		err, KODA_E_UNSUPPORTED, 0,
		"this machine offers no kernel sandbox; --no-sandbox would run without one");
}

static int fill_network(struct koda_policy *policy, const struct mode *mode, struct koda_error *err)
{
	int r = KODA_OK;

	if (!mode->network)
		return koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, err);
	for (size_t i = 0; i < koda_developer_host_count && r == KODA_OK; i++)
		r = koda_policy_add_canonical(policy, KODA_LIST_ALLOWED_DOMAINS,
					      koda_span_of(koda_developer_hosts[i]), err);
	return r;
}

uint64_t koda_trust_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long size = sysconf(_SC_PAGESIZE);

	return pages <= 0 || size <= 0 ? 0 : (uint64_t)pages * (uint64_t)size / 4 * 3;
}

static int fill_limits(struct koda_policy *policy, const struct mode *mode, struct koda_error *err)
{
	uint64_t memory = koda_trust_memory();
	int r = koda_policy_set_limit(policy, KODA_LIMIT_WALL_TIME, WALL_TIME_DEFAULT, err);

	if (r == KODA_OK)
		r = koda_policy_set_limit(policy, KODA_LIMIT_OPEN_FILES, mode->max_open_fds, err);
	if (r == KODA_OK)
		r = koda_policy_set_limit(policy, KODA_LIMIT_OUTPUT, OUTPUT_KEPT, err);
	if (r == KODA_OK && memory > 0)
		r = koda_policy_set_limit(policy, KODA_LIMIT_MEMORY, memory, err);
	return r;
}

int koda_policy_for_trust(enum koda_trust trust, const char *root, struct koda_policy **ret_policy,
			  struct koda_error *err)
{
	const struct mode *mode = mode_of(trust);
	koda_auto_policy struct koda_policy *policy = NULL;
	int r = koda_policy_new(&policy, err);

	if (r < 0)
		return r;
	/* Added in every mode, so that a root no rule could name is refused in every mode. */
	r = koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, root, strlen(root), err);
	if (!mode->project_writable) {
		koda_policy_state_allow_write(policy, false);
		koda_policy_state_allow_write(policy, true);
	}
	if (r == KODA_OK)
		r = fill_network(policy, mode, err);
	if (r == KODA_OK)
		r = fill_limits(policy, mode, err);
	if (r < 0)
		return r;
	/* The table states every field, so that a child policy made from it restricts them all. */
	for (int flag = 0; flag < KODA_FLAG_COUNT; flag++)
		koda_policy_set_flag(policy, (enum koda_flag)flag, false);
	koda_policy_set_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING, mode->local_binding);
	koda_policy_set_search_depth(policy, mode->search_depth);
	koda_policy_set_ask(policy, mode->ask);
	*ret_policy = KODA_TAKE(policy);
	return KODA_OK;
}

struct koda_trust_limits koda_trust_limits(enum koda_trust trust)
{
	return mode_of(trust)->limits;
}

uint64_t koda_trust_wall_time(enum koda_trust trust, const struct koda_policy *policy)
{
	uint64_t ceiling = mode_of(trust)->limits.wall_time_ceiling_secs;
	uint64_t seconds = WALL_TIME_DEFAULT;

	(void)koda_policy_limit(policy, KODA_LIMIT_WALL_TIME, &seconds);
	return seconds < ceiling ? seconds : ceiling;
}
