/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run -c true` in turns with the sandboxes that other agents have, as far as they are
 * in PATH: srt (npm, with its Debian packages ripgrep, socat and bubblewrap), codex (npm; the
 * program itself, not the script that starts it). argv[1] is the program. As root it becomes an
 * ordinary user first.
 */
#include "bench_subject.h"

#include <string.h>
#include <unistd.h>

/* They take long. */
#define ROUNDS 40

/* A project that can be written, and a list of hosts: what koda-sandbox gives, too. */
static void write_settings(const char *base)
{
	char path[64];
	FILE *out;

	(void)snprintf(path, sizeof(path), "%s/.srt-settings.json", base);
	out = fopen(path, "we");
	if (!out)
		bench_must(-1, path);
	fprintf(out, "{\"network\":{\"allowedDomains\":[\"github.com\"],\"deniedDomains\":[]},"
		     "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]}}\n");
	if (fclose(out) != 0)
		bench_must(-1, path);
}

/* The program of this name in PATH; NULL if there is none. */
static const char *find(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (len + strlen(name) + 2 <= size) {
			memcpy(out, path, len);
			out[len] = '/';
			memcpy(out + len + 1, name, strlen(name) + 1);
			if (access(out, X_OK) == 0)
				return out;
		}
		path += len + (path[len] == ':');
	}
	return NULL;
}

static void bench_in(const char *base, const char *program)
{
	char dir[64];
	char srt[4096];
	char codex[4096];
	const char *const ours[] = { program, "run", "-c", "true", NULL };
	const char *const of_srt[] = { srt, "-c", "true", NULL };
	const char *const of_codex[] = { codex, "sandbox", "-c", "sandbox_mode=\"workspace-write\"",
					 "--",  "sh",      "-c", "true",
					 NULL };
	const struct {
		const char *name;
		const char *found;
		const char *const *argv;
	} peers[] = {
		{ "srt", find("srt", srt, sizeof(srt)), of_srt },
		{ "codex", find("codex", codex, sizeof(codex)), of_codex },
	};
	const struct bench_subject koda = { dir, ours, NULL };

	(void)bench_project(base, "plain", dir, sizeof(dir));
	write_settings(base);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		const struct bench_subject peer = { dir, peers[i].argv, NULL };

		if (peers[i].found)
			bench_compare_rounds(ROUNDS, "koda-sandbox run -c true", &koda,
					     peers[i].name, &peer, NULL);
		else
			printf("%s: not installed\n", peers[i].name);
	}
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
