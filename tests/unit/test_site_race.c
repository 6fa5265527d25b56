/* SPDX-License-Identifier: MIT */
/*
 * T-06 while the command runs: links change between any two looks at them. This program's own
 * readlink() stands in for a command that does so at the worst moment.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "run/site.h"

#include <koda/policy.h>
#include <sys/syscall.h>

static const char *watched; /* the path whose every reading changes it */
static const char *target;  /* what it says when it is a link */
static unsigned int looks;

/* A link becomes a directory and a directory a link, each time after it was looked at. */
static void flip(const char *path)
{
	if (unlink(path) == 0)
		(void)mkdir(path, 0755);
	else if (rmdir(path) == 0 && symlink(target, path) < 0)
		watched = NULL;
}

static ssize_t read_and_flip(int dirfd, const char *name, char *buf, size_t size)
{
	ssize_t n = syscall(SYS_readlinkat, dirfd, name, buf, size);
	int saved = errno;

	/* Directories are walked by descriptor; the last component tells which one this is. */
	if (watched && strcmp(name, strrchr(watched, '/') + 1) == 0) {
		looks++;
		flip(watched);
	}
	errno = saved;
	return n;
}

/* What the library calls; the second name is the fortified one. */
ssize_t readlinkat(int dirfd, const char *name, char *buf, size_t size)
{
	return read_and_flip(dirfd, name, buf, size);
}

#if !defined(_FORTIFY_SOURCE) || _FORTIFY_SOURCE == 0 /* else <unistd.h> has it */
extern ssize_t __readlinkat_chk(int dirfd, const char *name, char *buf, size_t len, size_t size);
#endif

ssize_t __readlinkat_chk(int dirfd, const char *name, char *buf, size_t len, size_t size)
{
	(void)size;
	return read_and_flip(dirfd, name, buf, len);
}

static char elsewhere[] = "/no/such/project";
static const struct koda_site site = { .root = elsewhere };

static bool lists(const struct koda_policy *policy, enum koda_list list, const char *path)
{
	for (size_t i = 0; i < koda_policy_count(policy, list); i++)
		if (koda_span_is(koda_policy_get(policy, list, i), path))
			return true;
	return false;
}

/* The command may write below project, where project/door changes. Whether it was a link at the
 * first look or only later: what it leads to must not become readable or writable. */
static void a_link_that_comes_and_goes_opens_nothing(void **state)
{
	static const enum koda_list allows[] = { KODA_LIST_ALLOW_READ_WITHIN_DENY,
						 KODA_LIST_ALLOW_WRITE };
	char door[PATH_MAX];
	char below[2 * PATH_MAX];
	char secret[PATH_MAX];

	(void)snprintf(door, sizeof(door), "%s/project/door", (char *)*state);
	(void)snprintf(below, sizeof(below), "%s/x", door);
	(void)snprintf(secret, sizeof(secret), "%s/secret/x", (char *)*state);
	(void)koda_make_dir(*state, "secret");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "project/door");
	target = "../secret";
	for (int round = 0; round < 4; round++) {
		KODA_EACH(list, allows) {
			const char *project = koda_in(*state, "project");
			struct koda_policy *policy = NULL;
			struct koda_error err = { 0 };

			KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
			KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, project,
						       strlen(project), &err),
				       err);
			KODA_ASSERT_OK(koda_policy_add(policy, *list, below, strlen(below), &err),
				       err);
			watched = door;
			KODA_ASSERT_OK(koda_site_resolve_policy(&site, policy, &err), err);
			watched = NULL;
			assert_false(lists(policy, *list, secret));
			koda_policy_free(policy);
			flip(door); /* the other way round next time */
		}
	}
	/* A directory is seen to be none in one look with the rest of the path; a link is not. */
	assert_true(looks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_link_that_comes_and_goes_opens_nothing),
	};

	return KODA_TEST_RUN(tests);
}
