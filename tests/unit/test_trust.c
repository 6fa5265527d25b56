/* SPDX-License-Identifier: MIT */
/* Trust modes: names, clamping, the approval matrix and who may run without a sandbox. */
#include "koda_test.h"

#include <koda/trust.h>

#define NOWHERE   ((enum koda_trust)7)
#define NO_EFFECT ((enum koda_effect)9)

static void names_and_aliases_in_any_case(void **state)
{
	static const struct {
		const char *text;
		enum koda_trust trust;
	} rows[] = {
		{ "plan", KODA_TRUST_PLAN },      { "readonly", KODA_TRUST_PLAN },
		{ "read-only", KODA_TRUST_PLAN }, { "PLAN", KODA_TRUST_PLAN },
		{ "Read-Only", KODA_TRUST_PLAN }, { "rEADONLY", KODA_TRUST_PLAN },
		{ "safe", KODA_TRUST_SAFE },      { "confirm", KODA_TRUST_SAFE },
		{ "strict", KODA_TRUST_SAFE },    { "normal", KODA_TRUST_SAFE },
		{ "SaFe", KODA_TRUST_SAFE },      { "STRICT", KODA_TRUST_SAFE },
		{ "Confirm", KODA_TRUST_SAFE },   { "nOrMaL", KODA_TRUST_SAFE },
		{ "auto", KODA_TRUST_AUTO },      { "yolo", KODA_TRUST_AUTO },
		{ "accept", KODA_TRUST_AUTO },    { "AUTO", KODA_TRUST_AUTO },
		{ "YoLo", KODA_TRUST_AUTO },      { "Accept", KODA_TRUST_AUTO },
	};

	(void)state;
	KODA_EACH(row, rows) {
		enum koda_trust trust = NOWHERE;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_trust_parse(row->text, &trust, &err), err);
		KODA_EXPECT(row->text, trust == row->trust);
	}
}

static void other_words_are_refused(void **state)
{
	static const char *const words[] = { "",          " ",         "autoo",    "aut",
					     " auto",     "auto ",     "auto\n",   "0",
					     "2",         "full",      "none",     "read_only",
					     "read only", "safe,auto", "\xc4\xb1", "forbid" };

	(void)state;
	KODA_EACH(word, words) {
		enum koda_trust trust = NOWHERE;
		struct koda_error err = { 0 };

		KODA_ASSERT_FAILS(KODA_E_INVALID, koda_trust_parse(*word, &trust, &err), err);
		KODA_EXPECT(*word, trust == NOWHERE);
		KODA_EXPECT(*word, !strchr(err.message, '\n'));
		assert_int_equal(koda_trust_parse(*word, &trust, NULL), KODA_E_INVALID);
	}
}

static void names_read_back(void **state)
{
	static const char *const names[] = { "plan", "safe", "auto" };

	(void)state;
	for (int i = 0; i <= KODA_TRUST_AUTO; i++) {
		enum koda_trust trust = NOWHERE;
		struct koda_error err = { 0 };

		assert_string_equal(koda_trust_name((enum koda_trust)i), names[i]);
		KODA_ASSERT_OK(koda_trust_parse(names[i], &trust, &err), err);
		assert_int_equal(trust, i);
	}
	assert_string_equal(koda_trust_name(NOWHERE), "plan");
	assert_string_equal(koda_trust_name((enum koda_trust) - 1), "plan");
}

static void a_child_never_has_more_trust_than_its_parent(void **state)
{
	static const enum koda_trust clamped[3][3] = {
		{ KODA_TRUST_PLAN, KODA_TRUST_PLAN, KODA_TRUST_PLAN },
		{ KODA_TRUST_PLAN, KODA_TRUST_SAFE, KODA_TRUST_SAFE },
		{ KODA_TRUST_PLAN, KODA_TRUST_SAFE, KODA_TRUST_AUTO },
	};

	(void)state;
	for (int parent = 0; parent < 3; parent++) {
		for (int child = 0; child < 3; child++)
			assert_int_equal(
				koda_trust_clamp((enum koda_trust)parent, (enum koda_trust)child),
				clamped[parent][child]);
		assert_int_equal(koda_trust_clamp((enum koda_trust)parent, NOWHERE),
				 KODA_TRUST_PLAN);
		assert_int_equal(koda_trust_clamp(NOWHERE, (enum koda_trust)parent),
				 KODA_TRUST_PLAN);
	}
}

/*
 * The whole matrix. One column per set of circumstances, counted up from none: bit 0 sub-agent,
 * bit 1 unsandboxed, bit 2 outside the project, bit 3 own file. D denies, C confirms, A allows.
 */
static const struct {
	const char *name;
	enum koda_trust trust;
	enum koda_effect effect;
	const char answers[17];
} matrix[] = {
	{ "plan, destructive", KODA_TRUST_PLAN, KODA_EFFECT_DESTRUCTIVE, "DDDDDDDDDDDDDDDD" },
	{ "plan, remote", KODA_TRUST_PLAN, KODA_EFFECT_REMOTE_ACTION, "DDDDDDDDDDDDDDDD" },
	{ "plan, local", KODA_TRUST_PLAN, KODA_EFFECT_LOCAL_MUTATION, "DDDDDDDDDDDDDDDD" },
	{ "plan, read", KODA_TRUST_PLAN, KODA_EFFECT_READ_ONLY, "AAAAAAAAAAAAAAAA" },
	{ "safe, destructive", KODA_TRUST_SAFE, KODA_EFFECT_DESTRUCTIVE, "CDCDCDCDAAAACDCD" },
	{ "safe, remote", KODA_TRUST_SAFE, KODA_EFFECT_REMOTE_ACTION, "CACACDCDCACACDCD" },
	{ "safe, local", KODA_TRUST_SAFE, KODA_EFFECT_LOCAL_MUTATION, "CACACDCDCACACDCD" },
	{ "safe, read", KODA_TRUST_SAFE, KODA_EFFECT_READ_ONLY, "AAAAAAAAAAAAAAAA" },
	{ "auto, destructive", KODA_TRUST_AUTO, KODA_EFFECT_DESTRUCTIVE, "CDCDCDCDAAAACDCD" },
	{ "auto, remote", KODA_TRUST_AUTO, KODA_EFFECT_REMOTE_ACTION, "AACACDCDAACACDCD" },
	{ "auto, local", KODA_TRUST_AUTO, KODA_EFFECT_LOCAL_MUTATION, "AACACDCDAACACDCD" },
	{ "auto, read", KODA_TRUST_AUTO, KODA_EFFECT_READ_ONLY, "AAAAAAAAAAAAAAAA" },
	/* Values from nowhere: the mode counts as Plan, the effect as destructive at best. */
	{ "no mode, destructive", NOWHERE, KODA_EFFECT_DESTRUCTIVE, "DDDDDDDDDDDDDDDD" },
	{ "no mode, remote", NOWHERE, KODA_EFFECT_REMOTE_ACTION, "DDDDDDDDDDDDDDDD" },
	{ "no mode, local", NOWHERE, KODA_EFFECT_LOCAL_MUTATION, "DDDDDDDDDDDDDDDD" },
	{ "plan, no effect", KODA_TRUST_PLAN, NO_EFFECT, "DDDDDDDDDDDDDDDD" },
	{ "safe, no effect", KODA_TRUST_SAFE, NO_EFFECT, "CDCDCDCDCDCDCDCD" },
	{ "auto, no effect", KODA_TRUST_AUTO, NO_EFFECT, "CDCDCDCDCDCDCDCD" },
};

static void the_approval_matrix(void **state)
{
	(void)state;
	assert_int_equal(KODA_ACT_SUBAGENT | KODA_ACT_UNSANDBOXED | KODA_ACT_OUTSIDE |
				 KODA_ACT_OWN_FILE,
			 15);
	KODA_EACH(row, matrix) {
		for (unsigned int acts = 0; acts < 16; acts++) {
			enum koda_decision answer =
				koda_trust_decide(row->trust, row->effect, acts);

			if ("DCA"[answer] != row->answers[acts])
				fail_msg("%s, circumstances %u: %c, expected %c", row->name, acts,
					 "DCA"[answer], row -> answers[acts]);
		}
	}
}

/* A sub-agent is never asked, and more trust never means less permission. */
static void the_matrix_is_sane(void **state)
{
	(void)state;
	for (int effect = 0; effect <= KODA_EFFECT_READ_ONLY; effect++) {
		for (unsigned int acts = 0; acts < 16; acts++) {
			enum koda_decision last = KODA_DECIDE_DENY;

			for (int trust = 0; trust <= KODA_TRUST_AUTO; trust++) {
				enum koda_decision answer = koda_trust_decide(
					(enum koda_trust)trust, (enum koda_effect)effect, acts);

				assert_true(answer >= last);
				if (acts & KODA_ACT_SUBAGENT)
					assert_int_not_equal(answer, KODA_DECIDE_CONFIRM);
				last = answer;
			}
		}
	}
}

/* A plain bool does for the one circumstance that most callers know. */
static void is_subagent_may_be_a_bool(void **state)
{
	(void)state;
	assert_int_equal(KODA_ACT_SUBAGENT, true);
	assert_int_equal(koda_trust_decide(KODA_TRUST_SAFE, KODA_EFFECT_LOCAL_MUTATION, true),
			 KODA_DECIDE_ALLOW);
	assert_int_equal(koda_trust_decide(KODA_TRUST_SAFE, KODA_EFFECT_LOCAL_MUTATION, false),
			 KODA_DECIDE_CONFIRM);
}

static void auto_never_runs_without_a_kernel_sandbox(void **state)
{
	static const struct {
		enum koda_trust trust;
		bool kernel_sandbox;
		bool no_sandbox;
		int code;
	} rows[] = {
		{ KODA_TRUST_PLAN, true, false, KODA_OK },
		{ KODA_TRUST_PLAN, true, true, KODA_OK },
		{ KODA_TRUST_PLAN, false, true, KODA_OK },
		{ KODA_TRUST_PLAN, false, false, KODA_E_UNSUPPORTED },
		{ KODA_TRUST_SAFE, true, false, KODA_OK },
		{ KODA_TRUST_SAFE, true, true, KODA_OK },
		{ KODA_TRUST_SAFE, false, true, KODA_OK },
		{ KODA_TRUST_SAFE, false, false, KODA_E_UNSUPPORTED },
		{ KODA_TRUST_AUTO, true, false, KODA_OK },
		{ KODA_TRUST_AUTO, true, true, KODA_E_DENIED },
		{ KODA_TRUST_AUTO, false, true, KODA_E_DENIED },
		{ KODA_TRUST_AUTO, false, false, KODA_E_UNSUPPORTED },
		{ NOWHERE, false, false, KODA_E_UNSUPPORTED },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };
		int r = koda_trust_admit(row->trust, row->kernel_sandbox, row->no_sandbox, &err);

		KODA_EXPECT(koda_trust_name(row->trust), r == row->code && err.code == row->code);
		KODA_EXPECT(koda_trust_name(row->trust),
			    (err.message[0] == '\0') == (r == KODA_OK));
		KODA_EXPECT(koda_trust_name(row->trust),
			    koda_trust_admit(row->trust, row->kernel_sandbox, row->no_sandbox,
					     NULL) == row->code);
		if (r < 0 && row->trust == KODA_TRUST_AUTO)
			assert_non_null(strstr(err.message, "auto"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_aliases_in_any_case),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(names_read_back),
		cmocka_unit_test(a_child_never_has_more_trust_than_its_parent),
		cmocka_unit_test(the_approval_matrix),
		cmocka_unit_test(the_matrix_is_sane),
		cmocka_unit_test(is_subagent_may_be_a_bool),
		cmocka_unit_test(auto_never_runs_without_a_kernel_sandbox),
	};

	return KODA_TEST_RUN(tests);
}
