/* SPDX-License-Identifier: MIT */
/*
 * T-49. Compares a view that bubblewrap has made with the plan. Every mount of the plan is examined
 * at its path, by a walk that follows no link: a mount begins exactly there, it is the object that
 * was planned, and it is as restricted as planned. So a path that was changed while the view was
 * being made, or a mount that ended up elsewhere, is noticed before the command runs. All other
 * mounts must be read-only.
 */
#include "init/inspect.h"

#include "fail.h"
#include "init/device.h"
#include "init/walk.h"
#include "sys.h"
#include "wire/mount_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define TMPFS_MAGIC 0x01021994
#define PROC_MAGIC  0x9fa0
#define READ_ONLY   1 /* ST_RDONLY, of f_flags */

/* The object at a path. */
struct found {
	bool mount; /* a mount begins there */
	bool read_only;
	long type; /* of the file system */
	struct stat st;
};

/* EAGAIN: the project may have changed meanwhile, so the runner starts the launcher again. */
static _Noreturn void differs(const char *path)
{
	stage2_fail(KODA_LAUNCH_CHECK_VIEW, path, EAGAIN);
}

static struct found find(int fd, const char *path)
{
	struct found found = { .mount = false };
	struct {
		uint32_t mask, block;
		uint64_t attributes;
		uint64_t rest[30];
	} more;
	struct statfs fs;

	_Static_assert(sizeof(more) == 256, "as the kernel has it");
	if (fstat(fd, &found.st) < 0 || fstatfs(fd, &fs) < 0 ||
	    syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &more) < 0)
		stage2_fail(KODA_LAUNCH_CHECK_STAT, path, errno);
	found.mount = more.attributes & 0x2000; /* STATX_ATTR_MOUNT_ROOT */
	found.read_only = fs.f_flags & READ_ONLY;
	found.type = (long)fs.f_type;
	return found;
}

static bool is_planned(const struct found *found, const struct koda_op *op)
{
	return (op->n1 == 0 && op->n2 == 0) ||
	       (found->st.st_dev == op->n1 && found->st.st_ino == op->n2);
}

/* The overflow uid: users that are not mapped into this user namespace. */
#define NOBODY 65534

/* T-13. The owner of a node, root inside, could change its mode if it were writable. */
static void check_devices(void)
{
	for (const char *const *node = stage2_device_nodes; *node; node++) {
		int fd = stage2_walk_open(*node);
		struct found found;

		if (fd < 0)
			stage2_fail(KODA_LAUNCH_CHECK_OPEN, *node, errno);
		found = find(fd, *node);
		if (!found.mount || !S_ISCHR(found.st.st_mode) ||
		    (!found.read_only && found.st.st_uid == geteuid() && geteuid() != NOBODY))
			differs(*node);
		(void)close(fd);
	}
}

void stage2_inspect_proc(void)
{
	char expected[16];
	char self[16];
	struct statfs fs;
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n < 0)
		stage2_fail(KODA_LAUNCH_CHECK_STAT, "/proc/self", errno);
	self[n] = '\0';
	(void)snprintf(expected, sizeof(expected), "%d", (int)getpid());
	if (statfs("/proc", &fs) < 0)
		stage2_fail(KODA_LAUNCH_CHECK_STAT, "/proc", errno);
	/* Not EAGAIN: no change on the host causes this, and a second start would not cure it. */
	if (fs.f_type != PROC_MAGIC || strcmp(self, expected) != 0)
		stage2_fail(KODA_LAUNCH_CHECK_VIEW, "/proc", 0);
}

static bool is_as_planned(const struct koda_op *op, const struct found *found)
{
	const mode_t mode = found->st.st_mode & 07777;

	switch (op->kind) {
	case KODA_OP_WRITABLE:
		return found->mount && ((op->flags & KODA_OP_LATE) || is_planned(found, op));
	case KODA_OP_READONLY:
	case KODA_OP_HOLE:
		return found->mount && found->read_only && is_planned(found, op);
	case KODA_OP_MASK:
		return found->mount && found->read_only &&
		       mode == (op->flags & KODA_OP_EMPTY ? 0555 : 0);
	case KODA_OP_VEIL:
		return found->mount && found->read_only && found->type == TMPFS_MAGIC &&
		       mode == 0111;
	case KODA_OP_TMPFS:
		return found->mount && found->type == TMPFS_MAGIC &&
		       (found->read_only || !(op->flags & KODA_OP_CLOSED));
	case KODA_OP_OVERLAY:
		return found->mount && found->type == TMPFS_MAGIC;
	case KODA_OP_FILE:
		return S_ISREG(found->st.st_mode) && found->type == TMPFS_MAGIC &&
		       found->st.st_size == (off_t)op->text2.len;
	case KODA_OP_DEV:
		return found->mount && found->read_only && found->type == TMPFS_MAGIC;
	case KODA_OP_PROC:
		return found->mount;
	case KODA_OP_PIN:
		KODA_OPS(KODA_OP_CASE_OUTSIDE_VIEW)
	case KODA_OP_COUNT:
		break;
	}
	return true;
}

static bool is_mount(const struct koda_op *op)
{
	return koda_op_stage(op->kind) == KODA_STAGE_VIEW && op->kind != KODA_OP_PIN;
}

static const char *path_of(const struct koda_op *op)
{
	return op->kind == KODA_OP_DEV    ? "/dev"
	       : op->kind == KODA_OP_PROC ? "/proc"
					  : op->text1.ptr;
}

/* Returns true if a later op mounts on the same path. */
static bool is_covered(const struct plan *plan, const struct koda_op *op, size_t at)
{
	struct koda_op later;

	while (koda_ops_next(plan->bytes, &at, &later))
		if (is_mount(&later) && strcmp(path_of(&later), path_of(op)) == 0)
			return true;
	return false;
}

static void check_op(const struct koda_op *op)
{
	const char *path = path_of(op);
	int fd = stage2_walk_open(path);
	struct found found;

	/* The command has fewer capabilities than this process, so it cannot reach the path
	 * either. */
	if (fd < 0 && op->kind == KODA_OP_MASK && errno == EACCES) {
		if (!stage2_walk_is_shut(path))
			differs(path);
		return;
	}
	if (fd < 0 && op->kind == KODA_OP_MASK && (op->flags & KODA_OP_FLEETING) &&
	    (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return;
	if (fd < 0)
		stage2_fail(KODA_LAUNCH_CHECK_OPEN, path, errno);
	found = find(fd, path);
	if (!is_as_planned(op, &found))
		differs(path);
	(void)close(fd);
}

static bool covers(const char *above, const char *path)
{
	size_t len = strlen(above);

	return strcmp(above, "/") == 0 ||
	       (strncmp(above, path, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* Returns true if the plan lets the mount at path be writable. The deepest op decides, as in the
 * view. */
static bool may_be_writable(const struct plan *plan, const char *path)
{
	bool may = false;
	size_t depth = 0;
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		const char *above = path_of(&op);

		if (!is_mount(&op) || op.kind == KODA_OP_FILE || strlen(above) < depth ||
		    !covers(above, path))
			continue;
		depth = strlen(above);
		may = op.kind == KODA_OP_WRITABLE || op.kind == KODA_OP_OVERLAY ||
		      (op.kind == KODA_OP_TMPFS && !(op.flags & KODA_OP_CLOSED)) ||
		      (op.kind == KODA_OP_PROC && strcmp(path, "/proc") == 0) ||
		      (op.kind == KODA_OP_DEV && strcmp(path, "/dev") != 0);
	}
	return may;
}

/* Returns the id of the mount at fd. Device numbers would not do: btrfs and others have one in the
 * mount table and another in every file. */
static uint64_t mount_number(int fd, const char *path)
{
	struct sys_statx st;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, SYS_STATX_MOUNT_ID, &st) < 0 ||
	    !(st.mask & SYS_STATX_MOUNT_ID))
		stage2_fail(KODA_LAUNCH_CHECK_MOUNT_ID, path, errno);
	return st.mount_id;
}

static void check_mount(const struct plan *plan, char *line)
{
	struct koda_mount_line mount;
	int fd;

	if (!koda_mount_parse(line, &mount))
		stage2_fail(KODA_LAUNCH_CHECK_MOUNT_TABLE, "", 0);
	if (strncmp(mount.options, "rw", 2) != 0 || may_be_writable(plan, mount.point))
		return;
	/* A mount that is out of reach, or covered by another one, cannot be written to. */
	fd = stage2_walk_open(mount.point);
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES)
		stage2_fail(KODA_LAUNCH_CHECK_OPEN, mount.point, errno);
	if (fd >= 0 && mount_number(fd, mount.point) == strtoull(mount.number, NULL, 10))
		differs(mount.point);
	if (fd >= 0)
		(void)close(fd);
}

static void check_mounts(const struct plan *plan)
{
	static const char table[] = KODA_MOUNT_TABLE_PATH;
	char *text = malloc(KODA_MOUNT_TABLE_MAX + 1);
	int fd = open(table, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;
	char *line;

	if (!text || fd < 0)
		stage2_fail(KODA_LAUNCH_CHECK_READ_FILE, table, errno);
	while (n > 0 && len < KODA_MOUNT_TABLE_MAX) {
		n = read(fd, text + len, KODA_MOUNT_TABLE_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n != 0)
		stage2_fail(KODA_LAUNCH_CHECK_READ_FILE, table, n < 0 ? errno : EFBIG);
	(void)close(fd);
	text[len] = '\0';
	for (char *rest = text; (line = strsep(&rest, "\n")) && *line;)
		check_mount(plan, line);
	free(text);
}

void stage2_inspect_view(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (!is_mount(&op) || is_covered(plan, &op, at))
			continue;
		check_op(&op);
		if (op.kind == KODA_OP_DEV)
			check_devices();
		else if (op.kind == KODA_OP_PROC)
			stage2_inspect_proc();
	}
	check_mounts(plan);
}
