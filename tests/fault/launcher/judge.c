/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include "calls.h"

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

/* What the launcher ends with if it could not set everything up: contract. */
#define LAUNCHER_FAILED 88

/* How often a run is repeated in which the launcher was started more than once. */
#define TRIES 10

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

bool judge_open(struct judge *judge, const char *koda, const char *base, const char *backend)
{
	memset(judge, 0, sizeof(*judge));
	judge->backend = backend;
	judge->shape = strcmp(backend, "bwrap") == 0      ? TRACE_BWRAP
		       : strcmp(backend, "landlock") == 0 ? TRACE_LANDLOCK
							  : TRACE_NATIVE;
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

static bool run_once(struct judge *judge, const struct trace_fault *fault,
		     struct trace_result *ret_result)
{
	char root[4096];
	char home[4096];
	char probe[4096];
	/* What Landlock alone does not hold has to be accepted; the others hold all of it. */
	const char *const fenced[] = { judge->koda,
				       "run",
				       "--backend",
				       judge->backend,
				       "--trust",
				       "safe",
				       "--yes",
				       "--accept",
				       "second_layer",
				       "--accept",
				       "missing_names",
				       "--accept",
				       "private_dirs",
				       "--root",
				       root,
				       "--policy-fd",
				       "3",
				       "--",
				       probe,
				       "each",
				       NULL };
	const char *const whole[] = { judge->koda, "run", "--backend",   judge->backend,
				      "--root",    root,  "--policy-fd", "3",
				      "--",        probe, "each",        NULL };
	const char *const *argv = judge->shape == TRACE_LANDLOCK ? fenced : whole;
	const char *const envp[] = { home, "PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0",
				     NULL };
	const int given[] = { open_below(judge, "acts"), memfd_create("out", MFD_CLOEXEC),
			      memfd_create("err", MFD_CLOEXEC), open_below(judge, "policy") };
	bool ok;

	(void)snprintf(root, sizeof(root), "%s/project", judge->base);
	(void)snprintf(home, sizeof(home), "HOME=%s/home", judge->base);
	(void)snprintf(probe, sizeof(probe), "%s/probe", judge->base);
	ok = trace_run(judge->shape, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp,
		       given, fault, ret_result);
	ok = slurp(given[1], judge->got) && slurp(given[2], judge->said) && ok;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		(void)close(given[i]);
	return ok;
}

bool judge_run(struct judge *judge, const struct trace_fault *fault,
	       struct trace_result *ret_result)
{
	bool ok;
	int tries = 0;

	/* A second launcher is started if something on the host has changed during the start. Such
	 * a run says nothing about the fault, unless the fault is what causes it: then it remains.
	 */
	do {
		ok = run_once(judge, fault, ret_result);
	} while (ok && ret_result->starts > 1 && ++tries < TRIES);
	return ok;
}

bool judge_learn(struct judge *judge, struct trace_result *ret_plain)
{
	bool ok;

	/* Placeholders are made in the first run, and kept for the next ones. */
	if (!judge_run(judge, NULL, ret_plain))
		return false;
	if (!judge_run(judge, NULL, ret_plain) || ret_plain->status != 0)
		return false;
	memcpy(judge->answers, judge->got, sizeof(judge->answers));
	/* Landlock alone reserves nothing. */
	ok = ret_plain->executed && (calls_learn(ret_plain) || judge->shape == TRACE_LANDLOCK);
	return ok && judge->answers[0] && !judge->said[0] && ret_plain->left == 0;
}

/* By us, or by a runner that cannot hold on to it. */
static bool is_guardian_killed(const struct trace_fault *fault, long nr)
{
	if (fault->role == TRACE_RUNNER)
		return nr == SYS_pidfd_open;
	return fault->role == TRACE_GUARDIAN && fault->error == 0;
}

/* No process, no mount, nothing in the project. Placeholders of a guardian that was killed are the
 * next run's to remove; what a command makes that is ended on the way is its own, and the next one
 * removes that, too. */
static const char *find_litter(struct judge *judge, const struct trace_fault *fault,
			       const struct trace_result *result)
{
	static char now[JUDGE_TEXT_MAX];
	static struct trace_result ignored;
	bool clean = list_project(judge, now) && strcmp(now, judge->listing) == 0;

	if (!clean) {
		static char said[JUDGE_TEXT_MAX];

		memcpy(said, judge->said, sizeof(said));
		(void)judge_run(judge, NULL, &ignored);
		memcpy(judge->said, said, sizeof(said));
		if (is_guardian_killed(fault, result->fired_nr) ||
		    (judge->shape == TRACE_LANDLOCK && result->executed))
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
	/* To init, a command that is killed on the way is a command that is killed; without
	 * namespaces init itself does that when the guardian is gone, or it can watch no more. */
	if ((fault->error == 0 || result->fired_nr == SYS_poll) && judge->shape == TRACE_LANDLOCK &&
	    code == 128 + SIGKILL)
		return NULL;
	if (fault->error == 0 && fault->role == TRACE_COMMAND)
		return code == 128 + SIGKILL ? NULL : "not the status of a killed command";
	/* Without a grant for the program it cannot be executed either. */
	if (fault->role == TRACE_COMMAND && result->fired_nr == SYS_openat2 &&
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
	/* What the launcher has told, its status tells, too. */
	if (strstr(judge->said, "could not be set up") && !WIFSIGNALED(result->launcher) &&
	    (!WIFEXITED(result->launcher) || WEXITSTATUS(result->launcher) != LAUNCHER_FAILED))
		return "the launcher has failed, but not its status";
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

	if (result->late) {
		(void)find_litter(judge, fault, result);
		return "it does not end";
	}
	if (result->left)
		return "processes are left";
	litter = find_litter(judge, fault, result);
	if (litter)
		return litter;
	if (result->scratch[0] && access(result->scratch, F_OK) == 0)
		return "the temporary directory is left";
	if (!result->executed)
		return judge_refusal(judge, fault, result);
	/* What ran had its limits, whoever was killed while it ran. */
	if (!is_as_narrow(judge->got, judge->answers))
		return "the command ran with other limits";
	if (fault->error == 0 && result->fired)
		return NULL;
	/* Bubblewrap takes what is inside with it, whenever it ends. */
	if (fault->role == TRACE_BUBBLEWRAP && result->fired)
		return NULL;
	/* Whoever can watch no more ends what it watches. */
	if ((fault->role == TRACE_GUARDIAN || fault->role == TRACE_INIT ||
	     fault->role == TRACE_RUNNER) &&
	    result->fired_nr == SYS_poll)
		return NULL;
	/* So does who hears nothing more of it. */
	if (fault->role == TRACE_RUNNER && result->fired_nr == SYS_recvmsg && fault->error != EINTR)
		return WIFEXITED(result->status) && WEXITSTATUS(result->status) == 125 &&
				       is_one_line(judge->said)
			       ? NULL
			       : "a report was lost, and nobody says so";
	/* Bytes that could not be carried are missing. */
	if (fault->role == TRACE_RUNNER &&
	    (result->fired_nr == SYS_write || result->fired_nr == SYS_read))
		return NULL;
	if (result->status != 0 || count_lines(judge->got) != count_lines(judge->answers))
		return "the command ran, but the status or the output is wrong";
	if (result->fired && !calls_are_dispensable(judge->shape, fault, result))
		return "the command ran all the same";
	return NULL;
}
