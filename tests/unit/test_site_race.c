/* SPDX-License-Identifier: MIT */
/*
 * T-06 while the command runs: links change between any two looks at them. This program's own
 * readlink() stands in for a command that does so at the worst moment.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "run/project/git_file.h"
#include "run/project/git_scan.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <fcntl.h>
#include <koda/policy.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const char *watched; /* the path whose every reading changes it */
static const char *target;  /* what it says when it is a link */
static unsigned int looks;
static const char *closed; /* a name whose directory is closed when it is read, and open again */
static int reason = EACCES;

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

	if (closed && strcmp(name, closed) == 0) {
		looks++;
		errno = reason;
		return -1;
	}

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

static const char *unseen; /* the end of a path, or a name, that is closed when it is looked at */
static bool of_a_stranger; /* what is found does not tell whose it is */

static int look(int dirfd, const char *path, struct stat *st, int flags)
{
	return (int)syscall(SYS_newfstatat, dirfd, path, st, flags);
}

static bool is_unseen(const char *path)
{
	size_t len = unseen ? strlen(unseen) : 0;

	if (len == 0 || strlen(path) < len || strcmp(path + strlen(path) - len, unseen) != 0)
		return false;
	looks++;
	errno = reason;
	return true;
}

int lstat(const char *path, struct stat *st)
{
	return is_unseen(path) ? -1 : look(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return is_unseen(path) ? -1 : look(dirfd, path, st, flags);
}

int fstat(int fd, struct stat *st)
{
	errno = EACCES;
	return of_a_stranger ? -1 : look(fd, "", st, AT_EMPTY_PATH);
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
			KODA_ASSERT_OK(koda_policy_links_resolve_now(&site, policy, &err), err);
			watched = NULL;
			assert_false(lists(policy, *list, secret));
			koda_policy_free(policy);
			flip(door); /* the other way round next time */
		}
	}
	/* A directory is seen to be none in one look with the rest of the path; a link is not. */
	assert_true(looks > 0);
}

/* T-15. What cannot be followed is not taken for what it says. */
static void a_directory_that_is_closed_for_a_moment_hides_no_link(void **state)
{
	static const enum koda_list denies[] = { KODA_LIST_DENY_READ,
						 KODA_LIST_DENY_WRITE_WITHIN_ALLOW };
	static const char *const paths[] = { "shut/link", "shut/link/x" };

	(void)koda_make_dir(*state, "secret");
	(void)koda_make_dir(*state, "shut");
	(void)koda_make_link(*state, "shut/link", "../secret");
	KODA_EACH(list, denies) {
		KODA_EACH(path, paths) {
			const char *link = koda_in(*state, *path);
			struct koda_policy *policy = NULL;
			struct koda_error err = { 0 };

			KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
			KODA_ASSERT_OK(koda_policy_add(policy, *list, link, strlen(link), &err),
				       err);
			looks = 0;
			closed = "link";
			KODA_ASSERT_FAILS(KODA_E_DENIED,
					  koda_policy_links_resolve_now(&site, policy, &err), err);
			closed = NULL;
			assert_true(looks > 0);
			/* Twin: while it stays open. */
			KODA_ASSERT_OK(koda_policy_links_resolve_now(&site, policy, &err), err);
			koda_policy_free(policy);
		}
	}
}

/* T-12. It has been opened since, but nobody has looked. */
static void what_was_closed_is_not_seen_by_being_open(void **state)
{
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "shut");
	(void)koda_make_file(*state, "shut/file", "x");
	KODA_ASSERT_FAILS(KODA_E_DENIED,
			  koda_policy_links_check_closed(koda_in(*state, "shut/file"), &err), err);
	assert_string_equal(err.field, koda_in(*state, "shut/file"));
	assert_non_null(strstr(err.message, koda_in(*state, "shut")));
	KODA_ASSERT_FAILS(KODA_E_DENIED,
			  koda_policy_links_check_closed(koda_in(*state, "shut/missing"), &err),
			  err);
}

/* T-12. Not by being open again, nor by looking like nothing for the moment. */
static void a_pointer_that_is_closed_for_a_moment_is_followed(void **state)
{
	const char *file = koda_in(*state, "sub/.git");
	struct koda_strv links = KODA_STRV_INIT;
	struct koda_error err = { 0 };
	char *dir = NULL;

	(void)koda_make_dir(*state, "sub");
	(void)koda_make_dir(*state, "store");
	(void)koda_make_file(*state, "sub/.git", "gitdir: ../store\n");
	unseen = "sub/.git";
	KODA_ASSERT_FAILS(KODA_E_DENIED, koda_git_file_follow(file, &dir, &links, &err), err);
	/* Twin: nothing in the directory looks like git's. */
	unseen = NULL;
	KODA_ASSERT_OK(koda_git_file_follow(file, &dir, &links, &err), err);
	assert_null(dir);
	unseen = "config";
	KODA_ASSERT_OK(koda_git_file_follow(file, &dir, &links, &err), err);
	unseen = NULL;
	assert_non_null(dir);
	free(dir);
	koda_strv_clear(&links);
}

/* T-12. Whether or not anybody wants to know why. */
static void a_pointer_that_cannot_be_followed_is_an_error(void **state)
{
	const char *file = koda_in(*state, "sub/.git");
	struct koda_strv links = KODA_STRV_INIT;
	char *dir = NULL;

	(void)koda_make_dir(*state, "sub");
	(void)koda_make_dir(*state, "store");
	(void)koda_make_link(*state, "door", "store");
	(void)koda_make_file(*state, "store/config", "");
	(void)koda_make_file(*state, "sub/.git", "gitdir: ../door\n");
	closed = "door";
	reason = EIO;
	assert_int_equal(KODA_E_SYS, koda_git_file_follow(file, &dir, &links, NULL));
	closed = NULL;
	reason = EACCES;
	assert_null(dir);
	/* Twin */
	assert_int_equal(KODA_OK, koda_git_file_follow(file, &dir, &links, NULL));
	assert_non_null(dir);
	free(dir);
	koda_strv_clear(&links);
}

/* Looks, and follows what was found. */
static int scan_all(const char *root, unsigned int depth, const struct koda_git_found *found,
		    struct koda_error *err)
{
	int r = koda_git_scan(root, depth, found, err);

	return r < 0 ? r : koda_git_related_follow(found, err);
}

/* T-30. What could not be looked at is not taken for nothing, whatever the reason. */
static void what_cannot_be_looked_at_is_an_error(void **state)
{
	static const char *const names[] = { ".git", "config", "HEAD", "store/modules" };
	static const int reasons[] = { EMFILE, ENFILE, EIO, ENOMEM };

	(void)koda_make_dir(*state, "store");
	(void)koda_make_dir(*state, "store/objects");
	(void)koda_make_dir(*state, "store/refs");
	(void)koda_make_file(*state, "store/HEAD", "x");
	for (size_t i = 0; i < KODA_ARRAY_LEN(names) * KODA_ARRAY_LEN(reasons); i++) {
		struct koda_strv lists[3] = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
		struct koda_survey_budget budget = { 0 };
		const struct koda_git_found found = { .git_dirs = &lists[0],
						      .git_files = &lists[1],
						      .closed = &lists[2],
						      .budget = &budget };
		struct koda_error err = { 0 };

		unseen = names[i % KODA_ARRAY_LEN(names)];
		reason = reasons[i / KODA_ARRAY_LEN(names)];
		KODA_EXPECT(unseen, scan_all(*state, 4, &found, &err) == KODA_E_SYS);
		KODA_EXPECT(unseen, err.sys_errno == reason && strstr(err.field, *state));
		/* Twin */
		unseen = NULL;
		reason = EACCES;
		koda_strv_clear(&lists[0]);
		KODA_ASSERT_OK(scan_all(*state, 4, &found, &err), err);
		assert_true(koda_strv_has(&lists[0], koda_in(*state, "store")));
		for (size_t k = 0; k < KODA_ARRAY_LEN(lists); k++)
			koda_strv_clear(&lists[k]);
	}
}

/* T-12. The directory of the submodules is a link, and cannot be looked at at first. */
static void submodules_behind_a_link_are_not_passed_over(void **state)
{
	struct koda_strv lists[3] = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found found = { .git_dirs = &lists[0],
					      .git_files = &lists[1],
					      .closed = &lists[2],
					      .budget = &budget };
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, ".git");
	(void)koda_make_dir(*state, "away");
	(void)koda_make_link(*state, ".git/modules", "../away");
	unseen = ".git/modules";
	KODA_ASSERT_FAILS(KODA_E_DENIED, scan_all(*state, 2, &found, &err), err);
	unseen = NULL;
	KODA_ASSERT_OK(scan_all(*state, 2, &found, &err), err);
	KODA_EACH(list, lists)
		koda_strv_clear(list);
}

/* T-30. Its HEAD was taken away, and while it is looked for otherwise it cannot be looked into. */
static void a_repository_that_is_closed_for_a_moment_is_found(void **state)
{
	struct koda_strv lists[3] = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found found = { .git_dirs = &lists[0],
					      .git_files = &lists[1],
					      .closed = &lists[2],
					      .budget = &budget };
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "bare");
	(void)koda_make_dir(*state, "bare/objects");
	(void)koda_make_dir(*state, "bare/refs");
	(void)koda_make_file(*state, "bare/config", "[core]\n\tbare = true\n");
	unseen = "config";
	KODA_ASSERT_OK(scan_all(*state, 2, &found, &err), err);
	unseen = NULL;
	assert_true(koda_strv_has(&lists[0], koda_in(*state, "bare")));
	KODA_EACH(list, lists)
		koda_strv_clear(list);
}

/* What another user has mounted, no command opens: a project with that in it is not refused. */
static void what_a_stranger_has_closed_is_nobodys_link(void **state)
{
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "mount");
	of_a_stranger = true;
	KODA_ASSERT_OK(koda_policy_links_check_closed(koda_in(*state, "mount"), &err), err);
	KODA_ASSERT_OK(koda_policy_links_check_closed(koda_in(*state, "mount/x"), &err), err);
	of_a_stranger = false;
	KODA_ASSERT_FAILS(KODA_E_DENIED,
			  koda_policy_links_check_closed(koda_in(*state, "mount"), &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_directory_that_is_closed_for_a_moment_hides_no_link),
		KODA_SCRATCH_TEST(what_was_closed_is_not_seen_by_being_open),
		KODA_SCRATCH_TEST(a_pointer_that_is_closed_for_a_moment_is_followed),
		KODA_SCRATCH_TEST(a_pointer_that_cannot_be_followed_is_an_error),
		KODA_SCRATCH_TEST(what_cannot_be_looked_at_is_an_error),
		KODA_SCRATCH_TEST(submodules_behind_a_link_are_not_passed_over),
		KODA_SCRATCH_TEST(a_repository_that_is_closed_for_a_moment_is_found),
		KODA_SCRATCH_TEST(what_a_stranger_has_closed_is_nobodys_link),
		KODA_SCRATCH_TEST(a_link_that_comes_and_goes_opens_nothing),
	};

	return KODA_TEST_RUN(tests);
}
