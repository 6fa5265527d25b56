/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run -c true` against bubblewrap with the same namespaces, with the same binds and
 * with a few, and against a plain shell: in a plain project, in one with many files, in one with
 * many directories, with many rules, and many at once. What is compared is run in turns. argv[1] is
 * the program. As root it becomes an ordinary user first.
 */
#include "bench_bwrap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARALLEL 64
#define BATCHES  12
#define FILES    100000
#define RULES    1000
/* 8 directories with 25 each, with 25 each. */
#define TOP  8
#define WIDE 25
#define DIRS (TOP + TOP * WIDE + TOP * WIDE * WIDE)

/* Starts per second. */
static double run_many(const struct bench_subject *subject)
{
	pid_t pids[PARALLEL];
	uint64_t begin = bench_now();

	for (size_t i = 0; i < PARALLEL; i++)
		pids[i] = bench_start(subject);
	for (size_t i = 0; i < PARALLEL; i++)
		(void)bench_finish(pids[i], subject);
	return PARALLEL / ((double)(bench_now() - begin) / 1e9);
}

static void make_files(const char *dir)
{
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(at, "f0", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	char name[32];

	bench_must(fd, "f0");
	(void)close(fd);
	for (int i = 1; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		bench_must(mknodat(at, name, S_IFREG | 0644, 0), name);
	}
	(void)close(at);
}

static void make_dirs(const char *dir)
{
	char path[160];

	for (int a = 0; a < TOP; a++) {
		(void)snprintf(path, sizeof(path), "%s/%d", dir, a);
		bench_must(mkdir(path, 0755), path);
		for (int b = 0; b < WIDE; b++) {
			(void)snprintf(path, sizeof(path), "%s/%d/%d", dir, a, b);
			bench_must(mkdir(path, 0755), path);
			for (int c = 0; c < WIDE; c++) {
				(void)snprintf(path, sizeof(path), "%s/%d/%d/%d", dir, a, b, c);
				bench_must(mkdir(path, 0755), path);
			}
		}
	}
}

/* Rules that the project at dir does not run into: hosts, and paths that are not there. */
static void make_policy(const char *file, const char *dir)
{
	FILE *out = fopen(file, "we");

	if (!out)
		bench_must(-1, file);
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
		bench_must(-1, file);
}

static void compare_rates(const struct bench_subject *koda, const char *how,
			  const struct bench_subject *bwrap)
{
	double ours[BATCHES];
	double theirs[BATCHES];
	double ratio[BATCHES];
	char name[64];

	for (int i = 0; i < BATCHES; i++) {
		ours[i] = run_many(koda);
		theirs[i] = run_many(bwrap);
		ratio[i] = ours[i] / theirs[i];
	}
	bench_print("64 at once, koda-sandbox", bench_percentiles(ours, BATCHES), "/s");
	(void)snprintf(name, sizeof(name), "64 at once, bwrap %s", how);
	bench_print(name, bench_percentiles(theirs, BATCHES), "/s");
	bench_print("  ratio", bench_percentiles(ratio, BATCHES), "x ");
}

static void print_memory(const struct bench_subject *subject, const char *name)
{
	long most = 0;

	for (int i = 0; i < 10; i++) {
		long kib = bench_finish(bench_start(subject), subject);

		most = kib > most ? kib : most;
	}
	/* Of the runner and what it waits for; this program's own counts until the exec. */
	printf("%-44s %.1f MiB\n", name, (double)most / 1024);
}

static void bench_in(const char *base, const char *program)
{
	char plain_dir[64];
	char files_dir[64];
	char deep_dir[64];
	char policy[64];
	char twin_dir[64];
	const char *const sh[] = { "/bin/sh", "-c", "true", NULL };
	const char *const run[] = { program, "run", "-c", "true", NULL };
	const char *const ruled[] = { program, "run", "--policy-fd", "3", "-c", "true", NULL };
	const struct bench_subject shell = { plain_dir, sh, NULL };
	const struct bench_subject koda = { plain_dir, run, NULL };
	const struct bench_subject many_files = { files_dir, run, NULL };
	const struct bench_subject many_dirs = { deep_dir, run, NULL };
	const struct bench_subject many_rules = { plain_dir, ruled, policy };
	struct bench_subject bwrap;
	struct bench_subject same;
	double more;

	(void)bench_project(base, "plain", plain_dir, sizeof(plain_dir));
	bwrap = bench_bwrap_few(plain_dir);
	same = bench_bwrap_same(bench_project(base, "twin", twin_dir, sizeof(twin_dir)), program);
	make_files(bench_project(base, "files", files_dir, sizeof(files_dir)));
	make_dirs(bench_project(base, "deep", deep_dir, sizeof(deep_dir)));
	(void)snprintf(policy, sizeof(policy), "%s/policy", base);
	make_policy(policy, plain_dir);
	bench_compare("koda-sandbox run -c true", &koda, "bwrap with the same binds", &same, NULL);
	bench_compare("koda-sandbox run -c true", &koda, "bwrap with few binds", &bwrap, NULL);
	bench_compare("koda-sandbox run -c true", &koda, "sh -c true", &shell, NULL);
	bench_compare("100,000 files in the project", &many_files, "none", &koda, NULL);
	bench_compare("1,000 rules", &many_rules, "the trust table's", &koda, NULL);
	bench_compare("5,208 directories in the project", &many_dirs, "none", &koda, &more);
	printf("%-44s     %10.3f us\n", "  each directory", more / DIRS);
	compare_rates(&koda, "with the same binds", &same);
	compare_rates(&koda, "with few binds", &bwrap);
	print_memory(&koda, "peak memory of a run");
	print_memory(&many_rules, "peak memory of a run, 1,000 rules");
	print_memory(&many_dirs, "peak memory of a run, 5,208 directories");
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
