/* SPDX-License-Identifier: MIT */
#include "run/project/remedy.h"

#include "base/macros.h"
#include "wire/launch_step.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define USERNS_OFF                                                                                 \
	"user namespaces, which hold files, processes and network, are switched off; allow them "  \
	"(kernel.unprivileged_userns_clone, AppArmor, the container's seccomp profile)"
#define USERNS_NESTED                                                                              \
	"a user namespace within one is forbidden; allow it (AppArmor, the container's seccomp "   \
	"profile)"
#define KERNEL_OLD                                                                                 \
	"this needs Linux 5.19 or newer, or a filter hides its calls, as another sandbox does: "   \
	"start it outside"

/* Remedies for steps of the launcher. The first row that fits counts; errno 0: any. */
static const struct {
	enum koda_launch_step step;
	int sys_errno;
	const char *remedy;
} for_steps[] = {
	{ KODA_LAUNCH_CREATE_NAMESPACES, ENOSPC, "raise user.max_user_namespaces" },
	{ KODA_LAUNCH_CREATE_NAMESPACES, EUSERS, "raise user.max_user_namespaces" },
	{ KODA_LAUNCH_CREATE_NAMESPACES, ENOMEM, "free some memory" },
	{ KODA_LAUNCH_CREATE_NAMESPACES, EAGAIN, "too many processes; end some, or try again" },
	{ KODA_LAUNCH_CREATE_NAMESPACES, 0, USERNS_OFF },
	{ KODA_LAUNCH_NET_CREATE, ENOSPC, "raise user.max_net_namespaces" },
	{ KODA_LAUNCH_NET_CREATE, EUSERS, "raise user.max_net_namespaces" },
	{ KODA_LAUNCH_NET_CREATE, ENOMEM, "free some memory" },
	{ KODA_LAUNCH_NET_CREATE, 0, USERNS_OFF },
	/* As AppArmor leaves a user namespace: without rights in it. */
	{ KODA_LAUNCH_FS_OPEN, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_FS_CREATE, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_CHANGE_VIEW, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_DEVICE_CLONE, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_MOUNT_READ_ONLY, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_NET_LOOPBACK, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_HOST_NAME, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_LOCK_VIEW, ENOSPC, "raise user.max_user_namespaces" },
	{ KODA_LAUNCH_LOCK_VIEW, EUSERS, "raise user.max_user_namespaces" },
	{ KODA_LAUNCH_LOCK_VIEW, ENOMEM, "free some memory" },
	{ KODA_LAUNCH_LOCK_VIEW, 0, USERNS_NESTED },
	{ KODA_LAUNCH_BWRAP_FAILED, 0,
	  "see koda-sandbox doctor; bubblewrap has to be 0.6 or newer" },
	{ KODA_LAUNCH_CHECK_VIEW, 0, "run it again" },
	{ KODA_LAUNCH_PARENT_LOCKED, 0,
	  "end the program that holds a lock (flock) on it, then run it again" },
	/* The file system was made, so the rights suffice. Mounting it would uncover what the
	 * container has covered. */
	{ KODA_LAUNCH_FS_MOUNT, EPERM,
	  "a container has to show all of /proc (podman: --security-opt unmask=ALL)" },
	{ KODA_LAUNCH_MAP_USER, EPERM, USERNS_OFF },
	{ KODA_LAUNCH_MAP_USER, EACCES, USERNS_OFF },
	{ KODA_LAUNCH_LANDLOCK_MISSING, EOPNOTSUPP,
	  "Landlock is switched off; add it to lsm= on the kernel's command line" },
	{ KODA_LAUNCH_LANDLOCK_MISSING, 0,
	  "use Linux 5.19 or newer with Landlock, and no filter that hides it" },
	{ KODA_LAUNCH_NOTIFY_FILTER_INSTALL, EBUSY,
	  "another program supervises system calls around this one; run outside of it" },
	{ KODA_LAUNCH_NOTIFY_FILTER_INSTALL, 0,
	  "use a kernel with seccomp user notification, and no filter that hides it" },
	{ KODA_LAUNCH_PROCTREE_LIST, 0,
	  "mount /proc, and use a kernel that is built with CONFIG_PROC_CHILDREN" },
	{ KODA_LAUNCH_PROCTREE_HIDDEN, 0, "mount /proc without hidepid, or use --backend native" },
	{ KODA_LAUNCH_SCRATCH_MAKE, 0, "let /tmp be written, and free some space in it" },
	{ KODA_LAUNCH_FILTER_INSTALL, 0,
	  "use a kernel with CONFIG_SECCOMP_FILTER, and no filter that hides seccomp" },
	{ KODA_LAUNCH_RESERVE, EROFS, "the project cannot be written; use --read-only" },
	{ KODA_LAUNCH_RESERVE, EACCES,
	  "its directory cannot be written; let it be (chmod u+w), or use --read-only" },
	/* A file system without sockets (of another system, or over a network), or a directory
	 * that is immutable (chattr +i). */
	{ KODA_LAUNCH_RESERVE, EPERM,
	  "the file system does not let it be made; use --read-only, or a project elsewhere" },
	{ KODA_LAUNCH_RESERVE, EOPNOTSUPP,
	  "the file system does not let it be made; use --read-only, or a project elsewhere" },
	{ KODA_LAUNCH_RESERVE, ENOSPC, "free some disk space" },
	{ KODA_LAUNCH_RESERVE, EDQUOT, "free some disk space" },
	{ KODA_LAUNCH_KEYRING, EDQUOT,
	  "too many keyrings of this user are in use; end other runs, or raise "
	  "kernel.keys.maxkeys" },
	{ KODA_LAUNCH_PATH_CHANGED, 0, "run it again" },
	{ KODA_LAUNCH_HIDE_REPLACED, 0, "end the program that replaces it, then run it again" },
	{ KODA_LAUNCH_PATH_BECAME_LINK, 0, "run it again" },
	{ KODA_LAUNCH_HIDE_CLOSED, 0,
	  "open the directories of its path (chmod u+rwx), then run it again" },
	{ KODA_LAUNCH_RESERVE_APPEARED, 0, "run it again" },
	/* The guardian, outside the sandbox, can open the path. */
	{ KODA_LAUNCH_OPEN, EACCES,
	  "in the sandbox root has no more rights than other users; run it as the owner of the "
	  "project" },
	{ KODA_LAUNCH_COMMAND_CWD, EACCES,
	  "the policy hides it, or it is another user's; name another place with --cwd" },
	{ KODA_LAUNCH_CLONE_TREE, EMFILE,
	  "too many repositories and protected names; remove some, name a project root with fewer, "
	  "or raise the limit of open files (ulimit -n)" },
};

/* Remedies for failures of the runner. The first row that fits counts; errno 0: any. */
static const struct {
	enum koda_failure failure;
	int sys_errno;
	const char *remedy;
} for_failures[] = {
	{ KODA_FAILURE_BWRAP_MISSING, 0, "install the package bubblewrap" },
	{ KODA_FAILURE_BWRAP_FOREIGN, 0, "install the package bubblewrap again" },
	{ KODA_FAILURE_CWD, 0, "change to a directory that exists, or name another project root" },
	{ KODA_FAILURE_ROOT, ENOENT, "make it first, or name another" },
	{ KODA_FAILURE_ROOT, 0, "name another" },
	{ KODA_FAILURE_ROOT_KIND, 0, "name the directory that it is in" },
	{ KODA_FAILURE_SOCKET_LIST, 0, "end programs that have very many Unix sockets" },
	{ KODA_FAILURE_SOCKET_TABLE, 0, "mount /proc, readable" },
	{ KODA_FAILURE_NO_PROC, 0, "mount /proc" },
	{ KODA_FAILURE_START, ENOENT, "install koda-sandbox again: the launcher is missing" },
	{ KODA_FAILURE_START, EACCES,
	  "install koda-sandbox again: the launcher cannot be executed" },
	{ KODA_FAILURE_START, EPERM, "no filter may forbid starting processes" },
};

/* Remedies for everything else. */
static const struct {
	int sys_errno;
	const char *remedy;
} for_errnos[] = {
	{ ENOSYS, KERNEL_OLD },
	{ EMFILE, "raise the limit of open files (ulimit -n, or max_open_fds of the policy)" },
	{ EFBIG, "raise the limit of file sizes (ulimit -f)" },
	{ ENFILE, "too many files are open on this machine" },
	{ EAGAIN, "too many processes, or something changed meanwhile; try again" },
	{ ENOMEM, "free some memory" },
	{ ENOSPC, "free some disk space" },
	{ ENAMETOOLONG,
	  "a path is too long; remove the deepest directories, or use a project elsewhere" },
};

/* Appends a remedy, if it fits whole. */
static void append(struct koda_error *err, const char *remedy)
{
	size_t used = strlen(err->message);
	size_t len = strlen(remedy);

	if (used + 2 + len >= sizeof(err->message))
		return;
	memcpy(err->message + used, "; ", 2);
	memcpy(err->message + used + 2, remedy, len + 1);
}

static bool is_errno(int wanted, const struct koda_error *err)
{
	return wanted == 0 || wanted == err->sys_errno;
}

/* Returns the remedy for an errno whatever has failed with it, or NULL. */
static const char *remedy_for_errno(int sys_errno)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(for_errnos); i++)
		if (for_errnos[i].sys_errno == sys_errno)
			return for_errnos[i].remedy;
	return NULL;
}

void koda_remedy_add(struct koda_error *err)
{
	const char *remedy = err ? remedy_for_errno(err->sys_errno) : NULL;

	if (remedy)
		append(err, remedy);
}

void koda_remedy_add_for(struct koda_error *err, enum koda_failure failure)
{
	if (!err || remedy_for_errno(err->sys_errno))
		return;
	for (size_t i = 0; i < KODA_ARRAY_LEN(for_failures); i++) {
		if (for_failures[i].failure == failure &&
		    is_errno(for_failures[i].sys_errno, err)) {
			append(err, for_failures[i].remedy);
			return;
		}
	}
}

void koda_remedy_add_for_step(struct koda_error *err, uint32_t step)
{
	for (size_t i = 0; err && i < KODA_ARRAY_LEN(for_steps); i++) {
		if (for_steps[i].step == step && is_errno(for_steps[i].sys_errno, err)) {
			append(err, for_steps[i].remedy);
			return;
		}
	}
	koda_remedy_add(err);
}
