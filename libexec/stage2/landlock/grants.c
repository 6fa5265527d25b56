/* SPDX-License-Identifier: MIT */
#include "landlock/grants.h"

#include "fail.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct koda_op *grants; /* owned */
static size_t count;

void stage2_grants_load(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		struct koda_op *longer;

		/* Devices can be written to, but their modes and owners are the host's. */
		if (op.kind != KODA_OP_LANDLOCK || !(op.n1 & SYS_LANDLOCK_WRITE_FILE) ||
		    strncmp(op.text1.ptr, "/dev/", 5) == 0)
			continue;
		longer = realloc(grants, (count + 1) * sizeof(*grants));
		if (!longer)
			stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
		grants = longer;
		grants[count++] = op;
	}
}

static bool is_below(struct koda_span dir, const char *path, size_t len)
{
	return len >= dir.len && memcmp(dir.ptr, path, dir.len) == 0 &&
	       (len == dir.len || path[dir.len] == '/' || dir.len == 1);
}

bool stage2_grants_allow(int fd, uint64_t right)
{
	char name[32];
	char path[4352];
	ssize_t len;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path));
	if (len <= 0 || (size_t)len == sizeof(path) || path[0] != '/')
		return false;
	for (size_t i = 0; i < count; i++)
		if ((grants[i].n1 & right) && is_below(grants[i].text1, path, (size_t)len))
			return true;
	return false;
}
