/* SPDX-License-Identifier: MIT */
/* T-17 the host's sockets are found where they are, whatever name they were bound by. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/str.h"
#include "run/socket.h"

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

static struct koda_strv find(const char *root)
{
	struct koda_strv found = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_socket_find(root, &found, &err), err);
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
	int fds[3];

	KODA_CHILD_CHECK(chdir(koda_in(dir, "project/sub")) == 0);
	KODA_CHILD_CHECK((fds[0] = bind_at("left", SOCK_STREAM)) >= 0);
	KODA_CHILD_CHECK(chdir(koda_in(dir, "project")) == 0);
	KODA_CHILD_CHECK((fds[1] = bind_at("./root", SOCK_DGRAM)) >= 0);
	KODA_CHILD_CHECK(chdir(koda_in(dir, "elsewhere")) == 0);
	KODA_CHILD_CHECK((fds[2] = bind_at("here", SOCK_STREAM)) >= 0);
	KODA_CHILD_CHECK(koda_socket_find(koda_in(dir, "project"), &found, NULL) == KODA_OK);
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

/* Where the kernel does not tell the inodes, the table of names is left. */
static int find_by_name(void *dir)
{
	struct koda_strv found = KODA_STRV_INIT;

	KODA_CHILD_CHECK(bind_at(koda_in(dir, "s"), SOCK_STREAM) >= 0);
	KODA_CHILD_CHECK(koda_child_block(SYS_sendto, EPERM));
	KODA_CHILD_CHECK(koda_socket_find(dir, &found, NULL) == KODA_OK);
	KODA_CHILD_CHECK(koda_strv_has(&found, koda_in(dir, "s")));
	koda_strv_clear(&found);
	return 0;
}

static void names_are_enough_if_there_is_nothing_else(void **state)
{
	assert_int_equal(koda_child_run(find_by_name, *state), 0);
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
		KODA_SCRATCH_TEST(a_socket_that_nobody_has_bound_is_left_alone),
	};

	return KODA_TEST_RUN(tests);
}
