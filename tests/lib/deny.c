/* SPDX-License-Identifier: MIT */
/*
 * A kernel that lacks something: `deny CALL ERRNO [CALL ERRNO ...] -- PROGRAM ARGUMENT...` runs a
 * program for which the calls fail so, and for everything that it starts.
 */
#include "child.h"

#include <string.h>

/* clang-format off */
static const struct {
	const char *name;
	long nr;
} calls[] = {
	{ "clone3", SYS_clone3 },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset },
	{ "memfd_create", SYS_memfd_create },
	{ "mount_setattr", SYS_mount_setattr },
	{ "move_mount", SYS_move_mount },
	{ "open_tree", SYS_open_tree },
	{ "openat2", SYS_openat2 },
	{ "pidfd_open", SYS_pidfd_open },
	{ "seccomp", SYS_seccomp },
	{ "socket", SYS_socket },
	{ "unshare", SYS_unshare },
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EACCES", EACCES },
	{ "EINVAL", EINVAL },
	{ "ENOSPC", ENOSPC },
	{ "ENOSYS", ENOSYS },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EPERM", EPERM },
};
/* clang-format on */

static int deny(const char *call, const char *error)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (size_t k = 0; k < sizeof(errors) / sizeof(errors[0]); k++)
			if (strcmp(calls[i].name, call) == 0 && strcmp(errors[k].name, error) == 0)
				return koda_child_block(calls[i].nr, errors[k].number);
	(void)fprintf(stderr, "deny: %s %s is not known\n", call, error);
	return 0;
}

int main(int argc, char **argv)
{
	int i = 1;

	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2)
		if (!deny(argv[i], argv[i + 1]))
			return 99;
	if (i + 1 >= argc)
		return 99;
	(void)execvp(argv[i + 1], argv + i + 1);
	return 99;
}
