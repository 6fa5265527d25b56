/* SPDX-License-Identifier: MIT */
#include "registers.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)

bool registers_replace_call(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return false;
	regs.orig_rax = SYS_getpid;
	return ptrace(PTRACE_SETREGS, pid, NULL, &regs) == 0;
}

bool registers_set_return(pid_t pid, int error)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return false;
	regs.rax = (unsigned long long)(long long)-error;
	return ptrace(PTRACE_SETREGS, pid, NULL, &regs) == 0;
}

#elif defined(__aarch64__)

#define NT_SYSTEM_CALL 0x404

bool registers_replace_call(pid_t pid)
{
	int nr = SYS_getpid;
	struct iovec part = { &nr, sizeof(nr) };

	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_SYSTEM_CALL, &part) == 0;
}

bool registers_set_return(pid_t pid, int error)
{
	struct user_regs_struct regs;
	struct iovec part = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &part) < 0)
		return false;
	regs.regs[0] = (unsigned long long)(long long)-error;
	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part) == 0;
}

#else
#error "how to make a system call fail is not known for this machine"
#endif
