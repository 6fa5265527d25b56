/* SPDX-License-Identifier: MIT */
/*
 * T-27. The self-check: just before the command starts, its process examines itself from the
 * inside. Any difference ends it, and nothing runs.
 */
#include "command/check.h"

#include "fail.h"
#include "landlock/scope.h"
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

static const char *const namespaces[STAGE2_NAMESPACES] = { "user", "mnt", "pid",   "net",
							   "ipc",  "uts", "cgroup" };

/* User and mount namespace, which differ from those in which the view was built. */
#define NAMESPACES_OF_VIEW 2

static struct namespace_name view_namespaces[NAMESPACES_OF_VIEW];
static struct namespace_name host_namespaces[STAGE2_NAMESPACES];
static bool open_view;

/* Reads the first count names of the calling process's namespaces. Reading the links in /proc costs
 * less than following them. */
static void read_namespaces(struct namespace_name *ret_names, size_t count)
{
	static const char path[] = "/proc/self/ns";
	/* The filter refuses openat2. */
	int dir = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		stage2_fail(KODA_LAUNCH_NAMESPACES_READ, path, errno);
	for (size_t i = 0; i < count; i++) {
		char *text = ret_names[i].text;
		ssize_t n = readlinkat(dir, namespaces[i], text, sizeof(ret_names[i].text));

		/* A name that fills the buffer may have been cut. */
		if (n <= 0 || (size_t)n >= sizeof(ret_names[i].text))
			stage2_fail(KODA_LAUNCH_NAMESPACE_READ, namespaces[i], n < 0 ? errno : 0);
		text[n] = '\0';
	}
	(void)close(dir);
}

void stage2_check_read_outside(struct namespace_name ret_names[STAGE2_NAMESPACES])
{
	read_namespaces(ret_names, STAGE2_NAMESPACES);
}

void stage2_check_use_outside(const struct namespace_name names[STAGE2_NAMESPACES])
{
	memcpy(host_namespaces, names, sizeof(host_namespaces));
}

void stage2_check_open_view(void)
{
	open_view = true;
}

void stage2_check_remember_view(void)
{
	read_namespaces(view_namespaces, NAMESPACES_OF_VIEW);
}

static void check_namespaces(void)
{
	struct namespace_name inside[STAGE2_NAMESPACES] = { { "" } };

	read_namespaces(inside, STAGE2_NAMESPACES);
	for (size_t i = 0; i < STAGE2_NAMESPACES; i++)
		if (strcmp(inside[i].text, host_namespaces[i].text) == 0)
			stage2_fail(KODA_LAUNCH_CHECK_HOST_NAMESPACE, namespaces[i], 0);
	for (size_t i = 0; i < NAMESPACES_OF_VIEW && !open_view; i++)
		if (strcmp(inside[i].text, view_namespaces[i].text) == 0)
			stage2_fail(KODA_LAUNCH_CHECK_VIEW_NAMESPACE, namespaces[i], 0);
}

static void expect(bool holds, const char *what)
{
	if (!holds)
		stage2_fail(KODA_LAUNCH_CHECK_STATE, what, 0);
}

/* Asks for every capability; EINVAL ends the list. */
static void check_none(int option, int suboption, const char *what)
{
	int cap = 0;
	int has;

	while ((has = suboption ? prctl(option, suboption, cap, 0, 0)
				: prctl(option, cap, 0, 0, 0)) == 0)
		cap++;
	expect(has < 0 && errno == EINVAL && cap > 0, what);
}

static void check_capabilities(bool bounded)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct set[2] = { 0 };

	if (syscall(SYS_capget, &header, set) < 0)
		stage2_fail(KODA_LAUNCH_CHECK_CAPABILITIES, "", errno);
	for (size_t i = 0; i < 2; i++) {
		expect(set[i].inheritable == 0, "inheritable capabilities");
		expect(set[i].permitted == 0, "permitted capabilities");
		expect(set[i].effective == 0, "effective capabilities");
	}
	check_none(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, "ambient capabilities");
	if (bounded)
		check_none(PR_CAPBSET_READ, 0, "bounding capabilities");
}

/* Without privileges over a user namespace the bounding set stays, and no_new_privs makes it
 * useless. */
static void check_status(bool bounded)
{
	check_capabilities(bounded);
	expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	expect(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER, "seccomp");
}

/* In a container there is another filter, and the kernel only tells that there is one. This
 * launcher's filter answers EPERM before the kernel would answer EBADF. */
static void check_filter(void)
{
	if (ioctl(-1, TIOCSTI, "") >= 0 || errno != EPERM)
		stage2_fail(KODA_LAUNCH_CHECK_FILTER, "", errno);
}

/* Returns a random name, which does not exist: the failure of O_EXCL would prove nothing. */
static const char *canary_name(void)
{
	static char name[32];
	uint32_t number;

	if (name[0] == '\0') {
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			stage2_fail(KODA_LAUNCH_CHECK_RANDOM, "", errno);
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
		stage2_fail(KODA_LAUNCH_CHECK_WRITABLE, dir, 0);
	}
	/* Any other errno proves nothing about what is permitted. */
	if (errno != EROFS && errno != EACCES && errno != EPERM)
		stage2_fail(KODA_LAUNCH_CHECK_WRITE, dir, errno);
}

static void check_denied_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		stage2_fail(KODA_LAUNCH_CHECK_READABLE, path, 0);
	if (errno != EACCES && errno != EPERM)
		stage2_fail(KODA_LAUNCH_CHECK_READ, path, errno);
}

/* T-34. Descriptors can leave a view by sockets that other sandboxes find, so none may be made in
 * trees of the host. */
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
		stage2_fail(KODA_LAUNCH_CHECK_SOCKET, dir, errno);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		(void)unlinkat(at, canary_name(), 0);
		stage2_fail(KODA_LAUNCH_CHECK_SOCKET_MADE, dir, 0);
	}
	if (errno != EROFS && errno != EACCES && errno != EPERM)
		stage2_fail(KODA_LAUNCH_CHECK_SOCKET, dir, errno);
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

/* Fails unless a kind of socket is refused. */
static void check_denied_socket(int family, int type, const char *name)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		stage2_fail(KODA_LAUNCH_CHECK_FAMILY_FOUND, name, 0);
	if (errno != EACCES && errno != EPERM && errno != EAFNOSUPPORT)
		stage2_fail(KODA_LAUNCH_CHECK_FAMILY, name, errno);
}

void stage2_check_landlock(const struct plan *plan, bool bounded)
{
	const long abi = stage2_landlock_abi();

	check_status(bounded);
	check_filter();
	check_denied(plan);
	check_denied_socket(AF_INET, SOCK_DGRAM, "UDP");
	check_denied_socket(AF_INET6, SOCK_RAW, "raw");
	check_denied_socket(AF_NETLINK, SOCK_RAW, "netlink");
	check_denied_socket(AF_UNIX, SOCK_DGRAM, "Unix datagram");
	if (abi < 1)
		stage2_fail(KODA_LAUNCH_CHECK_LANDLOCK, "", errno);
	if (abi >= SYS_LANDLOCK_ABI_SCOPES && (kill(getppid(), 0) == 0 || errno != EPERM))
		stage2_fail(KODA_LAUNCH_CHECK_SIGNALS, "", errno);
}

void stage2_check_locked(const struct plan *plan)
{
	check_status(true);
	check_filter();
	check_namespaces();
	check_denied(plan);
}
