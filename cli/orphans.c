/* SPDX-License-Identifier: MIT */
/*
 * T-99. A guardian that is killed leaves the first process of the sandbox behind, which notices and
 * ends everything. The runner is its subreaper and waits for it: the process that would adopt it
 * otherwise, PID 1 of a container, may wait for nothing, and every process that ends there stays.
 *
 * A shell that becomes the runner ("job & exec koda-sandbox") leaves it children of its own. Those
 * are not waited for, and not reaped before the end, so their numbers stay theirs.
 */
#include "runner.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long orphans are waited for, besides the five seconds for the guardian. The kernel ends what
 * is left. */
#define WAIT_NS  1500000000ULL
#define ROUND_MS 2

#define CHILDREN_MAX 512

struct children {
	pid_t pids[CHILDREN_MAX];
	size_t count;
};

static struct children others; /* children that the runner had when it started */
static bool has_others;

/* Returns false if the kernel does not list children, or there are too many. */
static bool list_children(struct children *ret_list)
{
	char text[CHILDREN_MAX * 8];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = -1;
	char *at = text;

	while (fd >= 0 && len < sizeof(text) - 1 &&
	       (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		(void)close(fd);
	if (n != 0)
		return false;
	text[len] = '\0';
	for (ret_list->count = 0; ret_list->count < CHILDREN_MAX; ret_list->count++) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			return true;
		ret_list->pids[ret_list->count] = (pid_t)pid;
		at = end;
	}
	return false;
}

static bool is_other(pid_t pid)
{
	for (size_t i = 0; i < others.count; i++)
		if (others.pids[i] == pid)
			return true;
	return false;
}

void cli_orphans_adopt(void)
{
	siginfo_t info;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	has_others = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	if (has_others && !list_children(&others))
		others.count = CHILDREN_MAX; /* too many to tell ours from theirs */
}

/* Reaps children that have ended. Returns true if an orphan was left when it was called. */
static bool reap_all(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0 || (pid < 0 && errno == EINTR))
		;
	return pid == 0;
}

static bool reap_ours(void)
{
	static struct children now;
	bool found = false;

	if (others.count == CHILDREN_MAX || !list_children(&now))
		return false;
	for (size_t i = 0; i < now.count; i++)
		if (!is_other(now.pids[i])) {
			(void)waitpid(now.pids[i], NULL, WNOHANG);
			found = true;
		}
	return found;
}

/* The command has been freed, so all children that are left are orphans. */
void cli_orphans_reap(void)
{
	uint64_t deadline = koda_clock_now() + WAIT_NS;

	while (has_others ? reap_ours() : reap_all()) {
		if (koda_clock_now() >= deadline)
			return;
		(void)poll(NULL, 0, ROUND_MS);
	}
	if (has_others)
		(void)reap_all();
}
