/* SPDX-License-Identifier: MIT */
#include "run/remedy.h"

#include <errno.h>
#include <string.h>

#define USERNS_OFF                                                                                 \
	"user namespaces, which hold files, processes and network, are switched off; allow them "  \
	"(kernel.unprivileged_userns_clone, AppArmor, the container's seccomp profile)"
#define USERNS_NESTED                                                                              \
	"a user namespace within one is forbidden; allow it (AppArmor, the container's seccomp "   \
	"profile)"
#define KERNEL_OLD "this needs Linux 5.19 or newer, and no filter that hides its calls"

/* The first row that fits counts: what the message begins with ("": anything), and the error
 * (0: any). */
static const struct {
	const char *what;
	int sys_errno;
	const char *remedy;
} rows[] = {
	{ "create namespaces", ENOSPC, "raise user.max_user_namespaces" },
	{ "create namespaces", EUSERS, "raise user.max_user_namespaces" },
	{ "create namespaces", ENOMEM, "free some memory" },
	{ "create namespaces", EAGAIN, "too many processes; end some, or try again" },
	{ "create namespaces", 0, USERNS_OFF },
	{ "create a network namespace", ENOSPC, "raise user.max_net_namespaces" },
	{ "create a network namespace", EUSERS, "raise user.max_net_namespaces" },
	{ "create a network namespace", ENOMEM, "free some memory" },
	{ "create a network namespace", 0, USERNS_OFF },
	/* As AppArmor leaves a user namespace: without rights in it. */
	{ "make a file system", EPERM, USERNS_OFF },
	{ "create a file system for", EPERM, USERNS_OFF },
	{ "change the view as a whole", EPERM, USERNS_OFF },
	{ "clone a device", EPERM, USERNS_OFF },
	{ "make a mount read-only", EPERM, USERNS_OFF },
	{ "bring the loopback up", EPERM, USERNS_OFF },
	{ "set the host name", EPERM, USERNS_OFF },
	{ "lock the view in namespaces of its own", ENOSPC, "raise user.max_user_namespaces" },
	{ "lock the view in namespaces of its own", EUSERS, "raise user.max_user_namespaces" },
	{ "lock the view in namespaces of its own", ENOMEM, "free some memory" },
	{ "lock the view in namespaces of its own", 0, USERNS_NESTED },
	{ "bubblewrap cannot make the sandbox", 0,
	  "see koda-sandbox doctor; bubblewrap has to be 0.6 or newer" },
	{ "self-check: the view is not as planned", 0, "run it again" },
	{ "bubblewrap is not installed", 0, "install the package bubblewrap" },
	{ "bubblewrap is not root's alone", 0, "install the package bubblewrap again" },
	{ "somebody keeps the directory locked", 0,
	  "end the program that holds a lock (flock) on it, then run it again" },
	/* It was made, so there are rights; but it would show what somebody has covered. */
	{ "mount a file system for", EPERM,
	  "a container has to show all of /proc (podman: --security-opt unmask=ALL)" },
	{ "write", EPERM, USERNS_OFF },
	{ "write", EACCES, USERNS_OFF },
	{ "Landlock is not available", EOPNOTSUPP,
	  "Landlock is switched off; add it to lsm= on the kernel's command line" },
	{ "Landlock is not available", 0,
	  "use Linux 5.19 or newer with Landlock, and no filter that hides it" },
	{ "supervise connections, sockets and file modes", EBUSY,
	  "another program supervises system calls around this one; run outside of it" },
	{ "supervise connections, sockets and file modes", 0,
	  "use a kernel with seccomp user notification, and no filter that hides it" },
	{ "list child processes by", 0,
	  "mount /proc, and use a kernel that is built with CONFIG_PROC_CHILDREN" },
	{ "a process hides from being counted", 0,
	  "mount /proc without hidepid, or use --backend native" },
	{ "make a temporary directory", 0, "let /tmp be written, and free some space in it" },
	{ "install the system-call filter", 0,
	  "use a kernel with CONFIG_SECCOMP_FILTER, and no filter that hides seccomp" },
	{ "reserve a protected name", EROFS, "the project cannot be written; use --read-only" },
	{ "reserve a protected name", EACCES,
	  "its directory cannot be written; let it be (chmod u+w), or use --read-only" },
	/* One without sockets, as of other systems or over a network, or a directory of mode +i. */
	{ "reserve a protected name", EPERM,
	  "the file system does not let it be made; use --read-only, or a project elsewhere" },
	{ "reserve a protected name", EOPNOTSUPP,
	  "the file system does not let it be made; use --read-only, or a project elsewhere" },
	{ "reserve a protected name", ENOSPC, "free some disk space" },
	{ "reserve a protected name", EDQUOT, "free some disk space" },
	{ "leave the session keyring", EDQUOT,
	  "too many keyrings of this user are in use; end other runs, or raise "
	  "kernel.keys.maxkeys" },
	{ "a path changed while", 0, "run it again" },
	{ "hide what is replaced all the time", 0, "end what replaces it, then run it again" },
	{ "a path became a link while", 0, "run it again" },
	{ "the way to what is to be hidden is closed", 0,
	  "open the directories on it (chmod u+rwx), then run it again" },
	{ "a protected name appeared meanwhile", 0, "run it again" },
	{ "cannot tell the working directory", 0,
	  "go to a directory that is there, or name another project root" },
	{ "the project root cannot be used", ENOENT, "make it first, or name another" },
	{ "the project root cannot be used", 0, "name another" },
	{ "the project root is not a directory", 0, "name the directory that it is in" },
	/* What the guardian, outside, could still get to. */
	{ "open:", EACCES,
	  "inside root has no more rights than others; run it as the owner of the project" },
	{ "enter:", EACCES,
	  "the policy hides it, or it is another user's; name another place with --cwd" },
	{ "the list of sockets", 0, "end programs that have very many Unix sockets" },
	{ "the host's sockets cannot be hidden", 0, "mount /proc, readable" },
	{ "cannot start", ENOENT, "install koda-sandbox again: the launcher is missing" },
	{ "cannot start", EACCES, "install koda-sandbox again: the launcher cannot be executed" },
	{ "cannot start", EPERM, "no filter may forbid starting processes" },
	{ "cannot look", ENAMETOOLONG,
	  "directories are nested deeper than a path can tell; remove the deepest" },
	{ "", ENOSYS, KERNEL_OLD },
	{ "clone the tree at", EMFILE,
	  "too many repositories and protected names; remove some, name a project root with fewer, "
	  "or raise the limit of open files (ulimit -n)" },
	{ "", EMFILE, "raise the limit of open files (ulimit -n, or max_open_fds of the policy)" },
	{ "", EFBIG, "raise the limit of file sizes (ulimit -f)" },
	{ "", ENFILE, "too many files are open on this machine" },
	{ "", EAGAIN, "too many processes, or something changed meanwhile; try again" },
	{ "", ENOMEM, "free some memory" },
	{ "", ENOSPC, "free some disk space" },
};

/* One that does not fit whole is no help. */
static void append(struct koda_error *err, const char *remedy)
{
	size_t used = strlen(err->message);
	size_t len = strlen(remedy);

	if (used + 2 + len >= sizeof(err->message))
		return;
	memcpy(err->message + used, "; ", 2);
	memcpy(err->message + used + 2, remedy, len + 1);
}

void koda_remedy_add(struct koda_error *err)
{
	for (size_t i = 0; err && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(err->message, rows[i].what, strlen(rows[i].what)) == 0 &&
		    (rows[i].sys_errno == 0 || rows[i].sys_errno == err->sys_errno)) {
			append(err, rows[i].remedy);
			return;
		}
	}
}
