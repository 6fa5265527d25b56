/* SPDX-License-Identifier: MIT */
#include "run/backend/machine.h"

#include "base/fd.h"
#include "run/backend/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LANDLOCK_VERSION 1U

/* Reads the first bytes of a small file as text; false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
	koda_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Tells whether a sysctl has this value of one digit; false if it does not exist. */
static bool sysctl_is(const char *path, char digit)
{
	char text[32];

	return read_text(path, text, sizeof(text)) && text[0] == digit && text[1] == '\n';
}

static void look_at_landlock(struct koda_machine *machine)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	machine->landlock_abi = abi > 0 ? (int)abi : 0;
	machine->landlock_errno = abi > 0 ? 0 : errno;
}

/* The calls are made with invalid arguments. ENOSYS means that the call does not exist. */
static bool is_there(long result)
{
	return result >= 0 || errno != ENOSYS;
}

/* Landlock came after all of them: with it, a missing call was hidden by a filter. */
static enum koda_calls look_at_calls(int landlock_errno)
{
	if (is_there(syscall(SYS_openat2, -1, NULL, NULL, 0)) &&
	    is_there(syscall(SYS_close_range, 1U, 0U, 0U)) &&
	    is_there(syscall(SYS_mount_setattr, -1, NULL, 0U, NULL, 0)))
		return KODA_CALLS_THERE;
	return landlock_errno != ENOSYS || prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER
		       ? KODA_CALLS_FILTERED
		       : KODA_CALLS_MISSING;
}

static bool has_action(uint32_t action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

const char *koda_machine_notify_obstacle(void)
{
	/* A process has one listener at most, and a filter around this one may have it. */
	if (prctl(PR_GET_SECCOMP) != 0)
		return "a system-call filter around this process";
	return has_action(SECCOMP_RET_USER_NOTIF) ? NULL : "no seccomp user notification";
}

/* Calls with invalid arguments again. The kernel returns EINVAL before it checks permissions, so
 * any other errno comes from a filter. Containers often return ENOSYS for clone3 while later calls
 * exist. */
static bool is_filtered(enum koda_calls calls)
{
	return (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_SETTLS) < 0 && errno != EINVAL) ||
	       (syscall(SYS_clone3, NULL, 0) < 0 && errno != EINVAL && calls == KODA_CALLS_THERE);
}

static bool is_restricted_by_apparmor(void)
{
	return sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1');
}

static enum koda_userns look_at_userns(bool as_root, enum koda_calls calls)
{
	if (is_filtered(calls))
		return KODA_USERNS_FILTERED;
	if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
		return KODA_USERNS_NONE;
	if (as_root)
		return KODA_USERNS_FREE; /* the other restrictions do not apply to root */
	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return KODA_USERNS_CLOSED;
	return is_restricted_by_apparmor() ? KODA_USERNS_APPARMOR : KODA_USERNS_FREE;
}

bool koda_machine_expects_open_views(void)
{
	return geteuid() != 0 && is_restricted_by_apparmor();
}

/* Kernels with mount_setattr allow overlay in user namespaces. A module that is not loaded yet is
 * not in /proc/filesystems and cannot be loaded from a user namespace. */
bool koda_machine_has_overlay(void)
{
	char text[4096];

	return read_text("/proc/filesystems", text, sizeof(text)) && strstr(text, "\toverlay\n");
}

static bool lists_children(void)
{
	char text[32];

	return read_text("/proc/thread-self/children", text, sizeof(text));
}

bool koda_machine_has_cgroup(void)
{
	koda_auto_free char *dir = NULL;

	return koda_cgroup_find(KODA_CGROUP_MOUNT, KODA_CGROUP_SELF, &dir, NULL) == KODA_OK && dir;
}

int koda_machine_open_bubblewrap(enum koda_bubblewrap *ret_found)
{
	static const char *const places[] = { "/usr/bin/bwrap", "/usr/local/bin/bwrap",
					      "/bin/bwrap" };
	enum koda_bubblewrap found = KODA_BUBBLEWRAP_MISSING;
	int fd = -1;

	for (size_t i = 0; i < KODA_ARRAY_LEN(places) && fd < 0; i++) {
		struct stat st;

		fd = open(places[i], O_PATH | O_CLOEXEC);
		if (fd < 0)
			continue;
		/* This descriptor is the one that is executed later. */
		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 ||
		    (st.st_mode & 022) || !(st.st_mode & 0111)) {
			found = KODA_BUBBLEWRAP_FOREIGN;
			koda_fd_close(&fd);
		}
	}
	if (ret_found)
		*ret_found = fd >= 0 ? KODA_BUBBLEWRAP_THERE : found;
	return fd;
}

void koda_machine_probe_quick(struct koda_machine *ret_machine)
{
	*ret_machine = (struct koda_machine){
		.as_root = geteuid() == 0,
		.seccomp_filter = true,
		.overlay = true,
		.userns = KODA_USERNS_FREE,
	};
	look_at_landlock(ret_machine);
	ret_machine->no_notification = !has_action(SECCOMP_RET_USER_NOTIF);
}

void koda_machine_probe_full(struct koda_machine *ret_machine)
{
	int fd;

	koda_machine_probe_quick(ret_machine);
	ret_machine->calls = look_at_calls(ret_machine->landlock_errno);
	ret_machine->seccomp_filter = has_action(SECCOMP_RET_ERRNO);
	ret_machine->no_children = !lists_children();
	ret_machine->overlay = koda_machine_has_overlay();
	ret_machine->cgroup = koda_machine_has_cgroup();
	fd = koda_machine_open_bubblewrap(&ret_machine->bubblewrap);
	koda_fd_close(&fd);
	ret_machine->userns = look_at_userns(ret_machine->as_root, ret_machine->calls);
}
