/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run -c true` in a project with 2,000 nested repositories, against the same in a
 * plain one. What is compared is run in turns. argv[1] is the program. As root it becomes an
 * ordinary user first.
 */
#include "bench_subject.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPOSITORIES 2000
#define WIDE         100
#define ROUNDS       20

static void make_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	bench_must(fd, name);
	if (write(fd, text, strlen(text)) < 0)
		bench_must(-1, name);
	(void)close(fd);
}

/* As git makes it. */
static void make_repository(const char *dir)
{
	static const char *const parts[] = { "objects", "refs", "hooks", "info", "branches" };
	char git[192];
	int fd;

	bench_must(mkdir(dir, 0755), dir);
	(void)snprintf(git, sizeof(git), "%s/.git", dir);
	bench_must(mkdir(git, 0755), git);
	fd = open(git, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bench_must(fd, git);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		bench_must(mkdirat(fd, parts[i], 0755), parts[i]);
	make_file(fd, "HEAD", "ref: refs/heads/main\n");
	make_file(fd, "config", "[core]\n\trepositoryformatversion = 0\n");
	(void)close(fd);
}

static void make_repositories(const char *dir)
{
	char path[160];

	for (int i = 0; i < REPOSITORIES; i++) {
		if (i % WIDE == 0) {
			(void)snprintf(path, sizeof(path), "%s/g%d", dir, i / WIDE);
			bench_must(mkdir(path, 0755), path);
		}
		(void)snprintf(path, sizeof(path), "%s/g%d/r%d", dir, i / WIDE, i);
		make_repository(path);
	}
}

static void bench_in(const char *base, const char *program)
{
	char plain_dir[64];
	char many_dir[64];
	const char *const run[] = { program, "run", "-c", "true", NULL };
	const struct bench_subject koda = { plain_dir, run, NULL };
	const struct bench_subject many = { many_dir, run, NULL };
	double more;

	(void)bench_project(base, "plain", plain_dir, sizeof(plain_dir));
	make_repositories(bench_project(base, "many", many_dir, sizeof(many_dir)));
	bench_compare_rounds(ROUNDS, "2,000 repositories in the project", &many, "none", &koda,
			     &more);
	printf("%-44s     %10.3f us\n", "  each repository", more / REPOSITORIES);
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
