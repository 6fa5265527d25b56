/* SPDX-License-Identifier: MIT */
/*
 * T-27. Trust nothing that was only asked for: just before the command starts, its process looks at
 * itself from the inside. Any difference ends it, and nothing runs.
 */
#include "stage2.h"

#include "sys.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *const namespaces[KODA_NAMESPACES] = { "user", "mnt", "pid",   "net",
							 "ipc",  "uts", "cgroup" };

/* The first ones are not those either in which the view was built. */
#define NAMESPACES_SECLUDED 2

static struct namespace_name of_view[NAMESPACES_SECLUDED];
static struct namespace_name outside[KODA_NAMESPACES];
static bool open_view;

/* Those of the calling process, the first count of them. Links in /proc name each by its kind and
 * number; reading them costs less than following them. */
static void look_at_namespaces(struct namespace_name *ret_names, size_t count)
{
	static const char path[] = "/proc/self/ns";
	/* There is no openat2 behind the filter. */
	int dir = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		koda_stage2_fail("look at namespaces", path, errno);
	for (size_t i = 0; i < count; i++) {
		char *text = ret_names[i].text;
		ssize_t n = readlinkat(dir, namespaces[i], text, sizeof(ret_names[i].text));

		/* A name that fills the room may have been cut. */
		if (n <= 0 || (size_t)n >= sizeof(ret_names[i].text))
			koda_stage2_fail("look at a namespace", namespaces[i], n < 0 ? errno : 0);
		text[n] = '\0';
	}
	(void)close(dir);
}

void koda_check_tell_outside(struct namespace_name ret_names[KODA_NAMESPACES])
{
	look_at_namespaces(ret_names, KODA_NAMESPACES);
}

void koda_check_take_outside(const struct namespace_name names[KODA_NAMESPACES])
{
	memcpy(outside, names, sizeof(outside));
}

void koda_check_open_view(void)
{
	open_view = true;
}

void koda_check_remember_view(void)
{
	look_at_namespaces(of_view, NAMESPACES_SECLUDED);
}

static void check_namespaces(void)
{
	struct namespace_name inside[KODA_NAMESPACES] = { { "" } };

	look_at_namespaces(inside, KODA_NAMESPACES);
	for (size_t i = 0; i < KODA_NAMESPACES; i++)
		if (strcmp(inside[i].text, outside[i].text) == 0)
			koda_stage2_fail("self-check: still in the host's namespace", namespaces[i],
					 0);
	for (size_t i = 0; i < NAMESPACES_SECLUDED && !open_view; i++)
		if (strcmp(inside[i].text, of_view[i].text) == 0)
			koda_stage2_fail("self-check: still where the view was built",
					 namespaces[i], 0);
}

static void expect(bool holds, const char *what)
{
	if (!holds)
		koda_stage2_fail("self-check: not as it must be", what, 0);
}

/* Every number that is a capability; the first that is none ends them. */
static void check_none(int call, int question, const char *what)
{
	int cap = 0;
	int has;

	while ((has = question ? prctl(call, question, cap, 0, 0) : prctl(call, cap, 0, 0, 0)) == 0)
		cap++;
	expect(has < 0 && errno == EINVAL && cap > 0, what);
}

static void check_capabilities(bool bounded)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct set[2] = { 0 };

	if (syscall(SYS_capget, &header, set) < 0)
		koda_stage2_fail("self-check: look at capabilities", "", errno);
	for (size_t i = 0; i < 2; i++) {
		expect(set[i].inheritable == 0, "inheritable capabilities");
		expect(set[i].permitted == 0, "permitted capabilities");
		expect(set[i].effective == 0, "effective capabilities");
	}
	check_none(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, "ambient capabilities");
	if (bounded)
		check_none(PR_CAPBSET_READ, 0, "bounding capabilities");
}

/* Without privileges over a namespace the bounding set stays; no_new_privs makes it idle. */
static void check_status(bool bounded)
{
	check_capabilities(bounded);
	expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	expect(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER, "seccomp");
}

/* In a container there is a filter before ours, and the kernel tells only that there is one. Ours
 * answers before the kernel sees that there is no such descriptor. */
static void check_filter(void)
{
	if (ioctl(-1, TIOCSTI, "") >= 0 || errno != EPERM)
		koda_stage2_fail("self-check: the system-call filter does not answer", "", errno);
}

/* A name that nobody has: to find one already there would say nothing. */
static const char *canary_name(void)
{
	static char name[32];
	uint32_t number;

	if (name[0] == '\0') {
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			koda_stage2_fail("self-check: no random bytes", "", errno);
		(void)snprintf(name, sizeof(name), ".koda-canary-%08" PRIx32, number);
	}
	return name;
}

static void check_denied_write(const char *dir)
{
	char path[4096 + 32];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir,
		       canary_name());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)unlink(path);
		koda_stage2_fail("self-check: writing is possible in", dir, 0);
	}
	/* Any other failure says nothing about what is permitted. */
	if (errno != EROFS && errno != EACCES && errno != EPERM)
		koda_stage2_fail("self-check: cannot try to write in", dir, errno);
}

static void check_denied_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		koda_stage2_fail("self-check: reading is possible at", path, 0);
	if (errno != EACCES && errno != EPERM)
		koda_stage2_fail("self-check: cannot try to read", path, errno);
}

/* T-34. Descriptors leave a view by sockets that others can find, so none may be made where others
 * look. */
static void check_no_socket(const char *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int at = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (at < 0 && errno == ENOTDIR)
		return;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", at,
		       canary_name());
	if (at < 0 || fd < 0)
		koda_stage2_fail("self-check: cannot try to make a socket in", dir, errno);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		(void)unlinkat(at, canary_name(), 0);
		koda_stage2_fail("self-check: a socket can be made in", dir, 0);
	}
	if (errno != EROFS && errno != EACCES && errno != EPERM)
		koda_stage2_fail("self-check: cannot try to make a socket in", dir, errno);
	(void)close(at);
	(void)close(fd);
}

static void check_denied(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind == KODA_OP_DENIED_WRITE)
			check_denied_write(op.text1.ptr);
		else if (op.kind == KODA_OP_DENIED_READ)
			check_denied_read(op.text1.ptr);
		else if (open_view && op.kind == KODA_OP_WRITABLE && !(op.flags & KODA_OP_LATE))
			check_no_socket(op.text1.ptr);
	}
}

/* A socket that must not be. */
static void check_denied_socket(int family, int type, const char *name)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		koda_stage2_fail("self-check: there are sockets of the kind", name, 0);
	if (errno != EACCES && errno != EPERM && errno != EAFNOSUPPORT)
		koda_stage2_fail("self-check: cannot try sockets of the kind", name, errno);
}

void koda_check_fenced(const struct plan *plan, bool bounded)
{
	const long abi = koda_lock_abi();

	check_status(bounded);
	check_filter();
	check_denied(plan);
	check_denied_socket(AF_INET, SOCK_DGRAM, "UDP");
	check_denied_socket(AF_INET6, SOCK_RAW, "raw");
	check_denied_socket(AF_NETLINK, SOCK_RAW, "netlink");
	check_denied_socket(AF_UNIX, SOCK_DGRAM, "Unix datagram");
	if (abi < 1)
		koda_stage2_fail("self-check: Landlock is gone", "", errno);
	if (abi >= SYS_LANDLOCK_ABI_SCOPES && (kill(getppid(), 0) == 0 || errno != EPERM))
		koda_stage2_fail("self-check: signals leave the sandbox", "", errno);
}

void koda_check_locked(const struct plan *plan)
{
	check_status(true);
	check_filter();
	check_namespaces();
	check_denied(plan);
}
