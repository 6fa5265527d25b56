/* SPDX-License-Identifier: MIT */
/*
 * Every system call on the way to a command fails in turn, and every process is killed at each of
 * them. Either nothing runs, the runner ends with 125 and one line says why; or, for the calls that
 * are listed here as dispensable, the command runs and its attempts get the same answers as in a
 * run without a fault. Afterwards no process, no mount and no placeholder is left.
 *
 *   test_launcher KODA BASE BACKEND [no-runner]
 *
 * BASE holds home, project, policy, acts (for `probe each`) and probe; see launcher.sh. A sample of
 * the calls is tried; KODA_FAULT_ALL=1 tries all of them with more errors, KODA_FAULT_ROLE=guardian
 * only those of one process. "no-runner" leaves the runner's own calls alone: a sanitizer's runtime
 * cannot do without them. With other backends than native nobody is disturbed before the guardian
 * is there: until then all are alike.
 */
#include "calls.h"
#include "judge.h"
#include "trace.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Errors that some call is known to be forgiven for, and some that none is. */
static const int errors[] = { EIO,    EPERM,  ENOENT, EACCES, ENOSYS, EINVAL,
			      ENOMEM, EEXIST, EBUSY,  EINTR,  ENOSPC };

#define ERRORS (sizeof(errors) / sizeof(errors[0]))

static const char *const role_names[] = { "runner",     "spawn", "guardian", "bubblewrap",
					  "namespaced", "init",  "network",  "command" };

static struct trace_result plain; /* of a run without a fault */

/* What is alike with every backend is tried most with the first: the others differ in what the
 * launcher does around the command. */
static bool is_own(const struct judge *judge, enum trace_role role)
{
	return judge->shape == TRACE_NATIVE || role == TRACE_GUARDIAN || role == TRACE_INIT ||
	       role == TRACE_NETWORK;
}

/* Of calls to the same thing by the same process, the first, the last and some between. */
static bool is_sampled(const struct judge *judge, enum trace_role role, size_t nth, size_t step)
{
	short nr = plain.calls[role][nth - 1];
	size_t before = 0;
	size_t after = 0;

	for (size_t i = 0; i < plain.count[role]; i++) {
		before += i < nth - 1 && plain.calls[role][i] == nr;
		after += i > nth - 1 && plain.calls[role][i] == nr;
	}
	if (judge->shape != TRACE_NATIVE)
		step *= 4;
	return before == 0 || (after == 0 && is_own(judge, role)) || before % step == step / 2;
}

/* What is forgiven in some places only is tried in all of them. */
static bool is_forgiven_somewhere(const struct trace_fault *fault, long nr)
{
	return fault->role == TRACE_INIT && fault->error == ENOENT && nr == SYS_move_mount;
}

/* Tracer and traced take turns; on one processor that costs no wake-up of another. */
static void stay_here(void)
{
	cpu_set_t here;
	int cpu = sched_getcpu();

	CPU_ZERO(&here);
	if (cpu >= 0) {
		CPU_SET(cpu, &here);
		(void)sched_setaffinity(0, sizeof(here), &here);
	}
}

static bool is_everything(void)
{
	const char *all = getenv("KODA_FAULT_ALL");

	return all && strcmp(all, "1") == 0;
}

/* Has the process calls to try, and is it the one that was asked for, if one was? */
static bool is_asked_for(int role)
{
	const char *only = getenv("KODA_FAULT_ROLE");

	return plain.count[role] > 0 && (!only || strcmp(only, role_names[role]) == 0);
}

/* One fault; what is wrong with its outcome goes to standard error, which every summary shows. */
static unsigned int try_fault(struct judge *judge, const struct trace_fault *fault)
{
	static struct trace_result result;
	const char *wrong;

	if (!judge_run(judge, fault, &result)) {
		(void)fprintf(stderr, "# %s, call %zu: cannot be traced\n", role_names[fault->role],
			      fault->nth);
		return 1;
	}
	wrong = judge_outcome(judge, fault, &result);
	if (wrong)
		(void)fprintf(
			stderr,
			"# %s, call %zu (%s %s) %s: %s\n#   exit %#x, launcher %#x, said: %s\n",
			role_names[fault->role], fault->nth, calls_name(result.fired_nr),
			result.fired_path, fault->error ? strerrorname_np(fault->error) : "killed",
			wrong, (unsigned int)result.status, (unsigned int)result.launcher,
			judge->said);
	return wrong ? 1 : 0;
}

static void report(unsigned int wrong, unsigned int tried, const char *role, const char *what)
{
	static unsigned int number;

	(void)printf("%sok %u - %s: %u calls %s\n", wrong ? "not " : "", ++number, role, tried,
		     what);
	(void)fflush(stdout);
}

/* The first error for more calls than the others, which take turns. */
static bool is_tried(const struct judge *judge, enum trace_role role, size_t nth, size_t e)
{
	if (e == 0)
		return is_sampled(judge, role, nth, 8);
	return is_own(judge, role) && e - 1 == nth % (ERRORS - 1) &&
	       is_sampled(judge, role, nth, 12);
}

static unsigned int fail_each(struct judge *judge, enum trace_role role, bool all)
{
	unsigned int wrong = 0;
	unsigned int tried = 0;

	for (size_t nth = 1; nth <= plain.count[role]; nth++) {
		for (size_t e = 0; e < ERRORS; e++) {
			const struct trace_fault fault = { role, nth, errors[e], calls_can_fail };
			short nr = plain.calls[role][nth - 1];

			if (!calls_can_fail(&fault, nr))
				continue;
			if (!all && !is_forgiven_somewhere(&fault, nr) &&
			    !is_tried(judge, role, nth, e))
				continue;
			wrong += try_fault(judge, &fault);
			tried++;
		}
	}
	report(wrong, tried, role_names[role], "made to fail");
	return wrong;
}

static unsigned int kill_each(struct judge *judge, enum trace_role role, bool all)
{
	unsigned int wrong = 0;
	unsigned int tried = 0;

	for (size_t nth = 1; nth <= plain.count[role]; nth++) {
		const struct trace_fault fault = { role, nth, 0, NULL };

		if (!all && !is_sampled(judge, role, nth, 24))
			continue;
		wrong += try_fault(judge, &fault);
		tried++;
	}
	report(wrong, tried, role_names[role], "at which it is killed");
	return wrong;
}

int main(int argc, char **argv)
{
	bool no_runner = argc == 5 && strcmp(argv[4], "no-runner") == 0;
	bool all = is_everything();
	unsigned int roles = 0;
	int first;
	unsigned int wrong = 0;
	static struct judge judge;

	if ((argc != 4 && !no_runner) || !judge_open(&judge, argv[1], argv[2], argv[3]))
		return 2;
	stay_here();
	if (!judge_learn(&judge, &plain)) {
		(void)printf("1..1\nnot ok 1 - a run without a fault\n# %s\n", judge.said);
		return 1;
	}
	first = judge.shape != TRACE_NATIVE ? TRACE_GUARDIAN
		: no_runner                 ? TRACE_SPAWN
					    : TRACE_RUNNER;
	for (int role = first; role < TRACE_ROLES; role++)
		roles += is_asked_for(role);
	(void)printf("1..%u\n", 2 * roles);
	for (int role = first; role < TRACE_ROLES; role++) {
		if (!is_asked_for(role))
			continue;
		wrong += fail_each(&judge, (enum trace_role)role, all);
		wrong += kill_each(&judge, (enum trace_role)role, all);
	}
	return wrong ? 1 : 0;
}
