/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run -c true` against bubblewrap with the same namespaces and binds, and against a
 * plain shell: in a plain project, in one with many files, in one with many directories, with many
 * rules, and many at once. What is compared is run in turns. argv[1] is the program. As root it
 * becomes an ordinary user first.
 */
#include "bench.h"

#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS   300
#define PARALLEL 64
#define BATCHES  12
#define FILES    100000
#define RULES    1000
/* 8 directories with 25 each, with 25 each. */
#define TOP  8
#define WIDE 25
#define DIRS (TOP + TOP * WIDE + TOP * WIDE * WIDE)

#define NOBODY 65534

/* What is run, and where. */
struct subject {
	const char *dir;
	const char *const *argv;
	const char *policy; /* file to have as descriptor 3; NULL: none */
};

static void must(int r, const char *what)
{
	if (r < 0) {
		perror(what);
		_Exit(1);
	}
}

static pid_t start(const struct subject *subject)
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

static long finish(pid_t pid, const struct subject *subject)
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

static double run_once(const struct subject *subject)
{
	uint64_t begin = bench_now();

	(void)finish(start(subject), subject);
	return (double)(bench_now() - begin) / 1e6;
}

/* Starts per second. */
static double run_many(const struct subject *subject)
{
	pid_t pids[PARALLEL];
	uint64_t begin = bench_now();

	for (size_t i = 0; i < PARALLEL; i++)
		pids[i] = start(subject);
	for (size_t i = 0; i < PARALLEL; i++)
		(void)finish(pids[i], subject);
	return PARALLEL / ((double)(bench_now() - begin) / 1e9);
}

static void make_files(const char *dir)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(at, "f0", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	char name[32];

	must(fd, "f0");
	(void)close(fd);
	for (int i = 1; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		must(mknodat(at, name, S_IFREG | 0644, 0), name);
	}
	(void)close(at);
}

static void make_dirs(const char *dir)
{
	char path[160];

	for (int a = 0; a < TOP; a++) {
		(void)snprintf(path, sizeof(path), "%s/%d", dir, a);
		must(mkdir(path, 0755), path);
		for (int b = 0; b < WIDE; b++) {
			(void)snprintf(path, sizeof(path), "%s/%d/%d", dir, a, b);
			must(mkdir(path, 0755), path);
			for (int c = 0; c < WIDE; c++) {
				(void)snprintf(path, sizeof(path), "%s/%d/%d/%d", dir, a, b, c);
				must(mkdir(path, 0755), path);
			}
		}
	}
}

/* Rules that the project at dir does not run into: hosts, and paths that are not there. */
static void make_policy(const char *file, const char *dir)
{
	FILE *out = fopen(file, "we");

	if (!out)
		must(-1, file);
	fprintf(out, "{\"fs\":{\"allow_write\":[\"%s\"],\"deny_read\":[\"/nonexistent\"", dir);
	for (int i = 0; i < RULES / 4; i++)
		fprintf(out, ",\"/nonexistent/d%d/secret%d\"", i % 10, i);
	fprintf(out, "],\"deny_write_within_allow\":[\"/nonexistent\"");
	for (int i = 0; i < RULES / 4; i++)
		fprintf(out, ",\"/nonexistent/d%d/closed%d\"", i % 10, i);
	fprintf(out, "]},\"net\":{\"allowed_domains\":[\"a.example\"");
	for (int i = 0; i < RULES / 2; i++)
		fprintf(out, ",\"host%d.example.com:443\"", i);
	fprintf(out, "],\"allow_local_binding\":true}}\n");
	if (fclose(out) != 0)
		must(-1, file);
}

/* Two subjects in turns, and what the first takes of the second's time. */
static void compare(const char *name, const struct subject *a, const char *than,
		    const struct subject *b, double *ret_more_us)
{
	static double first[ROUNDS];
	static double second[ROUNDS];
	static double ratio[ROUNDS];
	struct bench_result x;
	struct bench_result y;
	char title[80];

	for (int i = 0; i < ROUNDS; i++) {
		first[i] = run_once(a);
		second[i] = run_once(b);
		ratio[i] = first[i] / second[i];
	}
	x = bench_percentiles(first, ROUNDS);
	y = bench_percentiles(second, ROUNDS);
	bench_print(name, x, "ms");
	(void)snprintf(title, sizeof(title), "  %s", than);
	bench_print(title, y, "ms");
	bench_print("  ratio, run by run", bench_percentiles(ratio, ROUNDS), "x ");
	printf("%-44s p50 %10.3f x    p95 %10.3f x\n", "  ratio of the figures", x.p50 / y.p50,
	       x.p95 / y.p95);
	if (ret_more_us)
		*ret_more_us = (x.p50 - y.p50) * 1000;
}

static void compare_rates(const struct subject *koda, const struct subject *bwrap)
{
	double ours[BATCHES];
	double theirs[BATCHES];
	double ratio[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		ours[i] = run_many(koda);
		theirs[i] = run_many(bwrap);
		ratio[i] = ours[i] / theirs[i];
	}
	bench_print("64 at once, koda-sandbox", bench_percentiles(ours, BATCHES), "/s");
	bench_print("64 at once, bwrap", bench_percentiles(theirs, BATCHES), "/s");
	bench_print("  ratio", bench_percentiles(ratio, BATCHES), "x ");
}

static void print_memory(const struct subject *subject, const char *name)
{
	long most = 0;

	for (int i = 0; i < 10; i++) {
		long kib = finish(start(subject), subject);

		most = kib > most ? kib : most;
	}
	/* Of the runner and what it waits for; this program's own counts until the exec. */
	printf("%-44s %.1f MiB\n", name, (double)most / 1024);
}

/* Figures are for an ordinary user. */
static void drop_root(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		must(-1, "become an ordinary user");
}

static const char *make_project(const char *base, const char *name, char *out, size_t size)
{
	static const char *const git[] = { "/usr/bin/git", "init", "-q", ".", NULL };
	struct subject init = { out, git, NULL };

	(void)snprintf(out, size, "%s/%s", base, name);
	must(mkdir(out, 0755), out);
	(void)finish(start(&init), &init);
	return out;
}

static void bench_in(const char *base, const char *program)
{
	char plain_dir[64];
	char files_dir[64];
	char deep_dir[64];
	char policy[64];
	char hooks[96];
	char config[96];
	const char *const sh[] = { "/bin/sh", "-c", "true", NULL };
	const char *const run[] = { program, "run", "-c", "true", NULL };
	const char *const ruled[] = { program, "run", "--policy-fd", "3", "-c", "true", NULL };
	const char *const box[] = { "/usr/bin/bwrap",
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
				    plain_dir,
				    plain_dir,
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
	const struct subject shell = { plain_dir, sh, NULL };
	const struct subject bwrap = { plain_dir, box, NULL };
	const struct subject koda = { plain_dir, run, NULL };
	const struct subject many_files = { files_dir, run, NULL };
	const struct subject many_dirs = { deep_dir, run, NULL };
	const struct subject many_rules = { plain_dir, ruled, policy };
	double more;

	(void)make_project(base, "plain", plain_dir, sizeof(plain_dir));
	(void)snprintf(hooks, sizeof(hooks), "%s/.git/hooks", plain_dir);
	(void)snprintf(config, sizeof(config), "%s/.git/config", plain_dir);
	make_files(make_project(base, "files", files_dir, sizeof(files_dir)));
	make_dirs(make_project(base, "deep", deep_dir, sizeof(deep_dir)));
	(void)snprintf(policy, sizeof(policy), "%s/policy", base);
	make_policy(policy, plain_dir);
	compare("koda-sandbox run -c true", &koda, "bwrap ... sh -c true", &bwrap, NULL);
	compare("koda-sandbox run -c true", &koda, "sh -c true", &shell, NULL);
	compare("100,000 files in the project", &many_files, "none", &koda, NULL);
	compare("1,000 rules", &many_rules, "the trust table's", &koda, NULL);
	compare("5,208 directories in the project", &many_dirs, "none", &koda, &more);
	printf("%-44s     %10.3f us\n", "  each directory", more / DIRS);
	compare_rates(&koda, &bwrap);
	print_memory(&koda, "peak memory of a run");
	print_memory(&many_rules, "peak memory of a run, 1,000 rules");
	print_memory(&many_dirs, "peak memory of a run, 5,208 directories");
}

int main(int argc, char **argv)
{
	char base[] = "/var/tmp/koda-bench-XXXXXX";
	const char *const clean[] = { "/bin/rm", "-rf", base, NULL };
	struct subject rm = { "/", clean, NULL };
	char *program = argc == 2 ? realpath(argv[1], NULL) : NULL; /* it is run elsewhere */

	drop_root();
	if (!program || access(program, X_OK) < 0 || !mkdtemp(base)) {
		perror("bench: needs a program that an ordinary user can run, and /var/tmp");
		return 1;
	}
	(void)setenv("HOME", base, 1);
	bench_in(base, program);
	(void)finish(start(&rm), &rm);
	free(program);
	return 0;
}
