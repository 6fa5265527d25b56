/* SPDX-License-Identifier: MIT */
/* Seatbelt profiles, and logs of denials, when memory runs out: an error, never a profile with a
 * rule less, nor one that stays in the cache. */
#include "../lib/exhaust.h"

#include "../lib/scratch.h"
#include "run/stream/violation.h"

#include <koda/koda.h>

static void *scratch;
static char root[PATH_MAX];

static int open_project(struct koda_project **ret_project, struct koda_error *err)
{
	static const char *const env[] = { "HOME=/nonexistent", "PATH=/usr/bin", NULL };
	struct koda_policy *policy = NULL;
	int r = koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, err);

	if (r == KODA_OK)
		r = koda_project_open(root, env, ret_project, err);
	if (r == KODA_OK)
		r = koda_project_set_policy(*ret_project, policy, err);
	koda_policy_free(policy);
	return r;
}

/* The second profile is made with what the cache has of the first. */
static int print(void **ret, struct koda_error *err)
{
	const struct koda_seatbelt_options first = { .size = sizeof(first), .tag = "koda-1" };
	const struct koda_seatbelt_options second = { .size = sizeof(second), .tag = "koda-22" };
	struct koda_project *project = NULL;
	char *one = NULL;
	char *two = NULL;
	int r = open_project(&project, err);

	if (r == KODA_OK)
		r = koda_project_seatbelt(project, &first, &one, err);
	if (r == KODA_OK)
		r = koda_project_seatbelt(project, &second, &two, err);
	koda_project_close(project);
	free(one);
	if (r == KODA_OK)
		*ret = two;
	return r;
}

static bool same_text(const void *ret, const void *undisturbed)
{
	return strcmp(ret, undisturbed) == 0;
}

static int read_log(void **ret, struct koda_error *err)
{
	static const char lines[] =
		"{\"processID\":0,\"eventMessage\":\"Sandbox: sh(1) deny(1) file-read-data /x\"}\n"
		"{\"processID\":0,\"eventMessage\":\"Sandbox: sh(1) deny(1) file-write-data "
		"/y\\nkoda-1\"}\n";
	struct koda_violation_list *list = NULL;
	int r = koda_seatbelt_log_parse(lines, sizeof(lines) - 1, NULL, &list, err);

	if (r == KODA_OK)
		*ret = list;
	return r;
}

static bool same_list(const void *ret, const void *undisturbed)
{
	const struct koda_violation_list *lists[] = { ret, undisturbed };

	for (size_t i = 0; i < 2; i++)
		if (lists[0]->count != 2 ||
		    strcmp(koda_violation_list_get(lists[0], i)->target,
			   koda_violation_list_get(lists[1], i)->target) != 0)
			return false;
	return true;
}

static void release_list(void *ret)
{
	koda_violation_list_free(ret);
}

static const struct koda_exhaust entries[] = {
	{ "koda_project_seatbelt", print, same_text, free, .only_dry = true },
	{ "koda_seatbelt_log_parse", read_log, same_list, release_list },
};

static int setup(void **state)
{
	(void)state;
	if (koda_scratch_setup(&scratch) < 0)
		return -1;
	(void)snprintf(root, sizeof(root), "%s/project", (const char *)scratch);
	(void)koda_make_dir(scratch, "project");
	(void)koda_make_dir(root, ".git");
	(void)koda_make_dir(root, ".git/hooks");
	(void)koda_make_dir(root, "real");
	(void)koda_make_link(root, ".vscode", "real");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return koda_scratch_teardown(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = { KODA_EXHAUST_TEST(&entries[0]),
					    KODA_EXHAUST_TEST(&entries[1]) };

	return cmocka_run_group_tests(tests, setup, teardown);
}
