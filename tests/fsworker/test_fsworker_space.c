/* SPDX-License-Identifier: MIT */
/*
 * File systems that are full or read-only, files that are larger than memory may be, and a machine
 * without procfs. The mounts are in a mount namespace of the test's own.
 */
#include "rig.h"

#include <sched.h>
#include <sys/mount.h>

#if defined(__SANITIZE_ADDRESS__)
static const bool is_sanitized = true;
#elif defined(__has_feature)
static const bool is_sanitized = __has_feature(address_sanitizer);
#else
static const bool is_sanitized = false;
#endif

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return ok;
}

/* Gets namespaces of its own, once. Returns false where that is not allowed. */
static bool enter_namespaces(void)
{
	static int entered = -1;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (entered >= 0)
		return entered;
	entered = 0;
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		return false;
	if (uid) {
		(void)write_text("/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		if (!write_text("/proc/self/uid_map", map))
			return false;
		(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (!write_text("/proc/self/gid_map", map))
			return false;
	}
	entered = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return entered;
}

/* Mounts a file system of 1 MiB as the root of the worker. */
static void mount_small(const char *dir)
{
	if (!enter_namespaces())
		skip();
	if (mount("tmpfs", koda_in(dir, "root"), "tmpfs", 0, "size=1m") < 0)
		skip();
}

static int count_names(const char *dir)
{
	struct stat st;

	assert_int_equal(stat(koda_in(dir, "root"), &st), 0);
	return (int)st.st_size; /* of a directory of tmpfs: 20 for each name */
}

/* Asks for a write of size bytes. */
static enum koda_fs_status write_much(struct rig *rig, const char *path, size_t size,
				      uint32_t flags)
{
	struct koda_fs_frame request = rig_request(rig, KODA_FS_OP_WRITE, path);
	koda_auto_free char *content = calloc(1, size);
	struct answer answer;

	assert_non_null(content);
	request.flags = flags;
	rig_send(rig, &request);
	rig_send_content(rig, request.id, content, size);
	rig_await(rig, request.id, &answer);
	return (enum koda_fs_status)answer.frame.code;
}

static void a_full_file_system_keeps_files(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const size_t large = (size_t)2 << 20;
	struct rig rig;
	int names;

	mount_small(*state);
	(void)koda_make_file(*state, "root/file", "old");
	names = count_names(*state);
	rig_start(&rig, &setup);
	RIG_EXPECT(NO_SPACE, write_much(&rig, "file", large, 0));
	RIG_EXPECT(NO_SPACE, write_much(&rig, "new", large, 0));
	assert_string_equal(rig_content(koda_in(*state, "root/file")), "old");
	assert_int_equal(count_names(*state), names);
	/* Half of it is there, and the reply says so. */
	RIG_EXPECT(PARTIAL, write_much(&rig, "file", large, KODA_FS_IN_PLACE));
	/* The worker goes on, and what the drafts took is free again. */
	RIG_EXPECT(OK, rig_write(&rig, "file", "new", KODA_FS_IN_PLACE));
	RIG_EXPECT(OK, write_much(&rig, "new", large / 4, 0));
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(umount2(koda_in(*state, "root"), MNT_DETACH), 0);
}

static void a_read_only_root_is_told(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	mount_small(*state);
	(void)koda_make_file(*state, "root/file", "old");
	assert_int_equal(mount(NULL, koda_in(*state, "root"), NULL, MS_REMOUNT | MS_RDONLY, NULL),
			 0);
	rig_start(&rig, &setup);
	RIG_EXPECT(READ_ONLY, rig_write(&rig, "file", "new", 0));
	RIG_EXPECT(READ_ONLY, rig_write(&rig, "file", "new", KODA_FS_IN_PLACE));
	RIG_EXPECT(READ_ONLY, rig_write(&rig, "a/b", "new", KODA_FS_PARENTS));
	RIG_EXPECT(READ_ONLY, rig_do2(&rig, KODA_FS_OP_EDIT, "file", "old", 0));
	RIG_EXPECT(READ_ONLY, rig_do(&rig, KODA_FS_OP_MKDIR, "dir", 0));
	RIG_EXPECT(READ_ONLY, rig_do(&rig, KODA_FS_OP_REMOVE, "file", 0));
	RIG_EXPECT(READ_ONLY, rig_do2(&rig, KODA_FS_OP_RENAME, "file", "new", 0));
	assert_string_equal(rig_read(&rig, "file"), "old");
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(umount2(koda_in(*state, "root"), MNT_DETACH), 0);
}

/* Without procfs a draft has a name from the start. */
static void writes_work_without_procfs(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const size_t large = (size_t)2 << 20;
	struct koda_fs_frame request;
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .text = { { "half", 4 } } };
	struct rig rig;
	int names;

	mount_small(*state);
	/* AddressSanitizer reads its own maps: it keeps procfs. */
	if (!is_sanitized && mount("tmpfs", "/proc", "tmpfs", 0, NULL) < 0)
		skip();
	(void)koda_make_file(*state, "root/file", "old");
	names = count_names(*state);
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, rig_write(&rig, "file", "new", 0));
	assert_string_equal(rig_read(&rig, "file"), "new");
	RIG_EXPECT(EXISTS, rig_write(&rig, "file", "x", KODA_FS_NEW));
	RIG_EXPECT(NO_SPACE, write_much(&rig, "file", large, 0));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_EDIT, "file", "new", 0));
	assert_int_equal(count_names(*state), names);
	/* The name goes with the connection. */
	request = rig_request(&rig, KODA_FS_OP_WRITE, "file");
	rig_send(&rig, &request);
	data.id = request.id;
	rig_send(&rig, &data);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	assert_true(is_sanitized || count_names(*state) != names);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(count_names(*state), names);
	assert_true(is_sanitized || umount2("/proc", MNT_DETACH) == 0);
	assert_int_equal(umount2(koda_in(*state, "root"), MNT_DETACH), 0);
}

/* The most memory that the worker has had, in KiB. */
static unsigned long peak_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long peak = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			peak = strtoul(line + 6, NULL, 10);
	(void)fclose(file);
	return peak;
}

/* Files of any size pass in little memory. KODA_FSWORKER_MIB is the size. */
static void large_files_need_little_memory(void **state)
{
	const char *given = getenv("KODA_FSWORKER_MIB");
	const size_t size = (given ? strtoul(given, NULL, 10) : 48) << 20;
	static char chunk[KODA_FS_CHUNK];
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .text = { { chunk, sizeof(chunk) } } };
	struct koda_fs_frame request, frame;
	struct answer answer;
	size_t received = 0;
	struct rig rig;

	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_WRITE, "large");
	rig_send(&rig, &request);
	data.id = request.id;
	for (size_t sent = 0; sent < size; sent += sizeof(chunk)) {
		memset(chunk, (int)(sent >> 16), sizeof(chunk));
		data.flags = sent + sizeof(chunk) == size ? KODA_FS_LAST : 0;
		rig_send(&rig, &data);
	}
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(answer.frame.n[0], size);
	request = rig_request(&rig, KODA_FS_OP_READ, "large");
	rig_send(&rig, &request);
	while (rig_receive(&rig, &frame) && frame.kind == KODA_FS_DATA) {
		for (size_t i = 0; i < frame.text[0].len; i += 4096)
			assert_int_equal((unsigned char)frame.text[0].ptr[i],
					 (unsigned char)((received + i) >> 16));
		received += frame.text[0].len;
	}
	assert_int_equal(frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(received, size);
	print_message("# %zu MiB, at most %lu KiB of memory\n", size >> 20, peak_of(rig.pid));
	assert_true(is_sanitized || peak_of(rig.pid) < (unsigned long)16 << 10);
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(large_files_need_little_memory),
		RIG_TEST(a_full_file_system_keeps_files),
		RIG_TEST(a_read_only_root_is_told),
		RIG_TEST(writes_work_without_procfs),
	};

	return KODA_TEST_RUN(tests);
}
