/* SPDX-License-Identifier: MIT */
/*
 * T-27. Trust nothing that was only asked for: just before the command starts, its process looks at
 * itself from the inside. Any difference ends it, and nothing runs.
 */
#include "stage2.h"

#include "sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static const char *const namespaces[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };

#define NAMESPACES KODA_NAMESPACES
_Static_assert(sizeof(namespaces) / sizeof(namespaces[0]) == NAMESPACES, "one number for each");

/* The first ones are not those either in which the view was built. */
#define NAMESPACES_SECLUDED 2

/* The kernel takes 65536 groups, of ten digits each. */
#define STATUS_MAX ((size_t)1 << 20)

static ino_t outside[NAMESPACES];
static ino_t of_view[NAMESPACES_SECLUDED];
static bool open_view;

static ino_t namespace_inode(const char *name)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &st) < 0)
		koda_stage2_fail("look at a namespace", path, errno);
	return st.st_ino;
}

void koda_check_remember_namespaces(void)
{
	for (size_t i = 0; i < NAMESPACES; i++)
		outside[i] = namespace_inode(namespaces[i]);
}

void koda_check_tell_namespaces(uint64_t ret_inodes[KODA_NAMESPACES])
{
	for (size_t i = 0; i < NAMESPACES; i++)
		ret_inodes[i] = outside[i];
}

void koda_check_take_namespaces(const uint64_t inodes[KODA_NAMESPACES])
{
	for (size_t i = 0; i < NAMESPACES; i++)
		outside[i] = inodes[i];
}

void koda_check_open_view(void)
{
	open_view = true;
}

void koda_check_remember_view(void)
{
	for (size_t i = 0; i < NAMESPACES_SECLUDED; i++)
		of_view[i] = namespace_inode(namespaces[i]);
}

/* The line of /proc/self/status must be there and say exactly this. */
static void expect_status(const char *status, const char *name, const char *value)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "\n%s:\t%s\n", name, value);
	if (!strstr(status, line))
		koda_stage2_fail("self-check: not as it must be", name, 0);
}

static const char status_path[] = "/proc/self/status";

int koda_check_open(void)
{
	int fd = open(status_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		koda_stage2_fail("self-check: read", status_path, errno);
	return fd;
}

/* The whole text, which has a line as long as the user has groups. */
static char *read_status(int fd)
{
	char *text = malloc(STATUS_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	if (!text)
		koda_stage2_fail("self-check: read", status_path, errno);
	while (n > 0 && len < STATUS_MAX) {
		n = read(fd, text + len, STATUS_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		koda_stage2_fail("self-check: read", status_path, errno);
	(void)close(fd);
	text[len] = '\0';
	return text;
}

/* Without privileges over a namespace the bounding set stays; no_new_privs makes it idle. */
static void check_status(int fd, bool bounded)
{
	static const char none[] = "0000000000000000";
	char *status = read_status(fd);

	expect_status(status, "CapInh", none);
	expect_status(status, "CapPrm", none);
	expect_status(status, "CapEff", none);
	if (bounded)
		expect_status(status, "CapBnd", none);
	expect_status(status, "CapAmb", none);
	expect_status(status, "NoNewPrivs", "1");
	expect_status(status, "Seccomp", "2");
	free(status);
}

static void check_denied_write(const char *dir)
{
	char path[4096 + 32];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.koda-canary", strcmp(dir, "/") == 0 ? "" : dir);
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
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/.koda-canary",
		       at);
	if (at < 0 || fd < 0)
		koda_stage2_fail("self-check: cannot try to make a socket in", dir, errno);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
		(void)unlinkat(at, ".koda-canary", 0);
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
}

void koda_check_fenced(const struct plan *plan, int status, bool bounded)
{
	check_status(status, bounded);
	check_denied(plan);
	check_denied_socket(AF_INET, SOCK_DGRAM, "UDP");
	check_denied_socket(AF_INET6, SOCK_RAW, "raw");
	check_denied_socket(AF_NETLINK, SOCK_RAW, "netlink");
	check_denied_socket(AF_UNIX, SOCK_DGRAM, "Unix datagram");
	if (koda_lock_abi() >= SYS_LANDLOCK_ABI_SCOPES &&
	    (kill(getppid(), 0) == 0 || errno != EPERM))
		koda_stage2_fail("self-check: signals leave the sandbox", "", errno);
}

void koda_check_locked(const struct plan *plan)
{
	check_status(koda_check_open(), true);
	for (size_t i = 0; i < NAMESPACES; i++)
		if (namespace_inode(namespaces[i]) == outside[i])
			koda_stage2_fail("self-check: still in the host's namespace", namespaces[i],
					 0);
	for (size_t i = 0; i < NAMESPACES_SECLUDED && !open_view; i++)
		if (namespace_inode(namespaces[i]) == of_view[i])
			koda_stage2_fail("self-check: still where the view was built",
					 namespaces[i], 0);
	check_denied(plan);
}
