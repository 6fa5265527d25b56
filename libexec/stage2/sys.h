/* SPDX-License-Identifier: MIT */
/* System calls and constants that the oldest supported headers do not have. */
#ifndef KODA_STAGE2_SYS_H
#define KODA_STAGE2_SYS_H

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h of 6.1 ends before networks and scopes. */
struct sys_landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct sys_landlock_path {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* The used part of struct statx, whose names clash with the C library's. */
struct sys_statx {
	uint32_t mask;
	uint32_t others[7];
	uint64_t inode;
	uint32_t more[10];
	uint32_t birth[3]; /* seconds in two parts, nanoseconds */
	uint32_t times[11];
	uint32_t device[2];
	uint64_t mount_id;
	uint64_t rest[13];
};
_Static_assert(sizeof(struct sys_statx) == 256, "as the kernel has it");

#define SYS_STATX_INODE    0x100U
#define SYS_STATX_BIRTH    0x800U
#define SYS_STATX_MOUNT_ID 0x1000U

#define SYS_LANDLOCK_RULE_PATH      1
#define SYS_LANDLOCK_VERSION        1U
#define SYS_LANDLOCK_NET_BIND       (1ULL << 0)
#define SYS_LANDLOCK_NET_CONNECT    (1ULL << 1)
#define SYS_LANDLOCK_SCOPE_ABSTRACT (1ULL << 0)
#define SYS_LANDLOCK_SCOPE_SIGNAL   (1ULL << 1)
#define SYS_LANDLOCK_ABI_SCOPES     6
#define SYS_LANDLOCK_WRITE_FILE     (1ULL << 1)
#define SYS_LANDLOCK_MAKE_SOCK      (1ULL << 9)

#define SYS_SECCOMP_WAIT_KILLABLE (1U << 5)
#define SYS_PIDFD_THREAD          O_EXCL

static inline int sys_open_tree(int dirfd, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sys_move_mount(int from, int to)
{
	return (int)syscall(SYS_move_mount, from, "", to, "",
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* Mounts on a name in a directory; a link at the name is not followed. */
static inline int sys_move_mount_at(int from, int dirfd, const char *name)
{
	return (int)syscall(SYS_move_mount, from, "", dirfd, name, MOVE_MOUNT_F_EMPTY_PATH);
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned int flags,
				    struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof(*attr));
}

static inline int sys_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_fsconfig(int fd, unsigned int command, const char *key, const void *value)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, 0);
}

static inline int sys_fsmount(int fd, unsigned int attributes)
{
	return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes);
}

static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

#endif
