/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run --backend ... -c true` against bubblewrap alone with the same namespaces, in
 * turns. argv[1] is the program. As root it becomes an ordinary user first.
 */
#include "bench_subject.h"

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

	(void)bench_project(base, "plain", dir, sizeof(dir));
	(void)snprintf(hooks, sizeof(hooks), "%s/.git/hooks", dir);
	(void)snprintf(config, sizeof(config), "%s/.git/config", dir);
	bench_compare("--backend bwrap", &of_bwrap, "bwrap ... sh -c true", &of_alone, NULL);
	bench_compare("--backend native", &of_native, "--backend bwrap", &of_bwrap, NULL);
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
