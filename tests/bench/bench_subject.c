/* SPDX-License-Identifier: MIT */
#include "bench_subject.h"

#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

void bench_must(int r, const char *what)
{
	if (r < 0) {
		perror(what);
		_Exit(1);
	}
}

pid_t bench_start(const struct bench_subject *subject)
{
	char *const *argv = (char *const *)(uintptr_t)subject->argv;
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_addchdir_np(&actions, subject->dir) != 0 ||
	    (subject->policy &&
	     posix_spawn_file_actions_addopen(&actions, 3, subject->policy, O_RDONLY, 0) != 0) ||
	    posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0) {
		fprintf(stderr, "bench: cannot start %s\n", argv[0]);
		_Exit(1);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

long bench_finish(pid_t pid, const struct bench_subject *subject)
{
	struct rusage usage;
	int status;

	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0) {
		fprintf(stderr, "bench: %s failed\n", subject->argv[0]);
		_Exit(1);
	}
	return usage.ru_maxrss;
}

double bench_once(const struct bench_subject *subject)
{
	uint64_t begin = bench_now();

	(void)bench_finish(bench_start(subject), subject);
	return (double)(bench_now() - begin) / 1e6;
}

void bench_compare(const char *name, const struct bench_subject *a, const char *than,
		   const struct bench_subject *b, double *ret_more_us)
{
	bench_compare_rounds(BENCH_ROUNDS, name, a, than, b, ret_more_us);
}

void bench_compare_rounds(size_t rounds, const char *name, const struct bench_subject *a,
			  const char *than, const struct bench_subject *b, double *ret_more_us)
{
	static double first[BENCH_ROUNDS];
	static double second[BENCH_ROUNDS];
	static double ratio[BENCH_ROUNDS];
	struct bench_result x;
	struct bench_result y;
	char title[80];

	for (size_t i = 0; i < rounds; i++) {
		first[i] = bench_once(a);
		second[i] = bench_once(b);
		ratio[i] = first[i] / second[i];
	}
	x = bench_percentiles(first, rounds);
	y = bench_percentiles(second, rounds);
	bench_print(name, x, "ms");
	(void)snprintf(title, sizeof(title), "  %s", than);
	bench_print(title, y, "ms");
	bench_print("  ratio, run by run", bench_percentiles(ratio, rounds), "x ");
	printf("%-44s p50 %10.3f x    p95 %10.3f x\n", "  ratio of the figures", x.p50 / y.p50,
	       x.p95 / y.p95);
	if (ret_more_us)
		*ret_more_us = (x.p50 - y.p50) * 1000;
}

const char *bench_project(const char *base, const char *name, char *out, size_t size)
{
	static const char *const git[] = { "/usr/bin/git", "init", "-q", ".", NULL };
	struct bench_subject init = { out, git, NULL };

	(void)snprintf(out, size, "%s/%s", base, name);
	bench_must(mkdir(out, 0755), out);
	(void)bench_finish(bench_start(&init), &init);
	return out;
}

/* Figures are for an ordinary user. */
static void drop_root(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		bench_must(-1, "become an ordinary user");
}

int bench_with_program(int argc, char **argv, void (*act)(const char *base, const char *program))
{
	char base[] = "/var/tmp/koda-bench-XXXXXX";
	const char *const clean[] = { "/bin/rm", "-rf", base, NULL };
	struct bench_subject rm = { "/", clean, NULL };
	char *program = argc == 2 ? realpath(argv[1], NULL) : NULL; /* it is run elsewhere */

	drop_root();
	if (!program || access(program, X_OK) < 0 || !mkdtemp(base)) {
		perror("bench: needs a program that an ordinary user can run, and /var/tmp");
		return 1;
	}
	(void)setenv("HOME", base, 1);
	act(base, program);
	(void)bench_finish(bench_start(&rm), &rm);
	free(program);
	return 0;
}
