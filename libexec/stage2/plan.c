/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include "fail.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct plan stage2_plan_load(int fd)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	struct plan plan;
	struct stat st;
	void *map;

	if (fcntl(fd, F_GET_SEALS) != seals || fstat(fd, &st) < 0)
		stage2_fail(KODA_LAUNCH_PLAN_UNSEALED, "", errno);
	plan.len = (size_t)st.st_size;
	if (plan.len == 0 || plan.len > KODA_OP_PLAN_MAX)
		stage2_fail(KODA_LAUNCH_PLAN_SIZE, "", 0);
	map = mmap(NULL, plan.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		stage2_fail(KODA_LAUNCH_PLAN_MAP, "", errno);
	plan.bytes = map;
	if (!koda_ops_are_sound(plan.bytes, plan.len))
		stage2_fail(KODA_LAUNCH_PLAN_MALFORMED, "", 0);
	(void)close(fd);
	return plan;
}
