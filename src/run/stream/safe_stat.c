/* SPDX-License-Identifier: MIT */
/* T-95. */
#include "run/stream/safe_stat.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "wire/mount_line.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* Bytes of the mount table that count as one step. */
#define TABLE_STEP 256

bool koda_safe_stat_spend(struct koda_safe_stat_budget *budget, uint64_t steps)
{
	if (budget->steps >= KODA_SAFE_STAT_STEPS || steps > KODA_SAFE_STAT_STEPS - budget->steps) {
		budget->steps = KODA_SAFE_STAT_STEPS;
		return false;
	}
	budget->steps += steps;
	return true;
}

/* Stats an open file from the kernel's cache, without asking a file server. */
static bool look(int fd, struct statx *ret_st)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		     STATX_TYPE | STATX_MODE | STATX_MTIME, ret_st) == 0;
}

/* File systems that read from memory or from a disk of this machine. */
static bool is_local_type(const char *type)
{
	static const char *const types[] = { "bcachefs", "btrfs", "ext2",  "ext3", "ext4", "f2fs",
					     "overlay",  "ramfs", "tmpfs", "xfs",  "zfs" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* Reads the mount table, because statfs() would ask the file server. */
static bool is_local_device(struct koda_safe_stat_budget *budget, const char *device)
{
	koda_auto_buf struct koda_buf table = KODA_BUF_INIT(KODA_MOUNT_TABLE_MAX);
	koda_auto_fd int fd = open(KODA_MOUNT_TABLE_PATH, O_RDONLY | O_CLOEXEC);
	char *rest;
	char *line;

	if (fd < 0 || koda_fd_read_all(fd, &table, NULL) < 0 || koda_buf_add(&table, "", 1) < 0 ||
	    !koda_safe_stat_spend(budget, table.len / TABLE_STEP))
		return false;
	rest = table.ptr;
	while ((line = strsep(&rest, "\n"))) {
		struct koda_mount_line mount;
		char *type;

		if (!koda_mount_parse(line, &mount) || strcmp(mount.device, device) != 0)
			continue;
		type = strstr(mount.options, " - ");
		if (!type)
			return false;
		type += strlen(" - ");
		type[strcspn(type, " ")] = '\0';
		return is_local_type(type);
	}
	return false;
}

static bool is_local(struct koda_safe_stat_budget *budget, int dir)
{
	struct statx st;
	uint64_t device;
	char text[32];

	if (!look(dir, &st))
		return false;
	device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	for (size_t i = 0; i < budget->known_count; i++)
		if (budget->known[i].device == device)
			return budget->known[i].local;
	if (budget->known_count == KODA_SAFE_STAT_DEVICES)
		return false;
	(void)snprintf(text, sizeof(text), "%u:%u", st.stx_dev_major, st.stx_dev_minor);
	budget->known[budget->known_count].device = device;
	budget->known[budget->known_count].local = is_local_device(budget, text);
	return budget->known[budget->known_count++].local;
}

static int open_cached(int dir, const char *name, uint64_t resolve)
{
	const struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				      .resolve = resolve };

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Opens an entry of a directory; -1 and errno on failure. */
static int enter(struct koda_safe_stat_budget *budget, int dir, struct koda_span step)
{
	char name[KODA_NAME_MAX + 1];
	int fd;

	memcpy(name, step.ptr, step.len);
	name[step.len] = '\0';
	fd = open_cached(dir, name, RESOLVE_CACHED);
	if (fd < 0 && errno == EAGAIN) {
		if (is_local(budget, dir) && koda_safe_stat_spend(budget, 1))
			return open_cached(dir, name, 0);
		errno = EAGAIN;
	}
	return fd;
}

struct koda_safe_stat_result koda_safe_stat_path(struct koda_safe_stat_budget *budget,
						 const char *path)
{
	koda_auto_fd int at = open("/", O_PATH | O_CLOEXEC);
	struct koda_safe_stat_result result = { .state = KODA_SAFE_STAT_UNKNOWN };
	struct koda_span rest = koda_span_of(path);
	struct koda_span step;
	struct statx st;
	enum koda_step kind;
	int next = at;

	if (at < 0)
		return result;
	while ((kind = koda_path_next(&rest, &step)) != KODA_STEP_END) {
		if (kind != KODA_STEP_NAME || !koda_safe_stat_spend(budget, 1))
			return result;
		next = enter(budget, at, step);
		if (next < 0)
			break;
		result.existing_len = (size_t)(step.ptr + step.len - path);
		koda_fd_close(&at);
		at = next;
	}
	if (next < 0 && errno != ENOENT && errno != ENOTDIR)
		return result;
	result.state = next >= 0         ? KODA_SAFE_STAT_EXISTS
		       : errno == ENOENT ? KODA_SAFE_STAT_MISSING
					 : KODA_SAFE_STAT_BLOCKED;
	if (result.state == KODA_SAFE_STAT_MISSING)
		result.missing_len = (size_t)(step.ptr + step.len - path);
	if (look(at, &st)) {
		result.mode = st.stx_mode;
		result.mtime = st.stx_mtime.tv_sec;
	} else if (result.state != KODA_SAFE_STAT_MISSING) {
		result.state = KODA_SAFE_STAT_UNKNOWN;
	}
	return result;
}
