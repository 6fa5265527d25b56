/* SPDX-License-Identifier: MIT */
/*
 * T-81. The system calls of the proxy. Those it needs are allowed; those that only an intruder
 * would use kill the process; all others fail with ENOSYS, so that a newer C library falls back to
 * older calls.
 */
#include "io/lock.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int allowed[] = {
	/* bytes and descriptors */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(pipe2),
	SCMP_SYS(splice),
	SCMP_SYS(lseek),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(eventfd2),
	/* sockets; bind is for netlink, Landlock forbids it for TCP */
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	/* waiting */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(futex),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(sched_yield),
	SCMP_SYS(restart_syscall),
	/* files, which Landlock restricts */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(fstatfs),
	SCMP_SYS(statfs),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	/* the process itself */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getcpu),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static const int fatal[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(clone),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(bpf),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(memfd_create),
	SCMP_SYS(listen),
};

static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
static const unsigned int ioctls[] = { FIONREAD, FIONBIO };
/* None that makes the kernel send signals, and no locks or leases. */
static const int fcntls[] = { F_GETFD, F_SETFD,         F_GETFL,      F_SETFL,
			      F_DUPFD, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GET_SEALS };
static const int prctls[] = { PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_SET_NAME };

#define ALLOW SCMP_ACT_ALLOW
/* Compares the low half only: the kernel takes these arguments as int. */
#define LOW(n, value) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)(value))

static int add_all(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; i < KODA_ARRAY_LEN(allowed) && r == 0; i++)
		r = seccomp_rule_add(ctx, ALLOW, allowed[i], 0);
	for (size_t i = 0; i < KODA_ARRAY_LEN(fatal) && r == 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
	for (size_t i = 0; i < KODA_ARRAY_LEN(families) && r == 0; i++)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(socket), 1, LOW(0, families[i]));
	for (size_t i = 0; i < KODA_ARRAY_LEN(ioctls) && r == 0; i++)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(ioctl), 1, LOW(1, ioctls[i]));
	for (size_t i = 0; i < KODA_ARRAY_LEN(fcntls) && r == 0; i++)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(fcntl), 1, LOW(1, fcntls[i]));
	for (size_t i = 0; i < KODA_ARRAY_LEN(prctls) && r == 0; i++)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(prctl), 1, LOW(0, prctls[i]));
	/* Reading limits, and abort(3). */
	if (r == 0)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(prlimit64), 2, LOW(0, 0),
				     SCMP_CMP(2, SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, ALLOW, SCMP_SYS(tgkill), 1, LOW(0, getpid()));
	return r;
}

/* Tries calls that the filter must refuse now. */
static int check_calls(struct koda_error *err)
{
	koda_auto_fd int fd = -1;

	errno = 0;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2 || syscall(SYS_personality, 0xffffffffUL) >= 0 ||
	    errno != ENOSYS)
		return koda_fail(err, KODA_E_SYS, 0, "the system-call filter did not take");
	errno = 0;
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 || errno != ENOSYS)
		return koda_fail(err, KODA_E_SYS, 0, "the system-call filter has a hole");
	return KODA_OK;
}

int egress_syscall_filter_install(struct koda_error *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!ctx)
		return koda_fail_nomem(err);
	/* Applies to all threads or to none. */
	r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_all(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	if (r != 0)
		return koda_fail(err, KODA_E_SYS, -r, "cannot install the system-call filter");
	return check_calls(err);
}
