/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDMAP_MAX 16

/* Duplicates the sources past every number that the child gets, so that no dup2 overwrites one. */
static int lift_descriptors(const struct koda_fdmap *give, size_t count, int *lifted,
			    struct koda_error *err)
{
	int floor = 3;

	for (size_t i = 0; i < count; i++)
		if (give[i].theirs >= floor)
			floor = give[i].theirs + 1;
	for (size_t i = 0; i < count; i++) {
		lifted[i] = fcntl(give[i].ours, F_DUPFD_CLOEXEC, floor);
		if (lifted[i] < 0)
			return koda_fail(err, KODA_E_SYS, errno, "descriptor %d", give[i].ours);
	}
	return KODA_OK;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct koda_fdmap *give,
		       size_t count, const int *lifted)
{
	int top = -1;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = posix_spawn_file_actions_adddup2(actions, lifted[i], give[i].theirs);
		if (give[i].theirs > top)
			top = give[i].theirs;
	}
	/* Numbers between the given ones that the host left open without close-on-exec. */
	for (int fd = 0; fd < top && r == 0; fd++) {
		bool wanted = false;

		for (size_t i = 0; i < count; i++)
			wanted = wanted || give[i].theirs == fd;
		if (!wanted)
			r = posix_spawn_file_actions_addclose(actions, fd);
	}
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, top + 1);
	return r;
}

static int spawn_attributes(posix_spawnattr_t *attr)
{
	sigset_t all;
	sigset_t none;
	int r;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	return r;
}

static int spawn_with(struct koda_proc *proc, const char *path, char *const argv[],
		      char *const envp[], const struct koda_fdmap *give, size_t count,
		      const int *lifted)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = add_actions(&actions, give, count, lifted);
		if (r == 0)
			r = spawn_attributes(&attr);
		if (r == 0)
			r = posix_spawn(&proc->pid, path, &actions, &attr, argv, envp);
		(void)posix_spawnattr_destroy(&attr);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int koda_proc_spawn(struct koda_proc *proc, const char *path, char *const argv[],
		    char *const envp[], const struct koda_fdmap *give, size_t count,
		    struct koda_error *err)
{
	int lifted[FDMAP_MAX];
	int r;

	if (count > FDMAP_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "more than %d descriptors", FDMAP_MAX);
	for (size_t i = 0; i < FDMAP_MAX; i++)
		lifted[i] = -1;
	*proc = (struct koda_proc)KODA_PROC_INIT;
	r = lift_descriptors(give, count, lifted, err);
	if (r == KODA_OK) {
		int e = spawn_with(proc, path, argv, envp, give, count, lifted);

		if (e != 0) {
			proc->pid = 0;
			r = e == ENOMEM ? koda_fail_nomem(err)
					: koda_fail_at(err, KODA_E_SYS, e, path, "cannot start");
		}
	}
	for (size_t i = 0; i < count; i++)
		koda_fd_close(&lifted[i]);
	if (r < 0)
		return r;
	/* The pid cannot be reused before we reap it, so opening it afterwards is no race. */
	proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	if (proc->pidfd < 0) {
		/* In a host that ignores SIGCHLD the kernel reaps children at once. */
		if (errno == ESRCH)
			proc->pid = 0;
		r = koda_fail(err, KODA_E_SYS, errno, "pidfd_open");
		koda_proc_kill(proc);
	}
	return r;
}

static int reap(struct koda_proc *proc, struct koda_exit *ret_exit)
{
	bool by_fd = proc->pidfd >= 0;
	siginfo_t info = { .si_pid = 0 };
	int r;

	/* By pidfd where there is one: the pid may belong to another child by now. */
	do {
		r = waitid(by_fd ? P_PIDFD : P_PID, (id_t)(by_fd ? proc->pidfd : proc->pid), &info,
			   WEXITED);
	} while (r < 0 && errno == EINTR);
	/* Also if another thread of the host has reaped it. */
	proc->pid = 0;
	koda_fd_close(&proc->pidfd);
	if (r < 0)
		return -errno;
	ret_exit->code = info.si_code == CLD_EXITED ? info.si_status : -1;
	ret_exit->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	return 0;
}

int koda_proc_wait(struct koda_proc *proc, uint64_t deadline_ns, struct koda_exit *ret_exit,
		   struct koda_error *err)
{
	if (proc->pid <= 0)
		return koda_fail(err, KODA_E_INVALID, 0, "no child to wait for");
	for (;;) {
		struct pollfd p = { .fd = proc->pidfd, .events = POLLIN };
		int timeout = koda_clock_left_ms(deadline_ns);
		int n = poll(&p, 1, timeout);

		if (n > 0)
			break;
		if (n < 0 && errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "cannot wait for a child");
		if (deadline_ns != KODA_DEADLINE_NEVER && koda_clock_now() >= deadline_ns)
			return koda_fail(err, KODA_E_TIMEOUT, 0, "the child still runs");
	}
	int r = reap(proc, ret_exit);

	return r < 0 ? koda_fail(err, KODA_E_SYS, -r, "cannot reap a child") : KODA_OK;
}

void koda_proc_kill(struct koda_proc *proc)
{
	struct koda_exit ignored;
	int saved = errno;

	if (proc->pid > 0) {
		/* By pidfd: if the host has reaped the child, its pid may be reused. */
		if (proc->pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, proc->pidfd, SIGKILL, NULL, 0);
		else
			(void)kill(proc->pid, SIGKILL);
		(void)reap(proc, &ignored);
	}
	koda_fd_close(&proc->pidfd);
	proc->pid = 0;
	errno = saved;
}
