/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}

/* clang-format off */
static const struct {
	long nr;
	const char *name;
} calls[] = {
	CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(poll), CALL(mmap), CALL(munmap),
	CALL(mprotect), CALL(brk), CALL(ioctl), CALL(rt_sigaction), CALL(rt_sigprocmask),
	CALL(getpid), CALL(socket), CALL(execve), CALL(fcntl), CALL(openat), CALL(openat2),
	CALL(open_tree), CALL(move_mount), CALL(mount_setattr), CALL(fsopen), CALL(fsconfig),
	CALL(fsmount), CALL(clone), CALL(clone3), CALL(prctl), CALL(seccomp), CALL(setsid),
	CALL(chdir), CALL(umask), CALL(landlock_create_ruleset), CALL(landlock_add_rule),
	CALL(landlock_restrict_self), CALL(prlimit64), CALL(mkdirat), CALL(linkat), CALL(unlinkat),
	CALL(symlinkat), CALL(flock), CALL(dup3), CALL(close_range), CALL(pipe2),
	CALL(memfd_create), CALL(newfstatat), CALL(readlinkat), CALL(sethostname), CALL(signalfd4),
	CALL(keyctl), CALL(wait4), CALL(waitid), CALL(kill), CALL(geteuid), CALL(getegid),
	CALL(set_tid_address), CALL(setrlimit), CALL(getrlimit), CALL(pidfd_open), CALL(ftruncate),
	CALL(lseek), CALL(exit_group), CALL(rseq), CALL(getuid), CALL(getgid), CALL(uname),
	CALL(fork), CALL(vfork), CALL(open), CALL(stat), CALL(readlink), CALL(arch_prctl),
	CALL(unlink), CALL(access), CALL(getcwd), CALL(pwrite64), CALL(rt_sigreturn), CALL(gettid),
	CALL(fchmod), CALL(sendto), CALL(madvise),
};
/* clang-format on */

const char *judge_call_name(long nr)
{
	static char number[32];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	(void)snprintf(number, sizeof(number), "number %ld", nr);
	return number;
}

/* The kernel has no way to let these fail, called as they are; processes are only killed at them.
 */
bool judge_can_fail(const struct trace_fault *fault, long nr)
{
	/* Of what the runner looks at, these say that it is not there. They are believed. */
	if (fault->role == TRACE_RUNNER && (fault->error == ENOENT || fault->error == EACCES))
		return false;
	/* And so is init, of what is to be hidden: a socket that is gone, a place that nobody
	 * reaches. */
	if (fault->role == TRACE_INIT && nr == SYS_openat2 &&
	    (fault->error == ENOENT || fault->error == EACCES))
		return false;
	switch (nr) {
	case SYS_close: /* lets go of the descriptor whatever it returns */
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getegid:
	case SYS_umask:
	case SYS_set_tid_address:
	case SYS_set_robust_list:
	case SYS_rseq:
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_munmap:
	case SYS_exit_group:
#ifdef SYS_arch_prctl
	case SYS_arch_prctl:
#endif
		return false;
	default:
		return true;
	}
}

/* Calls that the launch can do without, and why. */
static const struct {
	enum trace_role role;
	long nr;
	int error; /* 0: any */
	const char *why;
} dispensable[] = {
	{ TRACE_SPAWN, SYS_close_range, 0, "libc closes one by one instead" },
	{ TRACE_GUARDIAN, SYS_setsid, 0, "its signals are blocked already" },
	{ TRACE_GUARDIAN, SYS_linkat, 0, "a node of its own is made instead" },
	{ TRACE_GUARDIAN, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_INIT, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_COMMAND, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_INIT, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_COMMAND, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_INIT, SYS_prlimit64, 0, "running out of descriptors is noticed when it happens" },
	{ TRACE_INIT, SYS_read, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_dup3, EBUSY, "libc asks again" },
	{ TRACE_INIT, SYS_dup3, ENOSYS, "libc uses the older call" },
	{ TRACE_INIT, SYS_signalfd4, ENOSYS, "libc uses the older call" },
	{ TRACE_GUARDIAN, SYS_pipe2, ENOSYS, "libc uses the older call" },
	{ TRACE_GUARDIAN, SYS_recvfrom, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_sendto, 0, "the word that it is ready; what comes later says more" },
	{ TRACE_INIT, SYS_poll, EINTR, "it is asked again" },
	{ TRACE_GUARDIAN, SYS_mmap, 0, "libc's allocator has another way; the plan's map counts" },
	{ TRACE_INIT, SYS_mmap, 0, "libc's allocator has another way; the plan's map counts" },
	{ TRACE_INIT, SYS_prctl, EINVAL, "the answer to the first number that is no capability" },
	{ TRACE_COMMAND, SYS_open, EACCES, "what a canary must get" },
	{ TRACE_COMMAND, SYS_open, EPERM, "what a canary must get" },
	{ TRACE_COMMAND, SYS_open, ENOENT, "Landlock grants nothing there" },
	{ TRACE_INIT, SYS_socket, EINVAL, "libc asks again without flags" },
	{ TRACE_COMMAND, SYS_prlimit64, ENOSYS, "libc uses the older call" },
	{ TRACE_INIT, SYS_keyctl, ENOSYS, "a kernel without keyrings has none to leave" },
	{ TRACE_COMMAND, SYS_keyctl, ENOSYS, "a kernel without keyrings has none to leave" },
};

static bool is_dispensable(const struct trace_fault *fault, long nr)
{
	/* The runner looks at much that turns out not to matter, and asks some things twice; what
	 * did matter shows in the answers. */
	if (fault->role == TRACE_RUNNER)
		return true;
	for (size_t i = 0; i < sizeof(dispensable) / sizeof(dispensable[0]); i++)
		if (dispensable[i].role == fault->role && dispensable[i].nr == nr &&
		    (dispensable[i].error == 0 || dispensable[i].error == fault->error))
			return true;
	return false;
}

static bool slurp(int fd, char *out)
{
	size_t used = 0;
	ssize_t n;

	while (used < JUDGE_TEXT_MAX - 1 &&
	       (n = pread(fd, out + used, JUDGE_TEXT_MAX - 1 - used, (off_t)used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	return used < JUDGE_TEXT_MAX - 1;
}

/* What is mounted here, and where; counters and times are not in it. */
static bool read_mounts(char *out)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (fd >= 0 && used < JUDGE_TEXT_MAX - 1 &&
	       (n = read(fd, out + used, JUDGE_TEXT_MAX - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	return fd >= 0 && close(fd) == 0;
}

/* nftw has no argument of its own for its callback. */
static char *listed;
static char *lines[1024];
static size_t line_count;

static int list_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	if (line_count == sizeof(lines) / sizeof(lines[0]) ||
	    asprintf(&lines[line_count], "%o %lld %s\n", st->st_mode,
		     S_ISDIR(st->st_mode) ? 0 : (long long)st->st_size, path) < 0)
		return -1;
	line_count++;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every name below the project with its kind, mode and size. */
static bool list_project(const struct judge *judge, char *out)
{
	char root[4096];
	bool ok;

	(void)snprintf(root, sizeof(root), "%s/project", judge->base);
	listed = out;
	line_count = 0;
	ok = nftw(root, list_one, 16, FTW_PHYS) == 0;
	qsort(lines, line_count, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < line_count; i++) {
		size_t len = strlen(lines[i]);

		ok = ok && listed + len < out + JUDGE_TEXT_MAX;
		if (ok)
			listed = stpcpy(listed, lines[i]);
		free(lines[i]);
	}
	*listed = '\0';
	return ok;
}

bool judge_open(struct judge *judge, const char *koda, const char *base)
{
	memset(judge, 0, sizeof(*judge));
	judge->koda = koda;
	judge->base = base;
	return read_mounts(judge->mounts) && list_project(judge, judge->listing);
}

static int open_below(const struct judge *judge, const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", judge->base, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool judge_run(struct judge *judge, const struct trace_fault *fault,
	       struct trace_result *ret_result)
{
	char root[4096];
	char home[4096];
	char probe[4096];
	const char *const argv[] = { judge->koda,   "run", "--backend", "native", "--root", root,
				     "--policy-fd", "3",   "--",        probe,    "each",   NULL };
	const char *const envp[] = { home, "PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0",
				     NULL };
	const int given[] = { open_below(judge, "acts"), memfd_create("out", MFD_CLOEXEC),
			      memfd_create("err", MFD_CLOEXEC), open_below(judge, "policy") };
	bool ok;

	(void)snprintf(root, sizeof(root), "%s/project", judge->base);
	(void)snprintf(home, sizeof(home), "HOME=%s/home", judge->base);
	(void)snprintf(probe, sizeof(probe), "%s/probe", judge->base);
	ok = trace_run((char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp, given, fault,
		       ret_result);
	ok = slurp(given[1], judge->got) && slurp(given[2], judge->said) && ok;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		(void)close(given[i]);
	return ok;
}

bool judge_learn(struct judge *judge, struct trace_result *ret_plain)
{
	if (!judge_run(judge, NULL, ret_plain) || ret_plain->status != 0 || !ret_plain->executed)
		return false;
	memcpy(judge->answers, judge->got, sizeof(judge->answers));
	return judge->answers[0] && !judge->said[0] && ret_plain->left == 0;
}

/* By us, or by a runner that cannot hold on to it. */
static bool is_guardian_killed(const struct trace_fault *fault, long nr)
{
	if (fault->role == TRACE_RUNNER)
		return nr == SYS_pidfd_open;
	return fault->role == TRACE_GUARDIAN && fault->error == 0;
}

/* No process, no mount, nothing in the project. Placeholders of a guardian that was killed are the
 * next run's to remove. */
static const char *find_litter(struct judge *judge, const struct trace_fault *fault, long nr)
{
	static char now[JUDGE_TEXT_MAX];
	static struct trace_result ignored;
	bool clean = list_project(judge, now) && strcmp(now, judge->listing) == 0;

	if (!clean) {
		static char said[JUDGE_TEXT_MAX];

		memcpy(said, judge->said, sizeof(said));
		(void)judge_run(judge, NULL, &ignored);
		memcpy(judge->said, said, sizeof(said));
		if (is_guardian_killed(fault, nr))
			clean = list_project(judge, now) && strcmp(now, judge->listing) == 0;
	}
	if (!clean)
		return "something is left in the project";
	if (!read_mounts(now) || strcmp(now, judge->mounts) != 0)
		return "the mounts are not what they were";
	return NULL;
}

/* Exactly one line of the runner's own. */
static bool is_one_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return strncmp(text, "koda-sandbox: ", 14) == 0 && end && end[1] == '\0';
}

static const char *judge_refusal(const struct judge *judge, const struct trace_fault *fault,
				 const struct trace_result *result)
{
	int code = WIFEXITED(result->status) ? WEXITSTATUS(result->status) : -1;

	if (fault->error == 0 && fault->role == TRACE_RUNNER)
		return WIFSIGNALED(result->status) ? NULL : "the runner was not killed";
	/* To init, a command that is killed on the way is a command that is killed. */
	if (fault->error == 0 && fault->role == TRACE_COMMAND)
		return code == 128 + SIGKILL ? NULL : "not the status of a killed command";
	/* Without a grant for the program it cannot be executed either. */
	if (fault->role == TRACE_COMMAND && result->fired_nr == SYS_open &&
	    fault->error == ENOENT && code == 126)
		return NULL;
	if (fault->role == TRACE_COMMAND && result->fired_nr == SYS_execve)
		return code == 126 || code == 127 ? NULL : "not the status of a failed exec";
	/* On the way to main libc gives up in its own way. */
	if (fault->role == TRACE_RUNNER &&
	    (result->fired_nr == SYS_brk || result->fired_nr == SYS_mprotect))
		return NULL;
	if (code != 125)
		return "nothing ran, but the status is not 125";
	return is_one_line(judge->said) ? NULL : "not one line says why";
}

static size_t line_length(const char *text)
{
	return strcspn(text, "\n");
}

/* Is every answer the one of an undisturbed run, or a refusal? Answers may be missing at the end.
 */
static bool is_as_narrow(const char *got, const char *answers)
{
	while (*got && *answers) {
		size_t len = line_length(got);
		size_t wanted = line_length(answers);

		if (got[0] != 'E' && (len != wanted || memcmp(got, answers, len) != 0))
			return false;
		got += len + (got[len] != '\0');
		answers += wanted + (answers[wanted] != '\0');
	}
	return !*got;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		count++;
	}
	return count;
}

const char *judge_outcome(struct judge *judge, const struct trace_fault *fault,
			  const struct trace_result *result)
{
	const char *litter;

	if (result->late)
		return "it does not end";
	if (result->left)
		return "processes are left";
	litter = find_litter(judge, fault, result->fired_nr);
	if (litter)
		return litter;
	if (!result->executed)
		return judge_refusal(judge, fault, result);
	/* What ran had its limits, whoever was killed while it ran. */
	if (!is_as_narrow(judge->got, judge->answers))
		return "the command ran with other limits";
	if (fault->error == 0 && result->fired)
		return NULL;
	/* A guardian that can watch no more ends what it watches. */
	if (fault->role == TRACE_GUARDIAN && result->fired_nr == SYS_poll)
		return NULL;
	/* Bytes that could not be carried are missing. */
	if (fault->role == TRACE_RUNNER &&
	    (result->fired_nr == SYS_write || result->fired_nr == SYS_read))
		return NULL;
	if (result->status != 0 || count_lines(judge->got) != count_lines(judge->answers))
		return "the command ran, but the status or the output is wrong";
	if (result->fired && !is_dispensable(fault, result->fired_nr))
		return "the command ran all the same";
	return NULL;
}
