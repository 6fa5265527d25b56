/* SPDX-License-Identifier: MIT */
/*
 * What reports of denied files cost: commands with many path calls, with --report against
 * --no-report, in turns. argv[1] is the program. As root it becomes an ordinary user first.
 */
#include "bench_subject.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES   10000
#define WIDE    100
#define SOURCES 200
#define CALLS   50000
#define ROUNDS  5

static const char *program;

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	bench_must(fd, path);
	if (write(fd, text, strlen(text)) < 0)
		bench_must(-1, path);
	(void)close(fd);
}

static void make_files(const char *dir, const char *text)
{
	char path[192];

	for (int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/files/d%d", dir, i / WIDE);
		if (i % WIDE == 0 && access(path, F_OK) < 0)
			bench_must(mkdir(path, 0755), path);
		(void)snprintf(path, sizeof(path), "%s/files/d%d/f%d", dir, i / WIDE, i);
		write_file(path, text);
	}
}

static void run_here(const char *dir, const char *script)
{
	const char *const sh[] = { "/bin/sh", "-c", script, NULL };
	const struct bench_subject subject = { dir, sh, NULL };

	(void)bench_finish(bench_start(&subject), &subject);
}

/* Compares a command with reports and without. Returns what they cost in microseconds. */
static double compare(const char *dir, const char *name, const char *script, size_t rounds)
{
	const char *const with[] = { program, "run", "--report", "-c", script, NULL };
	const char *const without[] = { program, "run", "--no-report", "-c", script, NULL };
	const struct bench_subject a = { dir, with, NULL };
	const struct bench_subject b = { dir, without, NULL };
	double more;

	bench_compare_rounds(rounds, name, &a, "without reports", &b, &more);
	return more;
}

static void bench_files(const char *dir)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/files", dir);
	bench_must(mkdir(path, 0755), path);
	make_files(dir, "one\n");
	compare(dir, "cp -r, 10,000 files", "cp -r files /tmp", ROUNDS);
	run_here(dir, "git config user.name x && git config user.email x@x && git add . &&"
		      " git commit -qm one && git branch one && git checkout -qb two");
	make_files(dir, "two\n");
	run_here(dir, "git commit -qam two");
	compare(dir, "git checkout, 10,000 files, there and back",
		"git checkout -q one && git checkout -q two", ROUNDS);
}

static void bench_make(const char *dir)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/Makefile", dir);
	write_file(path,
		   "o := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(o)\nclean:; rm -f *.o\n");
	for (int i = 0; i < SOURCES; i++) {
		(void)snprintf(path, sizeof(path), "%s/s%d.c", dir, i);
		write_file(path, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
				 "int f(void) { return printf(\"x\"); }\n");
	}
	compare(dir, "make -j2, 200 files", "make -s clean && make -s -j2", 3);
}

static void bench_in(const char *base, const char *which)
{
	char self[4096];
	char script[4200];
	char dir[64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	double more;

	bench_must((int)n, "readlink");
	self[n] = '\0';
	program = which;
	(void)bench_project(base, "files", dir, sizeof(dir));
	compare(dir, "true", "true", 100);
	(void)snprintf(script, sizeof(script), "'%s' calls", self);
	more = compare(dir, "50,000 path calls that are trapped", script, ROUNDS);
	printf("%-44s     %10.3f us\n", "  each", more / CALLS);
	bench_files(dir);
	(void)bench_project(base, "sources", dir, sizeof(dir));
	bench_make(dir);
}

/* Inside: path calls that cost little themselves. */
static int make_calls(void)
{
	for (int i = 0; i < CALLS; i++)
		(void)unlink("missing");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "calls") == 0)
		return make_calls();
	return bench_with_program(argc, argv, bench_in);
}
