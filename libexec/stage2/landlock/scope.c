/* SPDX-License-Identifier: MIT */
#include "landlock/scope.h"

#include "fail.h"
#include "sys.h"

#include <errno.h>
#include <sys/prctl.h>

#define RIGHT_REFER (1ULL << 13)

/* A domain that does not handle LANDLOCK_ACCESS_FS_REFER forbids moves between directories; this
 * one grants it everywhere. */
void stage2_landlock_scope(bool abstract)
{
	struct sys_landlock_path everywhere = { .allowed_access = RIGHT_REFER };
	const struct sys_landlock_ruleset set = {
		.handled_access_fs = RIGHT_REFER,
		.scoped = SYS_LANDLOCK_SCOPE_SIGNAL | (abstract ? SYS_LANDLOCK_SCOPE_ABSTRACT : 0)
	};
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);

	everywhere.parent_fd = sys_openat2(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	if (ruleset < 0 || everywhere.parent_fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, SYS_LANDLOCK_RULE_PATH, &everywhere, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_SCOPE, "", errno);
	(void)close(everywhere.parent_fd);
	(void)close(ruleset);
}

long stage2_landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, SYS_LANDLOCK_VERSION);
}
