/* SPDX-License-Identifier: MIT */
#include "bench_bwrap.h"

#include <string.h>
#include <sys/stat.h>

#define WORDS_MAX 1024

struct words {
	const char *at[WORDS_MAX];
	size_t count;
	char text[1 << 16];
	size_t used;
};

static void add(struct words *words, const char *word)
{
	size_t len = strlen(word) + 1;

	if (words->count + 1 >= WORDS_MAX || words->used + len > sizeof(words->text))
		bench_must(-1, "arguments for bwrap");
	words->at[words->count++] = memcpy(words->text + words->used, word, len);
	words->used += len;
}

static void add_bind(struct words *words, const char *option, const char *path)
{
	add(words, option);
	add(words, path);
	add(words, path);
}

static void begin(struct words *words)
{
	static const char *const first[] = { "/usr/bin/bwrap", "--unshare-user", "--unshare-pid",
					     "--unshare-net",  "--unshare-ipc",  "--unshare-uts" };

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		add(words, first[i]);
	add_bind(words, "--ro-bind", "/");
}

static struct bench_subject finish(struct words *words, const char *dir)
{
	static const char *const last[] = { "--", "sh", "-c", "true" };

	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
		add(words, last[i]);
	return (struct bench_subject){ dir, words->at, NULL };
}

struct bench_subject bench_bwrap_few(const char *dir)
{
	static const char *const mounts[] = { "--tmpfs", "/tmp", "--tmpfs", "/run",
					      "--dev",   "/dev", "--proc",  "/proc" };
	static struct words words;
	char path[128];

	begin(&words);
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++)
		add(&words, mounts[i]);
	add_bind(&words, "--bind", dir);
	(void)snprintf(path, sizeof(path), "%s/.git/hooks", dir);
	add_bind(&words, "--ro-bind", path);
	(void)snprintf(path, sizeof(path), "%s/.git/config", dir);
	add_bind(&words, "--ro-bind", path);
	return finish(&words, dir);
}

/* One line of the plan. What bubblewrap cannot do, or does anyway, is left out. */
static void add_step(struct words *words, const char *line)
{
	char op[24];
	char path[256] = "";
	char value[32];
	unsigned long long bytes;
	unsigned int mode;

	if (sscanf(line, "%23s %255s", op, path) < 1)
		return;
	if (strcmp(op, "read-only") == 0) {
		add_bind(words, "--ro-bind", path);
	} else if (strcmp(op, "writable") == 0) {
		add_bind(words, "--bind", path);
	} else if (strcmp(op, "placeholder") == 0 || strcmp(op, "placeholder-file") == 0) {
		bench_must(mknod(path, S_IFREG | 0644, 0), path);
	} else if (strcmp(op, "dev") == 0 || strcmp(op, "proc") == 0) {
		(void)snprintf(value, sizeof(value), "--%s", op);
		add(words, value);
		(void)snprintf(value, sizeof(value), "/%s", op);
		add(words, value);
	} else if (sscanf(line, "tmpfs %*s size=%llu mode=%o", &bytes, &mode) == 2) {
		(void)snprintf(value, sizeof(value), "%llu", bytes);
		add(words, "--size");
		add(words, value);
		(void)snprintf(value, sizeof(value), "%04o", mode);
		add(words, "--perms");
		add(words, value);
		add(words, "--tmpfs");
		add(words, path);
	}
}

struct bench_subject bench_bwrap_same(const char *dir, const char *program)
{
	static struct words words;
	char line[512];
	FILE *plan;

	(void)snprintf(line, sizeof(line), "cd '%s' && '%s' plan -c true", dir, program);
	begin(&words);
	plan = popen(line, "re");
	if (!plan)
		bench_must(-1, "plan");
	while (fgets(line, sizeof(line), plan))
		add_step(&words, line);
	if (pclose(plan) != 0)
		bench_must(-1, "plan");
	return finish(&words, dir);
}
