/* SPDX-License-Identifier: MIT */
/*
 * T-81. What the proxy cannot do once it is locked up. Each attempt is made twice: by a process
 * that is not locked, where it works, and by one that is.
 */
#include "koda_test.h"

#include "../lib/child.h"

#include "io/lock.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Then memory cannot be limited. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static char scratch[64];

/* 0: it worked. */
static int read_file(void)
{
	return open(scratch, O_RDONLY | O_CLOEXEC) < 0;
}

static int write_file(void)
{
	return open(scratch, O_WRONLY | O_CLOEXEC) < 0;
}

static int make_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) < 0;
}

static int list_root(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0;
}

static int run_program(void)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };

	(void)execv("/bin/true", argv);
	return 1;
}

static int make_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0;
}

static int listen_somewhere(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || listen(fd, 1) < 0;
}

static int bind_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0;
}

static int signal_other(void)
{
	return kill(getppid(), 0) < 0;
}

static int raise_limit(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_CPU, &files) < 0 || setrlimit(RLIMIT_CPU, &files) < 0;
}

static int make_memory_file(void)
{
	return (int)syscall(SYS_memfd_create, "x", 0U) < 0;
}

static int change_mode(void)
{
	return chmod(scratch, 0600) < 0;
}

static int become_traced(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0;
}

/* These work as before. */
static int find_localhost(void)
{
	struct addrinfo *found = NULL;

	return getaddrinfo("localhost", NULL, NULL, &found) != 0;
}

static int read_hosts(void)
{
	return open("/etc/hosts", O_RDONLY | O_CLOEXEC) < 0;
}

static int make_socket(void)
{
	return socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ||
	       socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0;
}

/* F_SETOWN: the kernel would signal that process. */
static int choose_owner(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || fcntl(fd, F_SETOWN, getpid()) < 0;
}

static int copy_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || fcntl(fd, F_DUPFD_CLOEXEC, 0) < 0;
}

static int use_memory(void)
{
	void *much = mmap(NULL, (size_t)600 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return much == MAP_FAILED;
}

static int use_some_memory(void)
{
	void *some = mmap(NULL, (size_t)100 << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return some == MAP_FAILED;
}

struct attempt {
	const char *name;
	int (*body)(void);
	bool kept; /* works afterwards, too */
};

static const struct attempt attempts[] = {
	{ "read a file", read_file, false },
	{ "write a file", write_file, false },
	{ "make a file", make_file, false },
	{ "list /", list_root, false },
	{ "run a program", run_program, false },
	{ "make a process", make_process, false },
	{ "listen", listen_somewhere, false },
	{ "bind a port", bind_port, false },
	{ "signal the parent", signal_other, false },
	{ "raise a limit", raise_limit, false },
	{ "make a memory file", make_memory_file, false },
	{ "change a mode", change_mode, false },
	{ "trace", become_traced, false },
	{ "choose who is signalled", choose_owner, false },
	{ "use much memory", use_memory, SANITIZED },
	{ "use some memory", use_some_memory, true },
	{ "copy a descriptor", copy_socket, true },
	{ "resolve localhost", find_localhost, true },
	{ "read /etc/hosts", read_hosts, true },
	{ "make a socket", make_socket, true },
};

static int unlocked(void *arg)
{
	return ((const struct attempt *)arg)->body();
}

static int locked(void *arg)
{
	struct koda_error err = { 0 };
	size_t files = 0;

	/* The control socket's place. */
	if (dup2(2, 3) != 3)
		return 99;
	if (egress_lock_process(&files, &err) < 0 ||
	    egress_lock_memory((size_t)512 << 20, &err) < 0 ||
	    egress_syscall_filter_install(&err) < 0) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 99;
	}
	return ((const struct attempt *)arg)->body();
}

static void test_attempts(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(scratch, sizeof(scratch), "/tmp/koda-lock-XXXXXX");
	fd = mkstemp(scratch);
	assert_true(fd >= 0);
	(void)close(fd);
	KODA_EACH(attempt, attempts) {
		void *arg = (void *)(uintptr_t)attempt;
		int before = koda_child_run(unlocked, arg);
		int after = koda_child_run(locked, arg);

		if (before != 0)
			fail_msg("%s: does not work anyway", attempt->name);
		if (after == 99)
			fail_msg("%s: cannot lock", attempt->name);
		if ((after == 0) != attempt->kept)
			fail_msg("%s: %d when locked", attempt->name, after);
	}
	(void)unlink(scratch);
}

static int has_nothing(void *arg)
{
	struct koda_error err = { 0 };
	struct rlimit limit;
	size_t files = 0;

	(void)arg;
	KODA_CHILD_CHECK(dup2(2, 3) == 3 && dup2(2, 77) == 77);
	KODA_CHILD_CHECK(egress_lock_descriptors(&err) == KODA_OK);
	KODA_CHILD_CHECK(egress_lock_process(&files, &err) == KODA_OK);
	KODA_CHILD_CHECK(fcntl(77, F_GETFD) < 0 && fcntl(3, F_GETFD) == FD_CLOEXEC);
	KODA_CHILD_CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	KODA_CHILD_CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	KODA_CHILD_CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0);
	KODA_CHILD_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == files);
	KODA_CHILD_CHECK(egress_syscall_filter_install(&err) == KODA_OK);
	KODA_CHILD_CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2);
	return 0;
}

static void test_is_read_back(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(has_nothing, NULL), 0);
}

/* A kernel that lacks a part: no lock, and it says so. */
static int without_landlock(void *arg)
{
	struct koda_error err = { 0 };
	size_t files = 0;

	(void)arg;
	KODA_CHILD_CHECK(dup2(2, 3) == 3);
	KODA_CHILD_CHECK(koda_child_block(SYS_landlock_create_ruleset, ENOSYS));
	KODA_CHILD_CHECK(egress_lock_process(&files, &err) == KODA_E_UNSUPPORTED);
	return 0;
}

static int without_seccomp(void *arg)
{
	struct koda_error err = { 0 };

	(void)arg;
	KODA_CHILD_CHECK(koda_child_block(SYS_seccomp, ENOSYS));
	KODA_CHILD_CHECK(egress_syscall_filter_install(&err) < 0);
	return 0;
}

static void test_missing_parts(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(without_landlock, NULL), 0);
	assert_int_equal(koda_child_run(without_seccomp, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_is_read_back),
		cmocka_unit_test(test_missing_parts),
	};

	return KODA_TEST_RUN(tests);
}
