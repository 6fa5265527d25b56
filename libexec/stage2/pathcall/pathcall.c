/* SPDX-License-Identifier: MIT */
#include "pathcall/pathcall.h"

#include "sys.h"

#include <string.h>

/* Calls that the oldest supported headers lack. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat    463
#define SYS_removexattrat 466
#endif

/* No such argument: the working directory, no path, no flags. */
#define NONE (-1)

/* Positions of arguments, for one call. */
struct row {
	int number;
	const char *name;
	enum pathcall_act act;
	int8_t dirfd;
	int8_t path;
	int8_t flags; /* of PATHCALL_OPEN: flags of open(2) */
	int fixed;    /* flags that the call has without an argument */
	int8_t dirfd2;
	int8_t path2;
};

#define ONE(call, act, dirfd, path, flags, fixed)                                                  \
	{                                                                                          \
		SYS_##call, #call, PATHCALL_##act, dirfd, path, flags, fixed, NONE, NONE           \
	}
#define TWO(call, dirfd, path, dirfd2, path2)                                                      \
	{                                                                                          \
		SYS_##call, #call, PATHCALL_RENAME, dirfd, path, NONE, AT_SYMLINK_NOFOLLOW,        \
			dirfd2, path2                                                              \
	}
#define NOFOLLOW AT_SYMLINK_NOFOLLOW

static const struct row rows[] = {
#ifdef SYS_open
	ONE(open, OPEN, NONE, 0, 1, 0),
	ONE(creat, OPEN, NONE, 0, NONE, O_CREAT | O_WRONLY | O_TRUNC),
	ONE(mkdir, CREATE, NONE, 0, NONE, NOFOLLOW),
	ONE(mknod, CREATE, NONE, 0, NONE, NOFOLLOW),
	ONE(symlink, CREATE, NONE, 1, NONE, NOFOLLOW),
	ONE(link, CREATE, NONE, 1, NONE, NOFOLLOW),
	ONE(unlink, REMOVE, NONE, 0, NONE, NOFOLLOW),
	ONE(rmdir, REMOVE, NONE, 0, NONE, NOFOLLOW),
	TWO(rename, NONE, 0, NONE, 1),
	ONE(chmod, CHANGE, NONE, 0, NONE, 0),
	ONE(chown, CHANGE, NONE, 0, NONE, 0),
	ONE(lchown, CHANGE, NONE, 0, NONE, NOFOLLOW),
	ONE(utime, CHANGE, NONE, 0, NONE, 0),
	ONE(utimes, CHANGE, NONE, 0, NONE, 0),
	ONE(futimesat, CHANGE, 0, 1, NONE, 0),
#endif
	ONE(openat, OPEN, 0, 1, 2, 0),
	ONE(mkdirat, CREATE, 0, 1, NONE, NOFOLLOW),
	ONE(mknodat, CREATE, 0, 1, NONE, NOFOLLOW),
	ONE(symlinkat, CREATE, 1, 2, NONE, NOFOLLOW),
	ONE(linkat, CREATE, 2, 3, NONE, NOFOLLOW),
	ONE(unlinkat, REMOVE, 0, 1, NONE, NOFOLLOW),
#ifdef SYS_renameat
	TWO(renameat, 0, 1, 2, 3),
#endif
	TWO(renameat2, 0, 1, 2, 3),
	ONE(truncate, CHANGE, NONE, 0, NONE, 0),
	ONE(fchmod, CHANGE, 0, NONE, NONE, 0),
	ONE(fchmodat, CHANGE, 0, 1, NONE, 0),
	ONE(fchmodat2, CHANGE, 0, 1, 3, 0),
	ONE(fchown, CHANGE, 0, NONE, NONE, 0),
	ONE(fchownat, CHANGE, 0, 1, 4, 0),
	ONE(utimensat, CHANGE, 0, 1, 3, 0),
	ONE(setxattr, CHANGE, NONE, 0, NONE, 0),
	ONE(lsetxattr, CHANGE, NONE, 0, NONE, NOFOLLOW),
	ONE(fsetxattr, CHANGE, 0, NONE, NONE, 0),
	ONE(setxattrat, CHANGE, 0, 1, 2, 0),
	ONE(removexattr, CHANGE, NONE, 0, NONE, 0),
	ONE(lremovexattr, CHANGE, NONE, 0, NONE, NOFOLLOW),
	ONE(fremovexattr, CHANGE, 0, NONE, NONE, 0),
	ONE(removexattrat, CHANGE, 0, 1, 2, 0),
	ONE(bind, BIND, NONE, 1, NONE, NOFOLLOW),
	ONE(execve, EXEC, NONE, 0, NONE, 0),
	ONE(execveat, EXEC, 0, 1, 4, 0),
};

static struct pathcall_subject subject_of(const uint64_t args[6], int dirfd, int path)
{
	return (struct pathcall_subject){ .dirfd = dirfd == NONE ? AT_FDCWD : (int)args[dirfd],
					  .path = path == NONE ? 0 : args[path] };
}

bool stage2_pathcall_decode(int number, const uint64_t args[6], struct pathcall *ret_call)
{
	const struct row *row = rows;
	int flags;

	while (row < rows + sizeof(rows) / sizeof(rows[0]) && row->number != number)
		row++;
	if (row == rows + sizeof(rows) / sizeof(rows[0]))
		return false;
	flags = row->flags == NONE ? row->fixed : (int)args[row->flags];
	*ret_call = (struct pathcall){ .name = row->name, .act = row->act, .count = 1 };
	ret_call->subject[0] = subject_of(args, row->dirfd, row->path);
	if (row->act == PATHCALL_OPEN)
		ret_call->open_flags = flags;
	else
		ret_call->subject[0].flags = flags;
	if (row->act == PATHCALL_BIND)
		ret_call->path_len = args[2];
	if (row->path2 != NONE) {
		ret_call->subject[1] = subject_of(args, row->dirfd2, row->path2);
		ret_call->subject[1].flags = flags;
		ret_call->count = 2;
	}
	return true;
}
