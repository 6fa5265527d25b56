/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run -c true` against bubblewrap with the same namespaces and binds, and against a
 * plain shell, interleaved. argv[1] is the program; run it as an ordinary user. A line "64 at once"
 * compares rates.
 */
#include "bench.h"

#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS   300
#define PARALLEL 64

static pid_t start(const char *const argv[])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0) != 0 ||
	    posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) !=
		    0) {
		fprintf(stderr, "bench: cannot start %s\n", argv[0]);
		_Exit(1);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void finish(pid_t pid, const char *name)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "bench: %s failed\n", name);
		_Exit(1);
	}
}

static double run_once(const char *const argv[])
{
	uint64_t begin = bench_now();

	finish(start(argv), argv[0]);
	return (double)(bench_now() - begin) / 1e6;
}

static double run_many(const char *const argv[])
{
	pid_t pids[PARALLEL];
	uint64_t begin = bench_now();

	for (size_t i = 0; i < PARALLEL; i++)
		pids[i] = start(argv);
	for (size_t i = 0; i < PARALLEL; i++)
		finish(pids[i], argv[0]);
	return PARALLEL / ((double)(bench_now() - begin) / 1e9);
}

static void must(int r, const char *what)
{
	if (r != 0) {
		perror(what);
		_Exit(1);
	}
}

int main(int argc, char **argv)
{
	static double ours[ROUNDS];
	static double theirs[ROUNDS];
	static double plain[ROUNDS];
	static double ratio[ROUNDS];
	char dir[] = "/var/tmp/koda-bench-XXXXXX";
	char hooks[64];
	char config[64];
	const char *const git[] = { "/usr/bin/git", "init", "-q", ".", NULL };
	const char *const clean[] = { "/bin/rm", "-rf", dir, NULL };
	const char *const shell[] = { "/bin/sh", "-c", "true", NULL };
	const char *koda[] = { NULL, "run", "-c", "true", NULL };
	const char *const bwrap[] = { "/usr/bin/bwrap",
				      "--unshare-user",
				      "--unshare-pid",
				      "--unshare-net",
				      "--unshare-ipc",
				      "--unshare-uts",
				      "--ro-bind",
				      "/",
				      "/",
				      "--tmpfs",
				      "/tmp",
				      "--tmpfs",
				      "/run",
				      "--dev",
				      "/dev",
				      "--proc",
				      "/proc",
				      "--bind",
				      dir,
				      dir,
				      "--ro-bind",
				      hooks,
				      hooks,
				      "--ro-bind",
				      config,
				      config,
				      "--",
				      "sh",
				      "-c",
				      "true",
				      NULL };

	if (argc != 2 || !mkdtemp(dir))
		return 1;
	koda[0] = argv[1];
	(void)snprintf(hooks, sizeof(hooks), "%s/.git/hooks", dir);
	(void)snprintf(config, sizeof(config), "%s/.git/config", dir);
	must(chdir(dir), dir);
	finish(start(git), "git");
	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = run_once(koda);
		theirs[i] = run_once(bwrap);
		plain[i] = run_once(shell);
		ratio[i] = ours[i] / theirs[i];
	}
	bench_print("sh -c true", bench_percentiles(plain, ROUNDS), "ms");
	bench_print("bwrap ... sh -c true", bench_percentiles(theirs, ROUNDS), "ms");
	bench_print("koda-sandbox run -c true", bench_percentiles(ours, ROUNDS), "ms");
	bench_print("ratio to bwrap", bench_percentiles(ratio, ROUNDS), "x ");
	printf("64 at once: koda-sandbox %.0f/s, bwrap %.0f/s\n", run_many(koda), run_many(bwrap));
	must(chdir("/"), "/");
	finish(start(clean), "rm");
	return 0;
}
