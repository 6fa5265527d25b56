/* SPDX-License-Identifier: MIT */
/* `koda-sandbox policy check` from start to end against /bin/true, interleaved. argv[1] is the
 * program. */
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>

#define ROUNDS 400

static double run_once(const char *const argv[], char *const envp[])
{
	uint64_t start = bench_now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, envp) != 0 ||
	    waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "bench: %s failed\n", argv[0]);
		_Exit(1);
	}
	return (double)(bench_now() - start) / 1000;
}

int main(int argc, char **argv)
{
	static double plain[ROUNDS];
	static double ours[ROUNDS];
	static double ratio[ROUNDS];
	static char home[] = "HOME=/nonexistent";
	static char path[] = "PATH=/usr/bin:/bin";
	char *const envp[] = { home, path, NULL };
	const char *const true_argv[] = { "/bin/true", NULL };
	const char *check_argv[] = { NULL,
				     "policy",
				     "check",
				     "--root",
				     "/nonexistent/project",
				     "write",
				     "/nonexistent/project/src/main.c",
				     NULL };
	FILE *quiet;

	if (argc != 2)
		return 1;
	check_argv[0] = argv[1];
	/* The verdict line is not what is measured. */
	quiet = freopen("/dev/null", "w", stdout);
	for (int i = 0; quiet && i < ROUNDS; i++) {
		plain[i] = run_once(true_argv, envp);
		ours[i] = run_once(check_argv, envp);
		ratio[i] = ours[i] / plain[i];
	}
	quiet = freopen("/dev/stderr", "w", stdout);
	if (!quiet)
		return 1;
	bench_print("/bin/true", bench_percentiles(plain, ROUNDS), "us");
	bench_print("koda-sandbox policy check", bench_percentiles(ours, ROUNDS), "us");
	bench_print("ratio", bench_percentiles(ratio, ROUNDS), "x ");
	return 0;
}
