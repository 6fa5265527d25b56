/* SPDX-License-Identifier: MIT */
/*
 * The library against the command line, in turns: starting `true`, and capturing 100 MB of output
 * against reading a plain pipe. argv[1] is the program. As root it becomes an ordinary user first.
 */
#include "bench_subject.h"

#include <koda/koda.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS    200
#define COPIES    12
#define MEGABYTES 100

static const char *const writer[] = { "/usr/bin/head", "-c", "100000000", "/dev/zero", NULL };

static void must(int r, const struct koda_error *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench: %s: %s\n", err->field, err->message);
	_Exit(1);
}

static struct koda_sandbox *open_in(const char *dir)
{
	struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	must(koda_policy_for_trust(KODA_TRUST_AUTO, dir, &policy, &err), &err);
	must(koda_policy_set_limit(policy, KODA_LIMIT_OUTPUT, (uint64_t)1 << 30, &err), &err);
	must(koda_sandbox_open(
		     &(const struct koda_sandbox_options){
			     .size = sizeof(struct koda_sandbox_options),
			     .trust = KODA_TRUST_AUTO,
			     .root = dir,
			     .policy = policy,
			     .host_env = (const char *const *)environ },
		     &sandbox, &err),
	     &err);
	koda_policy_free(policy);
	return sandbox;
}

/* Milliseconds from the start to the end of the command, whose output has to have this length. */
static double run(struct koda_sandbox *sandbox, const char *const *argv, size_t len)
{
	const struct koda_command_options options = { .size = sizeof(options),
						      .argv = argv,
						      .out = { .kind = KODA_STREAM_CAPTURE } };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };
	uint64_t begin = bench_now();

	must(koda_sandbox_start(sandbox, &options, &command, &err), &err);
	must(koda_command_wait(command, &outcome, &err), &err);
	if (outcome.end != KODA_END_EXITED || outcome.code != 0 ||
	    koda_command_output(command, 1).len != len)
		must(KODA_E_CHILD, &err);
	koda_command_free(command);
	return (double)(bench_now() - begin) / 1e6;
}

/* Milliseconds for reading it into memory through a pipe, without a sandbox. */
static double read_pipe(void)
{
	uint64_t begin = bench_now();
	size_t size = (size_t)MEGABYTES * 1000000;
	char *bytes = malloc(size + 65536);
	size_t got = 0;
	int fds[2];
	ssize_t n;
	pid_t pid;

	bench_must(pipe(fds), "pipe");
	pid = fork();
	bench_must(pid, "fork");
	if (pid == 0) {
		(void)dup2(fds[1], 1);
		(void)close(fds[0]);
		(void)execv(writer[0], (char *const *)(uintptr_t)writer);
		_exit(127);
	}
	(void)close(fds[1]);
	while (bytes && (n = read(fds[0], bytes + got, 65536)) > 0)
		got += (size_t)n;
	(void)close(fds[0]);
	(void)waitpid(pid, NULL, 0);
	free(bytes);
	if (got != size)
		bench_must(-1, "read");
	return (double)(bench_now() - begin) / 1e6;
}

static void print(const char *name, double *ours, const char *than, double *theirs, size_t count)
{
	struct bench_result x = bench_percentiles(ours, count);
	struct bench_result y = bench_percentiles(theirs, count);

	bench_print(name, x, "ms");
	bench_print(than, y, "ms");
	printf("%-44s p50 %10.3f x    p95 %10.3f x\n", "  ratio of the figures", x.p50 / y.p50,
	       x.p95 / y.p95);
}

static void bench_in(const char *base, const char *program)
{
	static double ours[ROUNDS];
	static double theirs[ROUNDS];
	static const char *const nothing[] = { "true", NULL };
	const char *const cli[] = { program, "run", "--", "true", NULL };
	char dir[64];
	const struct bench_subject subject = { dir, cli, NULL };
	struct koda_sandbox *sandbox;

	sandbox = open_in(bench_project(base, "plain", dir, sizeof(dir)));
	(void)run(sandbox, nothing, 0); /* the first finds out which backend works */
	for (size_t i = 0; i < ROUNDS; i++) {
		ours[i] = run(sandbox, nothing, 0);
		theirs[i] = bench_once(&subject);
	}
	print("library: start, wait, free", ours, "  koda-sandbox run -- true", theirs, ROUNDS);
	for (size_t i = 0; i < COPIES; i++) {
		ours[i] = run(sandbox, writer, (size_t)MEGABYTES * 1000000);
		theirs[i] = read_pipe();
	}
	print("library: capture of 100 MB", ours, "  a plain pipe", theirs, COPIES);
	koda_sandbox_close(sandbox);
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
