/* SPDX-License-Identifier: MIT */
/*
 * T-34. The two user namespaces. Init builds the view in the first. When a mount namespace ends,
 * the kernel unmounts its mounts one by one, and a process that still has a descriptor into it sees
 * what they covered, unless the mounts are locked together. They are in a copy that belongs to
 * another user namespace, so the command gets a copy. A descriptor that it passes to a command of
 * another sandbox shows what it saw itself, even after its own sandbox has ended.
 */
#include "init/userns.h"

#include "command/lock.h"
#include "fail.h"
#include "sys.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		stage2_fail(KODA_LAUNCH_MAP_USER, path, errno);
	(void)close(fd);
}

void stage2_userns_map(uid_t uid, gid_t gid)
{
	char map[64];

	/* Files in /proc of an undumpable process belong to root, uid_map and gid_map among
	 * them. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_DUMPABLE, "", errno);
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	write_file("/proc/self/gid_map", map);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_UNDUMPABLE, "", errno);
}

bool stage2_userns_try_lock_view(uid_t uid, gid_t gid)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	stage2_userns_map(uid, gid);
	return true;
}

void stage2_userns_lock_view(uid_t uid, gid_t gid)
{
	if (!stage2_userns_try_lock_view(uid, gid))
		stage2_fail(KODA_LAUNCH_LOCK_VIEW, "", errno);
	/* The new user namespace brings a full bounding set. */
	stage2_lock_bounding_set();
}
