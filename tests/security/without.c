/* SPDX-License-Identifier: MIT */
/*
 * without WHAT PROGRAM [ARG...]: runs a program on a machine that lacks something.
 *
 *	user-namespaces   clone3, and unshare and clone with CLONE_NEWUSER, as containers do it
 *	own-namespaces    clone3, and a user and a mount namespace by one call to unshare;
 *	                  bubblewrap, which AppArmor may trust alone, asks differently
 *	landlock          its calls do not exist
 *	landlock-abi=N    the kernel says that its Landlock has this version
 *	notification      nobody can be asked about system calls
 *	mount-attributes  the kernel says that it has changed them, and has not
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(field)                                                                                \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)(value), yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned int)(bits), yes, no)
#define ANSWER(action)     BPF_STMT(BPF_RET | BPF_K, (action))

static struct sock_filter no_userns[] = {
	LOAD(nr),
	IS(SYS_clone3, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
	IS(SYS_unshare, 1, 0),
	IS(SYS_clone, 0, 3),
	LOAD(args[0]),
	HAS(CLONE_NEWUSER, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | EPERM),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter no_own_namespaces[] = {
	LOAD(nr),
	IS(SYS_clone3, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
	IS(SYS_unshare, 0, 4),
	LOAD(args[0]),
	HAS(CLONE_NEWUSER, 0, 2),
	HAS(CLONE_NEWNS, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | EPERM),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter no_landlock[] = {
	LOAD(nr),
	IS(SYS_landlock_create_ruleset, 2, 0),
	IS(SYS_landlock_add_rule, 1, 0),
	IS(SYS_landlock_restrict_self, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
	ANSWER(SECCOMP_RET_ALLOW),
};

/* The question which actions there are is the operation 2. */
static struct sock_filter no_notification[] = {
	LOAD(nr),
	IS(SYS_seccomp, 0, 3),
	LOAD(args[0]),
	IS(2, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | EOPNOTSUPP),
	ANSWER(SECCOMP_RET_ALLOW),
};

static struct sock_filter no_mount_attributes[] = {
	LOAD(nr),
	IS(SYS_mount_setattr, 0, 1),
	ANSWER(SECCOMP_RET_ERRNO | 0),
	ANSWER(SECCOMP_RET_ALLOW),
};

/* The question for the version has no ruleset and the flag 1. */
static struct sock_filter ask_for_abi[] = {
	LOAD(nr),    IS(SYS_landlock_create_ruleset, 0, 3), LOAD(args[2]),
	IS(1, 0, 1), ANSWER(SECCOMP_RET_USER_NOTIF),        ANSWER(SECCOMP_RET_ALLOW),
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(99);
}

static int install(struct sock_filter *filter, size_t count, unsigned int flags)
{
	struct sock_fprog program = { .len = (unsigned short)count, .filter = filter };
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("no_new_privs");
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		die("seccomp");
	return (int)fd;
}

/* Answers until nobody is left who could ask. */
static void serve(int listener, int abi)
{
	struct pollfd polled = { .fd = listener, .events = POLLIN };

	while (poll(&polled, 1, -1) > 0 && !(polled.revents & POLLHUP)) {
		struct seccomp_notif question;
		struct seccomp_notif_resp answer;

		memset(&question, 0, sizeof(question));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
			continue;
		memset(&answer, 0, sizeof(answer));
		answer.id = question.id;
		answer.val = abi;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* The child shares the table of descriptors until it executes the program, so that the listener
 * that it makes is also ours. */
static int pretend_abi(int abi, char **argv)
{
	int listener = -1;
	int status = 0;
	int number[2];
	long child;

	if (pipe(number) < 0)
		die("pipe");
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child < 0)
		die("clone");
	if (child == 0) {
		listener = install(ask_for_abi, sizeof(ask_for_abi) / sizeof(ask_for_abi[0]),
				   SECCOMP_FILTER_FLAG_NEW_LISTENER);
		if (write(number[1], &listener, sizeof(listener)) != sizeof(listener))
			die("write");
		(void)syscall(SYS_close_range, number[0] < 3 ? 3 : number[0], ~0U,
			      6U /* an own table, close on exec */);
		(void)execvp(argv[0], argv);
		die(argv[0]);
	}
	if (read(number[0], &listener, sizeof(listener)) != sizeof(listener))
		die("read");
	serve(listener, abi);
	if (waitpid((pid_t)child, &status, 0) < 0)
		die("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static const char abi[] = "landlock-abi=";

	if (argc < 3)
		return 99;
	if (strncmp(argv[1], abi, sizeof(abi) - 1) == 0)
		return pretend_abi((int)strtol(argv[1] + sizeof(abi) - 1, NULL, 10), argv + 2);
	if (strcmp(argv[1], "user-namespaces") == 0)
		(void)install(no_userns, sizeof(no_userns) / sizeof(no_userns[0]), 0);
	else if (strcmp(argv[1], "own-namespaces") == 0)
		(void)install(no_own_namespaces,
			      sizeof(no_own_namespaces) / sizeof(no_own_namespaces[0]), 0);
	else if (strcmp(argv[1], "landlock") == 0)
		(void)install(no_landlock, sizeof(no_landlock) / sizeof(no_landlock[0]), 0);
	else if (strcmp(argv[1], "notification") == 0)
		(void)install(no_notification, sizeof(no_notification) / sizeof(no_notification[0]),
			      0);
	else if (strcmp(argv[1], "mount-attributes") == 0)
		(void)install(no_mount_attributes,
			      sizeof(no_mount_attributes) / sizeof(no_mount_attributes[0]), 0);
	else
		return 99;
	(void)execvp(argv[2], argv + 2);
	die(argv[2]);
}
