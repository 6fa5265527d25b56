/* SPDX-License-Identifier: MIT */
/*
 * What a program that locks itself in with Landlock costs at least if it is made of the same
 * processes: `floor run LAUNCHER COMMAND...` hands a sealed file to a launcher, the launcher forks
 * an init, and that the command's process, with the product's filter and as many rules as a plan
 * has. There is no plan, nothing is looked at, nothing is checked, nobody watches.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/filter_program.h"

#define RULES      50
#define RULES_FROM "/usr/bin"
#define PLAN_BYTES 8192

#define READ_FILE 0x5U    /* LANDLOCK_ACCESS_FS_READ_FILE and _EXECUTE */
#define HANDLED   0x1fffU /* what version 1 knows */

enum {
	PLAN = 3,
	STATUS
};

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run(char **argv)
{
	static char plan[PLAN_BYTES];
	posix_spawn_file_actions_t actions;
	char report[256];
	int status[2];
	int fd = (int)syscall(SYS_memfd_create, "plan", 3U /* close on exec, can be sealed */);
	pid_t pid;

	if (fd < 0 || write(fd, plan, sizeof(plan)) != (ssize_t)sizeof(plan) ||
	    fcntl(fd, F_ADD_SEALS, 0xf) < 0 || pipe2(status, O_CLOEXEC) < 0)
		return 1;
	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_adddup2(&actions, fd, PLAN) != 0 ||
	    posix_spawn_file_actions_adddup2(&actions, status[1], STATUS) != 0 ||
	    posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		return 1;
	(void)close(status[1]);
	while (read(status[0], report, sizeof(report)) > 0)
		;
	return wait_for(pid);
}

/* The rules for the command itself come first. */
static int add_rules(int ruleset)
{
	struct {
		uint64_t access;
		int32_t fd;
	} __attribute__((packed)) rule = { .access = READ_FILE };
	DIR *dir = opendir(RULES_FROM);
	int count = 0;

	if (!dir)
		return -1;
	for (const struct dirent *entry; count < RULES && (entry = readdir(dir));) {
		rule.fd = openat(dirfd(dir), entry->d_name, O_PATH | O_CLOEXEC);
		if (rule.fd >= 0 && syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) == 0)
			count++;
		(void)close(rule.fd);
	}
	(void)closedir(dir);
	rule.fd = open("/", O_PATH | O_CLOEXEC);
	return count == RULES ? (int)syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) : -1;
}

static _Noreturn void become(char **argv)
{
	const struct sock_fprog filter = { sizeof(filter_program) / sizeof(*filter_program),
					   (struct sock_filter *)(uintptr_t)filter_program };
	const uint64_t handled = HANDLED;
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, 1 /* a filter */, 0, &filter) < 0 || ruleset < 0 ||
	    add_rules(ruleset) < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		_exit(1);
	(void)close(STATUS);
	(void)execve(argv[0], argv, environ);
	_exit(1);
}

static int launch(char **argv)
{
	static const char report[256];
	pid_t init = fork();
	pid_t command;
	int status;

	if (init != 0) {
		(void)close(STATUS);
		return init < 0 ? 1 : wait_for(init);
	}
	command = fork();
	if (command == 0)
		become(argv);
	status = command < 0 ? 1 : wait_for(command);
	return write(STATUS, report, sizeof(report)) == (ssize_t)sizeof(report) ? status : 1;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return run(argv + 2);
	return argc > 1 ? launch(argv + 1) : 1;
}
