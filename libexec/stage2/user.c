/* SPDX-License-Identifier: MIT */
/*
 * T-34. User namespaces, of which there are two. Init builds the view in the first. When a mount
 * namespace goes, the kernel takes its mounts apart, and whoever still has a descriptor into it
 * sees what was covered - unless the mounts are locked together, which they are in a copy that
 * belongs to another user namespace. So the command gets a copy: descriptors that it hands to a
 * command of another sandbox show what it saw itself, also when it is gone.
 */
#include "stage2.h"

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
		koda_stage2_fail("write", path, errno);
	(void)close(fd);
}

void koda_user_map(uid_t uid, gid_t gid)
{
	char map[64];

	/* An undumpable process's files in /proc belong to root, these among them. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		koda_stage2_fail("become dumpable", "", errno);
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	write_file("/proc/self/gid_map", map);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		koda_stage2_fail("become undumpable", "", errno);
}

bool koda_user_try_seclude(uid_t uid, gid_t gid)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	koda_user_map(uid, gid);
	return true;
}

void koda_user_seclude(uid_t uid, gid_t gid)
{
	if (!koda_user_try_seclude(uid, gid))
		koda_stage2_fail("lock the view in namespaces of its own", "", errno);
	/* It came back, complete, with the namespace. */
	koda_lock_bounding_set();
}
