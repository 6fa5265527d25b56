/* SPDX-License-Identifier: MIT */
#include "guardian/placeholder_clear.h"

#include "sys.h"
#include "wire/placeholder.h"

#include <sys/stat.h>

void stage2_placeholder_clear_ignore(int dir)
{
	struct stat st;

	if (fstatat(dir, KODA_PLACEHOLDER_IGNORE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    koda_placeholder_is_ignore(&st))
		(void)unlinkat(dir, KODA_PLACEHOLDER_IGNORE, 0);
}

void stage2_placeholder_clear(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || fchmod(fd, KODA_PLACEHOLDER_MAKING) < 0) {
		(void)unlinkat(parent, name, AT_REMOVEDIR);
	} else {
		stage2_placeholder_clear_ignore(fd);
		/* rmdir fails if the directory has got entries since. */
		if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
			(void)fchmod(fd, st.st_mode & (0777 | S_ISGID));
	}
	if (fd >= 0)
		(void)close(fd);
}
