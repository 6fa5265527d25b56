/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run --backend ... -c true` in turns with bubblewrap alone: with the same namespaces
 * and the few binds that somebody would give it by hand, and with the same namespaces and every
 * mount of the plan. argv[1] is the program. As root it becomes an ordinary user first.
 */
#include "bench_subject.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 1024

/* The arguments that the backend gives bubblewrap, without files that are hidden, for which there
 * are no descriptors here. One option a line. */
static void read_arguments(const char *program, const char *dir, const char **argv)
{
	static char text[1 << 16];
	char command[512];
	size_t count = 1;
	FILE *plan;
	char *rest = text;
	char *word;

	(void)snprintf(
		command, sizeof(command),
		"cd '%s' && '%s' plan --bwrap -c true | grep -v -e ro-bind-data -e 'perms 0000'",
		dir, program);
	plan = popen(command, "re");
	if (!plan || fread(text, 1, sizeof(text) - 1, plan) == 0 || pclose(plan) < 0)
		bench_must(-1, "plan --bwrap");
	argv[0] = "/usr/bin/bwrap";
	while ((word = strsep(&rest, " \n")) && count < WORDS_MAX - 4)
		if (*word)
			argv[count++] = word;
	argv[count++] = "/bin/sh";
	argv[count++] = "-c";
	argv[count++] = "true";
	argv[count] = NULL;
}

/* Placeholders stay as long as a command runs in the project. */
static pid_t hold_names(const struct bench_subject *subject, const char *program)
{
	const char *const argv[] = { program, "run", "-c", "echo >up; exec sleep 300", NULL };
	const struct bench_subject holder = { subject->dir, argv, NULL };
	pid_t pid = bench_start(&holder);
	char up[96];

	(void)snprintf(up, sizeof(up), "%s/up", subject->dir);
	for (int i = 0; i < 500 && access(up, F_OK) < 0; i++)
		(void)usleep(10000);
	return pid;
}

static void bench_in(const char *base, const char *program)
{
	char dir[64];
	char hooks[96];
	char config[96];
	const char *const native[] = { program, "run", "--backend", "native", "-c", "true", NULL };
	const char *const bwrap[] = { program, "run", "--backend", "bwrap", "-c", "true", NULL };
	const char *const alone[] = { "/usr/bin/bwrap",
				      "--unshare-user",
				      "--unshare-pid",
				      "--unshare-net",
				      "--unshare-ipc",
				      "--unshare-uts",
				      "--unshare-cgroup",
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
	const struct bench_subject of_native = { dir, native, NULL };
	const struct bench_subject of_bwrap = { dir, bwrap, NULL };
	const struct bench_subject of_alone = { dir, alone, NULL };
	static const char *words[WORDS_MAX];
	const struct bench_subject of_same = { dir, words, NULL };
	pid_t holder;

	(void)bench_project(base, "plain", dir, sizeof(dir));
	(void)snprintf(hooks, sizeof(hooks), "%s/.git/hooks", dir);
	(void)snprintf(config, sizeof(config), "%s/.git/config", dir);
	bench_compare("--backend bwrap", &of_bwrap, "bwrap ... sh -c true", &of_alone, NULL);
	read_arguments(program, dir, words);
	holder = hold_names(&of_same, program);
	bench_compare("--backend bwrap", &of_bwrap, "bwrap with the same mounts", &of_same, NULL);
	(void)kill(holder, SIGTERM);
	(void)waitpid(holder, NULL, 0);
	bench_compare("--backend native", &of_native, "--backend bwrap", &of_bwrap, NULL);
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
