/* SPDX-License-Identifier: MIT */
/*
 * T-106. A worker that was taken over is confined by the sandbox, as a command is. It needs less
 * than a command, so this filter takes away the rest: it can reach no network, start nothing and
 * look into no other process. Its system calls on files stay within the mounts and Landlock's
 * rules.
 */
#include "lock.h"

#include "base/error.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
/* Calls of x32 begin here. */
#define NUMBERS_END 0x40000000U
#elif defined(__aarch64__)
#define ARCH        AUDIT_ARCH_AARCH64
#define NUMBERS_END UINT32_MAX
#else
#error "there is no filter for this machine"
#endif

static const uint32_t forbidden[] = {
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_execve,
	SYS_execveat,
	SYS_clone,
	SYS_clone3,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	SYS_unshare,
	SYS_setns,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_memfd_create,
	SYS_bpf,
	SYS_io_uring_setup,
};

enum {
	HEAD = 4, /* instructions ahead of the list, and behind it */
	TAIL = 2,
	COUNT = KODA_ARRAY_LEN(forbidden),
	LENGTH = HEAD + COUNT + TAIL
};
_Static_assert(COUNT + 1 < 256, "a jump reaches over the whole list");

/* Writes: of another machine's numbers, or of this list: EPERM; all else is allowed. */
static void write_program(struct sock_filter program[LENGTH])
{
	size_t at = 0;

	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, arch));
	program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, COUNT + 3);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, nr));
	program[at++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NUMBERS_END, COUNT + 1, 0);
	for (size_t i = 0; i < COUNT; i++)
		program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							     forbidden[i], (uint8_t)(COUNT - i), 0);
	program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program[at] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

int fsworker_lock(struct koda_error *err)
{
	struct sock_filter program[LENGTH];
	const struct sock_fprog filter = { .len = LENGTH, .filter = program };

	write_program(program);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0 ||
	    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return koda_fail(err, KODA_E_SYS, errno, "cannot install the system-call filter");
	return KODA_OK;
}
