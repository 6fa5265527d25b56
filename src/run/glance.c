/* SPDX-License-Identifier: MIT */
#include "run/glance.h"

#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

int koda_glance(const char *path, struct stat *ret_st)
{
	koda_auto_fd int at = open("/", O_PATH | O_CLOEXEC);
	struct koda_span rest = koda_span_of(path);
	struct koda_span step;
	enum koda_step kind;
	struct statfs fs;

	while (at >= 0 && (kind = koda_path_next(&rest, &step)) != KODA_STEP_END) {
		char name[KODA_NAME_MAX + 1];
		int next;

		if (kind != KODA_STEP_NAME || fstatfs(at, &fs) < 0 ||
		    fs.f_type == AUTOFS_SUPER_MAGIC)
			return -1;
		memcpy(name, step.ptr, step.len);
		name[step.len] = '\0';
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return errno == ENOENT ? 0 : -1;
		koda_fd_close(&at);
		at = next;
	}
	return at >= 0 && fstat(at, ret_st) == 0 ? 1 : -1;
}
