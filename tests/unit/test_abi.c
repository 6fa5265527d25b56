/* SPDX-License-Identifier: MIT */
/*
 * What programs that were built with an older or a newer header rely on: structs that say their
 * size, structs that never change, and numbers that keep their meaning.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/macros.h"

#include <koda/koda.h>
#include <stddef.h>
#include <unistd.h>

/* As it may be in a later release. */
struct later {
	struct koda_command_options known;
	uint64_t more;
};

static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

static struct koda_sandbox *open_one(const char *root)
{
	const struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	return sandbox;
}

static int run(struct koda_sandbox *sandbox, const void *options, struct koda_error *err)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_command *command = NULL;
	int r = koda_sandbox_start(sandbox, options, &command, err);

	if (r == KODA_OK)
		r = koda_command_wait(command, &outcome, err);
	koda_command_free(command);
	if (r == KODA_OK)
		assert_int_equal(outcome.end, KODA_END_EXITED);
	return r < 0 ? r : outcome.code;
}

static void smaller_and_larger_options(void **state)
{
	struct koda_sandbox *sandbox = open_one(*state);
	struct later later = { .known = { .size = sizeof(later), .shell = "exit 7" } };
	struct koda_error err = { 0 };
	char *text = NULL;

	/* Larger, and asks for nothing that is not known here. */
	assert_int_equal(run(sandbox, &later, &err), 7);
	later.more = 1;
	assert_int_equal(run(sandbox, &later, &err), KODA_E_UNSUPPORTED);
	assert_string_equal(err.field, "size");
	assert_int_equal(koda_sandbox_plan(sandbox, &later.known, &text, &err), KODA_E_UNSUPPORTED);
	/* Only the last byte. */
	later.more = (uint64_t)1 << 63;
	assert_int_equal(run(sandbox, &later, &err), KODA_E_UNSUPPORTED);
	/* Smaller: what it lacks is not looked at. */
	later.known.size = offsetof(struct koda_command_options, descriptors);
	later.known.descriptor_count = 1000;
	assert_int_equal(run(sandbox, &later, &err), 7);
	koda_sandbox_close(sandbox);
}

static void impossible_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, sizeof(size_t), 56, 4097, SIZE_MAX };
	struct koda_sandbox *sandbox = open_one(*state);

	for (size_t i = 0; i < KODA_ARRAY_LEN(sizes); i++) {
		const struct koda_sandbox_options options = { .size = sizes[i], .root = *state };
		const struct koda_command_options command = { .size = sizes[i], .shell = "true" };
		struct koda_sandbox *none = NULL;
		struct koda_error err = { 0 };
		char *text = NULL;

		assert_int_equal(koda_sandbox_open(&options, &none, &err), KODA_E_INVALID);
		assert_null(none);
		assert_string_equal(err.field, "size");
		assert_int_equal(run(sandbox, &command, &err), KODA_E_INVALID);
		assert_int_equal(koda_sandbox_plan_json(sandbox, &command, &text, &err),
				 KODA_E_INVALID);
		assert_int_equal(koda_sandbox_plan_bwrap(sandbox, &command, &text, &err),
				 KODA_E_INVALID);
		assert_null(text);
	}
	koda_sandbox_close(sandbox);
}

/* A command can be waited for again after a size that is wrong. */
static void outcomes(void **state)
{
	struct {
		struct koda_outcome known;
		uint64_t more;
	} later;
	const struct koda_command_options command = { .size = sizeof(command), .shell = "exit 5" };
	struct koda_sandbox *sandbox = open_one(*state);
	struct koda_command *running = NULL;
	struct koda_error err = { 0 };

	memset(&later, 0xff, sizeof(later));
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &command, &running, &err), err);
	assert_int_equal(koda_command_wait(running, &later.known, &err), KODA_E_INVALID);
	later.known.size = 0;
	assert_int_equal(koda_command_wait_for(running, 1, &later.known, &err), KODA_E_INVALID);
	later.known.size = sizeof(later);
	KODA_ASSERT_OK(koda_command_wait(running, &later.known, &err), err);
	assert_int_equal(later.known.size, sizeof(later));
	assert_int_equal(later.known.code, 5);
	assert_int_equal(later.more, 0);
	koda_command_free(running);
	koda_sandbox_close(sandbox);
}

#define END(type, member) (offsetof(struct type, member) + sizeof(((struct type *)NULL)->member))
#define MEMBER(type, member)                                                                       \
	{                                                                                          \
		offsetof(struct type, member), END(type, member)                                   \
	}

/* The three of them, with room for what a later release may add. */
union grown {
	size_t size;
	struct koda_sandbox_options sandbox;
	struct koda_command_options command;
	struct koda_outcome outcome;
	char room[1024];
};

struct site {
	struct koda_sandbox *sandbox;
	struct koda_command *waited;
	const char *root;
};

/* Is it refused for its size? */
static bool refuses_open(const struct site *site, union grown *given)
{
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };
	int r;

	given->sandbox.root = site->root;
	given->sandbox.trust = KODA_TRUST_AUTO;
	r = koda_sandbox_open(&given->sandbox, &sandbox, &err);
	koda_sandbox_close(sandbox);
	return r == KODA_E_INVALID && strcmp(err.field, "size") == 0;
}

static bool refuses_plan(const struct site *site, union grown *given)
{
	struct koda_error err = { 0 };
	char *text = NULL;
	int r;

	given->command.shell = "true";
	r = koda_sandbox_plan(site->sandbox, &given->command, &text, &err);
	free(text);
	return r == KODA_E_INVALID && strcmp(err.field, "size") == 0;
}

static bool refuses_wait(const struct site *site, union grown *given)
{
	struct koda_error err = { 0 };

	assert_int_equal(koda_command_wait(site->waited, &given->outcome, &err), KODA_E_INVALID);
	return strcmp(err.field, "size") == 0;
}

/* What no compiler makes of any release's struct is refused, and so no member is ever cut; what one
 * may make is taken. */
static void sizes_end_between_members(void **state)
{
	static const struct {
		bool (*refuses)(const struct site *site, union grown *given);
		size_t least; /* of the first release */
		size_t size;
		size_t members[3][2]; /* that end behind that: each one's start and end */
	} structs[] = {
		{ refuses_open,
		  END(koda_sandbox_options, no_sandbox),
		  sizeof(struct koda_sandbox_options),
		  { { 0 } } },
		{ refuses_plan,
		  offsetof(struct koda_command_options, descriptors),
		  sizeof(struct koda_command_options),
		  { MEMBER(koda_command_options, descriptors),
		    MEMBER(koda_command_options, descriptor_count),
		    MEMBER(koda_command_options, env) } },
		{ refuses_wait,
		  sizeof(struct koda_outcome),
		  sizeof(struct koda_outcome),
		  { { 0 } } },
	};
	const struct koda_command_options what = { .size = sizeof(what), .shell = "true" };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct site site = { .sandbox = open_one(*state), .root = *state };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_start(site.sandbox, &what, &site.waited, &err), err);
	KODA_ASSERT_OK(koda_command_wait(site.waited, &outcome, &err), err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(structs); i++) {
		for (size_t size = 0; size < structs[i].size + 24; size++) {
			union grown given = { .room = { 0 } };
			bool possible = size >= structs[i].least && size % sizeof(size_t) == 0;

			given.size = size;
			if (structs[i].refuses(&site, &given) == possible)
				fail_msg("struct %zu: a size of %zu is %s", i, size,
					 possible ? "refused" : "taken");
			for (size_t k = 0; k < KODA_ARRAY_LEN(structs[i].members); k++)
				assert_false(possible && size > structs[i].members[k][0] &&
					     size < structs[i].members[k][1]);
		}
	}
	koda_command_free(site.waited);
	koda_sandbox_close(site.sandbox);
}

/* The other structs that grow have one scheme with these: a size that is not set is refused. */
static void sizes_must_be_set(void **state)
{
	const struct koda_place place = { .root = "/srv/app" };
	const struct koda_env_request request = { .command = "true", .cwd = "/" };
	struct koda_diagnosis diagnosis = { .size = 8 };
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char **built = NULL;

	(void)state;
	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_SAFE, "/srv/app", &policy, &err), err);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_rules_new(policy, &place, &rules, &err), err);
	assert_string_equal(err.field, "size");
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_env_build(&request, &built, &err), err);
	assert_string_equal(err.field, "size");
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_diagnose(NULL, &diagnosis, &err), err);
	assert_string_equal(err.field, "size");
	assert_null(rules);
	assert_null(built);
	koda_policy_free(policy);
}

/* Whoever changes one of these breaks programs that are already built: they need a new soname. */
static void frozen_layouts(void **state)
{
	static const struct {
		const char *what;
		size_t is;
		size_t was;
	} layouts[] = {
#define SIZE(type, bytes) { #type, sizeof(struct type), bytes }
#define AT(type, member, position)                                                                 \
	{                                                                                          \
#type "." #member, offsetof(struct type, member), position                         \
	}
		SIZE(koda_error, 360),
		SIZE(koda_span, 16),
		SIZE(koda_addr, 17),
		SIZE(koda_verdict, 24),
		SIZE(koda_trust_limits, 32),
		SIZE(koda_descriptor, 8),
		SIZE(koda_finding, 24),
		SIZE(koda_findings, (size_t)24 * 64),
		SIZE(koda_place, 112),
		SIZE(koda_env_request, 56),
		SIZE(koda_backend_state, 1912),
		SIZE(koda_diagnosis, 15728),
		AT(koda_sandbox_options, trust, 8),
		AT(koda_sandbox_options, host_env, 32),
		AT(koda_sandbox_options, accept, 56),
		AT(koda_sandbox_options, backend, 72),
		AT(koda_sandbox_options, on_question, 88),
		AT(koda_sandbox_options, no_sandbox, 104),
		AT(koda_command_options, shell, 8),
		AT(koda_command_options, cwd, 24),
		AT(koda_command_options, in, 32),
		AT(koda_command_options, err, 112),
		AT(koda_command_options, approved, 154),
		AT(koda_command_options, descriptors, 160),
		AT(koda_command_options, wall_time_secs, 176),
		AT(koda_command_options, env, 208),
		AT(koda_outcome, end, 8),
		AT(koda_outcome, output_bytes, 32),
		AT(koda_event, data, 32),
#undef SIZE
#undef AT
	};

	(void)state;
	if (sizeof(void *) != 8 || sizeof(long) != 8)
		skip();
	for (size_t i = 0; i < KODA_ARRAY_LEN(layouts); i++)
		if (layouts[i].is != layouts[i].was)
			fail_msg("%s: %zu, was %zu", layouts[i].what, layouts[i].is,
				 layouts[i].was);
}

/* Numbers that programs have compiled in: the first and the last of each, so that nothing was put
 * in between. */
static void frozen_numbers(void **state)
{
	(void)state;
	assert_int_equal(KODA_E_SYS, -1);
	assert_int_equal(KODA_E_INTERNAL, -10);
	assert_int_equal(KODA_TRUST_AUTO, 2);
	assert_int_equal(KODA_BACKEND_LANDLOCK, 3);
	assert_int_equal(KODA_END_SETUP, 0);
	assert_int_equal(KODA_END_WALL_TIME, 5);
	assert_int_equal(KODA_STREAM_NULL, 0);
	assert_int_equal(KODA_STREAM_CALLBACK, 5);
	assert_int_equal(KODA_EVENT_EXIT, 4);
	assert_int_equal(KODA_EVENT_LEFT_BEHIND, 5);
	assert_int_equal(KODA_LEFT_HG_DIR, 4);
	assert_int_equal(KODA_LEFT_UNSEEN, 5);
	assert_int_equal(KODA_VIOLATION_OTHER, 4);
	assert_int_equal(KODA_LIMIT_FILE_SIZE, 6);
	assert_int_equal(KODA_LIMIT_REPOSITORIES, 7);
	assert_int_equal(KODA_CLAUSE_WRITE_OUTSIDE, 0);
	assert_int_equal(KODA_CLAUSE_END_OF_TREE, 13);
	assert_int_equal(KODA_CLAUSE_CACHES, 22);
	assert_true(KODA_CLAUSE_COUNT <= KODA_CLAUSE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(smaller_and_larger_options),
		KODA_SCRATCH_TEST(impossible_sizes),
		KODA_SCRATCH_TEST(outcomes),
		KODA_SCRATCH_TEST(sizes_end_between_members),
		cmocka_unit_test(sizes_must_be_set),
		cmocka_unit_test(frozen_layouts),
		cmocka_unit_test(frozen_numbers),
	};

	return KODA_TEST_RUN(tests);
}
