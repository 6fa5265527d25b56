/* SPDX-License-Identifier: MIT */
/* T-17 the host's sockets are found where they are, whatever name they were bound by. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/strv.h"
#include "run/project/host_sockets.h"
#include "run/sandbox.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

static int bind_at(const char *path, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path) || fd < 0)
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	if (type != SOCK_DGRAM && listen(fd, 1) < 0)
		return -1;
	return fd;
}

static const struct koda_host_sockets_bounds bounds = KODA_HOST_SOCKETS_BOUNDS;

static struct koda_strv find(const char *root)
{
	bool unsure = true;
	struct koda_strv found = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_host_sockets_find(root, &bounds, &found, NULL, &unsure, &err), err);
	assert_false(unsure);
	return found;
}

static void sockets_are_listed_once(void **state)
{
	static const struct {
		const char *name;
		int type;
	} rows[] = { { "plain", SOCK_STREAM },        { "with space", SOCK_STREAM },
		     { "utf-\xc3\xbc", SOCK_STREAM }, { "new\nline", SOCK_STREAM },
		     { "datagram", SOCK_DGRAM },      { "packets", SOCK_SEQPACKET } };
	koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
	int fds[KODA_ARRAY_LEN(rows)];

	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		fds[i] = bind_at(koda_in(*state, rows[i].name), rows[i].type);
		assert_true(fds[i] >= 0);
	}
	found = find(*state);
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		unsigned int seen = 0;

		for (size_t k = 0; k < found.len; k++)
			seen += strcmp(found.items[k], koda_in(*state, rows[i].name)) == 0;
		KODA_EXPECT(rows[i].name, seen == 1);
		(void)close(fds[i]);
	}
	for (size_t k = 0; k < found.len; k++)
		assert_int_equal(found.items[k][0], '/');
}

static void a_socket_that_moved_is_found(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} rows[] = { { "a", "b" }, { "dir/a", "deep/er/b" }, { "gone/a", "kept/a" } };
	koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
	int fds[3];

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_dir(*state, "gone");
	(void)koda_make_dir(*state, "deep");
	(void)koda_make_dir(*state, "deep/er");
	for (size_t i = 0; i < 3; i++)
		fds[i] = bind_at(koda_in(*state, rows[i].from), SOCK_STREAM);
	assert_int_equal(rename(koda_in(*state, "a"), koda_in(*state, "b")), 0);
	assert_int_equal(rename(koda_in(*state, "dir/a"), koda_in(*state, "deep/er/b")), 0);
	assert_int_equal(rename(koda_in(*state, "gone"), koda_in(*state, "kept")), 0);
	found = find(*state);
	for (size_t i = 0; i < 3; i++) {
		KODA_EXPECT(rows[i].to, koda_strv_has(&found, koda_in(*state, rows[i].to)));
		(void)close(fds[i]);
	}
}

static void every_name_of_a_socket_is_found(void **state)
{
	koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
	int fd = bind_at(koda_in(*state, "s"), SOCK_STREAM);

	(void)koda_make_dir(*state, "dir");
	assert_int_equal(link(koda_in(*state, "s"), koda_in(*state, "dir/other")), 0);
	found = find(*state);
	assert_true(koda_strv_has(&found, koda_in(*state, "s")));
	assert_true(koda_strv_has(&found, koda_in(*state, "dir/other")));
	(void)close(fd);
}

/* Bound by a relative name, from the project, from a directory that the process is still in, and
 * from one that it left. */
static int bind_relative(void *dir)
{
	struct koda_strv found = KODA_STRV_INIT;
	bool unsure = true;
	int fds[3];

	KODA_CHILD_CHECK(chdir(koda_in(dir, "project/sub")) == 0);
	KODA_CHILD_CHECK((fds[0] = bind_at("left", SOCK_STREAM)) >= 0);
	KODA_CHILD_CHECK(chdir(koda_in(dir, "project")) == 0);
	KODA_CHILD_CHECK((fds[1] = bind_at("./root", SOCK_DGRAM)) >= 0);
	KODA_CHILD_CHECK(chdir(koda_in(dir, "elsewhere")) == 0);
	KODA_CHILD_CHECK((fds[2] = bind_at("here", SOCK_STREAM)) >= 0);
	KODA_CHILD_CHECK(koda_host_sockets_find(koda_in(dir, "project"), &bounds, &found, NULL,
						&unsure, NULL) == KODA_OK &&
			 !unsure);
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "project/sub/left")));
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "project/root")));
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "elsewhere/here")));
	koda_strv_clear(&found);
	return 0;
}

static void relative_names_are_found(void **state)
{
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "project/sub");
	(void)koda_make_dir(*state, "elsewhere");
	assert_int_equal(koda_child_run(bind_relative, *state), 0);
}

/* Where the kernel does not tell the inodes, the table of names is left, and every socket in the
 * project may be one of them. */
static int find_by_name(void *dir)
{
	struct koda_strv found = KODA_STRV_INIT;
	char outside[] = "/tmp/koda-test-XXXXXX";
	bool unsure = true;

	KODA_CHILD_CHECK(bind_at(koda_in(dir, "s"), SOCK_STREAM) >= 0);
	KODA_CHILD_CHECK(bind_at(koda_in(dir, "before"), SOCK_STREAM) >= 0);
	KODA_CHILD_CHECK(rename(koda_in(dir, "before"), koda_in(dir, "sub/after")) == 0);
	KODA_CHILD_CHECK(chdir(koda_in(dir, "sub")) == 0);
	KODA_CHILD_CHECK(bind_at("relative", SOCK_STREAM) >= 0);
	KODA_CHILD_CHECK(mkdtemp(outside) && chdir(outside) == 0);
	KODA_CHILD_CHECK(bind_at("koda-test-relative", SOCK_STREAM) >= 0);
	KODA_CHILD_CHECK(koda_child_block(SYS_sendto, EPERM));
	KODA_CHILD_CHECK(koda_host_sockets_find(dir, &bounds, &found, NULL, &unsure, NULL) ==
			 KODA_OK);
	KODA_CHILD_CHECK(unlink("koda-test-relative") == 0 && rmdir(outside) == 0);
	KODA_CHILD_CHECK(!unsure);
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "s")));
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "sub/after")));
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "sub/relative")));
	for (size_t i = 0; i < found.len; i++)
		if (strstr(found.items[i], "/koda-test-relative"))
			unsure = true; /* found outside, where this process is */
	KODA_CHILD_CHECK(unsure);
	koda_strv_clear(&found);
	return 0;
}

static void names_are_enough_if_there_is_nothing_else(void **state)
{
	(void)koda_make_dir(*state, "sub");
	assert_int_equal(koda_child_run(find_by_name, *state), 0);
}

/* Whoever gives the search up says so; with room for one entry more everything is found. */
static void what_is_not_searched_is_not_sure(void **state)
{
	static const struct {
		struct koda_host_sockets_bounds bounds;
		bool unsure;
	} rows[] = { { { 100, 3 }, true }, { { 3, 100 }, true }, { { 100, 100 }, false } };
	const char *moved = koda_in(*state, "deep/after");
	int fd = bind_at(koda_in(*state, "before"), SOCK_STREAM);

	(void)koda_make_dir(*state, "deep");
	for (int i = 0; i < 8; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "file%d", i);
		(void)koda_make_file(*state, name, "");
	}
	assert_int_equal(rename(koda_in(*state, "before"), moved), 0);
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
		struct koda_error err = { 0 };
		bool unsure = !rows[i].unsure;

		KODA_ASSERT_OK(koda_host_sockets_find(*state, &rows[i].bounds, &found, NULL,
						      &unsure, &err),
			       err);
		assert_int_equal(unsure, rows[i].unsure);
		if (!unsure)
			assert_true(koda_strv_has(&found, moved));
	}
	(void)close(fd);
}

/* Then nothing runs, unless a person accepts it; where init connects, it does not matter. */
static void auto_refuses_what_is_not_sure(void **state)
{
	static const struct {
		enum koda_backend_kind backend;
		enum koda_trust trust;
		bool accepted;
		int wanted;
	} rows[] = { { KODA_BACKEND_NATIVE, KODA_TRUST_AUTO, false, KODA_E_UNSUPPORTED },
		     { KODA_BACKEND_BWRAP, KODA_TRUST_AUTO, false, KODA_E_UNSUPPORTED },
		     { KODA_BACKEND_NATIVE, KODA_TRUST_SAFE, false, KODA_E_UNSUPPORTED },
		     { KODA_BACKEND_NATIVE, KODA_TRUST_SAFE, true, KODA_OK } };
	static const enum koda_clause accept = KODA_CLAUSE_SOCKETS;

	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		const struct koda_sandbox_options options = { .size = sizeof(options),
							      .trust = rows[i].trust,
							      .root = *state,
							      .backend = rows[i].backend,
							      .accept = &accept,
							      .accept_count = rows[i].accepted };
		const struct koda_plan nothing = KODA_PLAN_INIT;
		const koda_clauses unneeded = koda_admit_unneeded(&nothing);
		struct koda_sandbox *sandbox = NULL;
		struct koda_findings findings;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
		KODA_ASSERT_OK(koda_sandbox_admit(sandbox, &nothing, unneeded, &err), err);
		sandbox->sockets_unsure = true;
		assert_int_equal(koda_sandbox_admit(sandbox, &nothing, unneeded, &err),
				 rows[i].wanted);
		if (rows[i].wanted < 0)
			assert_string_equal(err.field, "sockets");
		koda_sandbox_findings(sandbox, &findings);
		assert_int_equal(findings.clause[KODA_CLAUSE_SOCKETS].enforcement,
				 KODA_ENFORCEMENT_REFUSED);
		koda_sandbox_close(sandbox);
	}
}

static void a_socket_that_nobody_has_bound_is_left_alone(void **state)
{
	koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
	int fd = bind_at(koda_in(*state, "dead"), SOCK_STREAM);

	assert_true(fd >= 0);
	(void)close(fd);
	found = find(*state);
	assert_false(koda_strv_has(&found, koda_in(*state, "dead")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(sockets_are_listed_once),
		KODA_SCRATCH_TEST(a_socket_that_moved_is_found),
		KODA_SCRATCH_TEST(every_name_of_a_socket_is_found),
		KODA_SCRATCH_TEST(relative_names_are_found),
		KODA_SCRATCH_TEST(names_are_enough_if_there_is_nothing_else),
		KODA_SCRATCH_TEST(what_is_not_searched_is_not_sure),
		KODA_SCRATCH_TEST(auto_refuses_what_is_not_sure),
		KODA_SCRATCH_TEST(a_socket_that_nobody_has_bound_is_left_alone),
	};

	return KODA_TEST_RUN(tests);
}
