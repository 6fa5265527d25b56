/* SPDX-License-Identifier: MIT */
/*
 * T-105. Has init told of the calls that the view can refuse for their path
 * (SECCOMP_RET_USER_NOTIF). Init lets every one of them go on, and the kernel decides. Calls that
 * are refused for another reason are refused by the first filter, whose answer takes precedence.
 */
#include "plan/report_filter.h"

#include "plan/call_filter.h"
#include "plan/call_numbers.h"

#include <fcntl.h>

/* Calls that change a file or a name. */
static const int changes[] = {
	CALL_mkdir,         CALL_mkdirat,     CALL_rmdir,        CALL_unlink,       CALL_unlinkat,
	CALL_rename,        CALL_renameat,    CALL_renameat2,    CALL_link,         CALL_linkat,
	CALL_symlink,       CALL_symlinkat,   CALL_mknod,        CALL_mknodat,      CALL_truncate,
	CALL_creat,         CALL_chmod,       CALL_fchmod,       CALL_fchmodat,     CALL_fchmodat2,
	CALL_chown,         CALL_lchown,      CALL_fchown,       CALL_fchownat,     CALL_utime,
	CALL_utimes,        CALL_futimesat,   CALL_utimensat,    CALL_setxattr,     CALL_lsetxattr,
	CALL_fsetxattr,     CALL_removexattr, CALL_lremovexattr, CALL_fremovexattr, CALL_setxattrat,
	CALL_removexattrat, CALL_bind,
};

/* Opens that only read are let through. */
#define ON_OPEN(flags)                                                                             \
	{                                                                                          \
		ARG(flags), HAS(O_ACCMODE | O_CREAT | O_TRUNC, 0, 1),                              \
			ANSWER(SECCOMP_RET_USER_NOTIF), ANSWER(ALLOW)                              \
	}
static const struct sock_filter on_open[] = ON_OPEN(1);
static const struct sock_filter on_openat[] = ON_OPEN(2);

int koda_report_filter_program(bool reads, struct koda_buf *out)
{
	static const struct sock_filter tell = ANSWER(SECCOMP_RET_USER_NOTIF);
	const size_t count = KODA_ARRAY_LEN(on_open);
	struct koda_call_filter_word words[KODA_ARRAY_LEN(changes) + 4];
	size_t all = 0;

	for (size_t i = 0; i < KODA_ARRAY_LEN(changes); i++)
		words[all++] = (struct koda_call_filter_word){ changes[i], &tell, 1 };
	words[all++] = (struct koda_call_filter_word){ CALL_open, reads ? &tell : on_open,
						       reads ? 1 : count };
	words[all++] = (struct koda_call_filter_word){ CALL_openat, reads ? &tell : on_openat,
						       reads ? 1 : count };
	if (reads) {
		words[all++] = (struct koda_call_filter_word){ CALL_execve, &tell, 1 };
		words[all++] = (struct koda_call_filter_word){ CALL_execveat, &tell, 1 };
	}
	return koda_call_filter_program(words, all, out);
}
