/* SPDX-License-Identifier: MIT */
/*
 * The landlock backend running true, against a plain spawn of it, in turns: in an empty project,
 * and in a repository, where grants are cut around what is protected; and against the same
 * processes with hardly anything to do (floor.c). argv[1] is the program, the other two are those.
 * As root it becomes an ordinary user first.
 */
#include "bench.h"

#include <grp.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 500
#define NOBODY 65534

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		_Exit(1);
	}
}

/* In the working directory; milliseconds. */
static double spawn_once(const char *const *words)
{
	char *const *argv = (char *const *)(uintptr_t)words;
	uint64_t begin = bench_now();
	int status = -1;
	pid_t pid;

	must(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0, argv[0]);
	must(waitpid(pid, &status, 0) == pid && status == 0, argv[0]);
	return (double)(bench_now() - begin) / 1e6;
}

static void in_turns(const char *title, const char *const *koda, const char *const *floor,
		     const char *const *plain)
{
	static double ours[ROUNDS];
	static double least[ROUNDS];
	static double theirs[ROUNDS];
	static double over[ROUNDS];
	static double ratio[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = spawn_once(koda);
		least[i] = spawn_once(floor);
		theirs[i] = spawn_once(plain);
		over[i] = ours[i] - 1.5 * theirs[i];
		ratio[i] = ours[i] / least[i];
	}
	bench_print(title, bench_percentiles(ours, ROUNDS), "ms");
	bench_print("  plain spawn", bench_percentiles(theirs, ROUNDS), "ms");
	bench_print("  beyond 1.5 of the spawn beside it", bench_percentiles(over, ROUNDS), "ms");
	bench_print("  the same processes, bare", bench_percentiles(least, ROUNDS), "ms");
	bench_print("  ratio to these", bench_percentiles(ratio, ROUNDS), "x ");
}

int main(int argc, char **argv)
{
	char base[] = "/var/tmp/koda-bench-XXXXXX";
	char *program = argc == 4 ? realpath(argv[1], NULL) : NULL;
	char *least = argc == 4 ? realpath(argv[2], NULL) : NULL;
	char *launcher = argc == 4 ? realpath(argv[3], NULL) : NULL;
	const char *const floor[] = { least, "run", launcher, "/bin/true", NULL };
	const char *const plain[] = { "/bin/true", NULL };
	const char *const init[] = { "/usr/bin/git", "init", "-q", ".", NULL };
	const char *const clean[] = { "/bin/rm", "-rf", base, NULL };
	const char *const koda[] = { program,         "run",      "--backend",    "landlock",
				     "--trust",       "safe",     "--yes",        "--accept",
				     "missing_names", "--accept", "private_dirs", "--accept",
				     "second_layer",  "--",       "/bin/true",    NULL };

	must(geteuid() != 0 || (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
				setresuid(NOBODY, NOBODY, NOBODY) == 0),
	     "become an ordinary user");
	must(program && least && launcher && mkdtemp(base) && chdir(base) == 0,
	     "needs three programs, and /var/tmp");
	must(setenv("HOME", "/nonexistent", 1) == 0, "HOME");
	in_turns("landlock, empty project", koda, floor, plain);
	(void)spawn_once(init);
	in_turns("landlock, repository", koda, floor, plain);
	must(chdir("/") == 0, "/");
	(void)spawn_once(clean);
	free(program);
	free(least);
	free(launcher);
	return 0;
}
