/* SPDX-License-Identifier: MIT */
/*
 * Part of a test in a process of its own: with another user, behind a system call filter, or with
 * anything else that cannot be taken back. cmocka's assertions do not work there; the body says
 * KODA_CHILD_CHECK instead and returns 0 when all is well.
 */
#ifndef KODA_TEST_CHILD_H
#define KODA_TEST_CHILD_H

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define KODA_CHILD_CHECK(condition)                                                                \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* There only in a coverage build; _exit would lose the child's counts. */
extern void __gcov_dump(void) __attribute__((weak));

/* The status of body(arg) in a child; -1 if it did not end by itself. */
static inline int koda_child_run(int (*body)(void *arg), void *arg)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int r;

		/* cmocka's handlers would go on with the next test, here as well. */
		for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
			(void)sigaction(fatal[i], &(struct sigaction){ .sa_handler = SIG_DFL },
					NULL);
		r = body(arg);

		if (__gcov_dump)
			__gcov_dump();
		_exit(r);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Gives up root for good; does nothing for an ordinary user. False if that failed. */
static inline int koda_child_drop_root(void)
{
	const uid_t nobody = 65534;

	if (geteuid() != 0)
		return 1;
	return setgroups(0, NULL) == 0 && setresgid(nobody, nobody, nobody) == 0 &&
	       setresuid(nobody, nobody, nobody) == 0 && geteuid() == nobody;
}

/* From here on system call number nr of this process fails with error (0 to 4095), as it would on
 * a kernel that lacks it. False if the filter could not be installed. */
static inline int koda_child_block(long nr, int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* How many descriptors this process has open. */
static inline int koda_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 3; /* ".", ".." and the directory itself */
}

#endif
