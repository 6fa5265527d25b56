/* SPDX-License-Identifier: MIT */
/*
 * Lines of any bytes. The first byte of a line says what the rest is: an entry of a path list, or
 * a path to ask about. Normal form and soundness agree, and the verdicts are those of a model
 * that looks at every rule.
 */
#include "target.h"

#include "base/path.h"
#include "policy/floor.h"
#include "policy/policy.h"

#include <koda/rules.h>

#define RULES_MAX 64
#define LINES_MAX 256

static const struct koda_place nowhere = { .size = sizeof(nowhere) };

/* Does some entry of the list cover path? If so, *ret_depth is the longest such entry's length. */
static bool is_covered(const struct koda_policy *policy, enum koda_list list, struct koda_span path,
		       size_t *ret_depth)
{
	bool covered = false;

	*ret_depth = 0;
	for (size_t i = 0; i < koda_policy_count(policy, list); i++) {
		struct koda_span rule = koda_policy_get(policy, list, i);

		if (koda_path_covers(rule, path)) {
			covered = true;
			*ret_depth = rule.len > *ret_depth ? rule.len : *ret_depth;
		}
	}
	return covered;
}

static bool model_read(const struct koda_policy *policy, struct koda_span path)
{
	size_t deny, hole;
	bool denied = is_covered(policy, KODA_LIST_DENY_READ, path, &deny);

	return !denied ||
	       (is_covered(policy, KODA_LIST_ALLOW_READ_WITHIN_DENY, path, &hole) && hole > deny);
}

static bool model_write(const struct koda_policy *policy, struct koda_span path)
{
	size_t depth;

	for (const char *const *kernel = koda_floor_kernel_paths; *kernel; kernel++)
		if (koda_path_covers(koda_span_of(*kernel), path))
			return false;
	return is_covered(policy, KODA_LIST_ALLOW_WRITE, path, &depth) &&
	       !is_covered(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, path, &depth) &&
	       !is_covered(policy, KODA_LIST_DENY_READ, path, &depth);
}

static bool is_normal(struct koda_span path)
{
	bool root = path.len == 1;

	return path.len > 0 && path.ptr[0] == '/' && (root || path.ptr[path.len - 1] != '/') &&
	       !memmem(path.ptr, path.len, "//", 2) && !memmem(path.ptr, path.len, "/./", 3) &&
	       !memmem(path.ptr, path.len, "/../", 4) && !memchr(path.ptr, '\0', path.len);
}

static void check_path(const struct koda_policy *policy, const struct koda_rules *rules,
		       struct koda_span raw)
{
	koda_auto_buf struct koda_buf normal = KODA_BUF_INIT(KODA_PATH_MAX);
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_verdict read = koda_rules_read(rules, raw.ptr, raw.len);
	struct koda_verdict write = koda_rules_write(rules, raw.ptr, raw.len);
	bool sound = koda_pathwalk_is_sound(raw);
	struct koda_span path;
	int r = koda_path_normalise(raw, &normal, NULL);

	CHECK(sound == (r == KODA_OK));
	if (!sound) {
		CHECK(r == KODA_E_POLICY || r == KODA_E_LIMIT);
		CHECK(read.answer == KODA_DENY && read.reason == KODA_REASON_INVALID);
		CHECK(write.answer == KODA_DENY && write.reason == KODA_REASON_INVALID);
		return;
	}
	path = koda_buf_span(&normal);
	CHECK(is_normal(path));
	CHECK(koda_path_normalise(path, &again, NULL) == KODA_OK);
	CHECK(koda_span_eq(path, koda_buf_span(&again)));
	CHECK((read.answer == KODA_ALLOW) == model_read(policy, path));
	CHECK((write.answer == KODA_ALLOW) == model_write(policy, path));
	CHECK(koda_rules_read(rules, path.ptr, path.len).reason == read.reason);
	CHECK(koda_rules_write(rules, path.ptr, path.len).reason == write.reason);
	/* What can be written can be read. */
	CHECK(write.answer == KODA_DENY || read.answer == KODA_ALLOW);
}

/* Takes the next line off *rest. */
static struct koda_span next_line(struct koda_span *rest)
{
	const char *end = memchr(rest->ptr, '\n', rest->len);
	struct koda_span line = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };

	*rest = koda_span_skip(*rest, end ? line.len + 1 : line.len);
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_span rest = { (const char *)data, size };
	struct koda_span queries[LINES_MAX];
	struct koda_rules *rules = NULL;
	size_t asked = 0;

	CHECK(koda_policy_new(&policy, NULL) == KODA_OK);
	for (size_t lines = 0; rest.len > 0 && lines < LINES_MAX; lines++) {
		struct koda_span line = next_line(&rest);
		unsigned int list = line.len ? (unsigned char)line.ptr[0] - '0' : KODA_LIST_COUNT;
		struct koda_span path = line.len ? koda_span_skip(line, 1) : line;

		if (list <= KODA_LIST_DENY_WRITE_WITHIN_ALLOW && lines < RULES_MAX)
			(void)!koda_policy_add(policy, (enum koda_list)list, path.ptr, path.len,
					       NULL);
		queries[asked++] = path;
	}
	CHECK(koda_rules_new(policy, &nowhere, &rules, NULL) == KODA_OK);
	for (size_t i = 0; i < asked; i++)
		check_path(policy, rules, queries[i]);
	koda_rules_free(rules);
	return 0;
}
