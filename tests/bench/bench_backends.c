/* SPDX-License-Identifier: MIT */
/*
 * `koda-sandbox run --backend ... -c true` in turns with bubblewrap alone: with the same namespaces
 * and every bind of the plan, and with the few binds that somebody would give it by hand. argv[1]
 * is the program. As root it becomes an ordinary user first.
 */
#include "bench_bwrap.h"

static void bench_in(const char *base, const char *program)
{
	char dir[64];
	char twin[64];
	const char *const native[] = { program, "run", "--backend", "native", "-c", "true", NULL };
	const char *const bwrap[] = { program, "run", "--backend", "bwrap", "-c", "true", NULL };
	const struct bench_subject of_native = { dir, native, NULL };
	const struct bench_subject of_bwrap = { dir, bwrap, NULL };
	struct bench_subject few;
	struct bench_subject same;

	(void)bench_project(base, "plain", dir, sizeof(dir));
	few = bench_bwrap_few(dir);
	same = bench_bwrap_same(bench_project(base, "twin", twin, sizeof(twin)), program);
	bench_compare("--backend bwrap", &of_bwrap, "bwrap with the same binds", &same, NULL);
	bench_compare("--backend bwrap", &of_bwrap, "bwrap with few binds", &few, NULL);
	bench_compare("--backend native", &of_native, "--backend bwrap", &of_bwrap, NULL);
}

int main(int argc, char **argv)
{
	return bench_with_program(argc, argv, bench_in);
}
