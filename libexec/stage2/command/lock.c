/* SPDX-License-Identifier: MIT */
/* T-19, T-20. Lock-down of the process that becomes the command. Each setting is read back. */
#include "command/lock.h"

#include "backend.h"
#include "fail.h"
#include "landlock/proctree.h"
#include "landlock/scope.h"
#include "sys.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Ten seconds. */
#define KEYRING_WAIT_MS 5
#define KEYRING_TRIES   2000

void stage2_lock_limits(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		struct rlimit want = { .rlim_cur = op.n1, .rlim_max = op.n2 };
		struct rlimit now;

		if (op.kind != KODA_OP_RLIMIT)
			continue;
		/* Without a user namespace RLIMIT_NPROC counts all processes of the user on the
		 * host. Their number may change at any time; init counts exactly. */
		if (stage2_backend_is_landlock && op.flags == RLIMIT_NPROC) {
			want.rlim_cur += stage2_proctree_others();
			want.rlim_max += stage2_proctree_others();
		}
		if (getrlimit((int)op.flags, &now) < 0)
			stage2_fail(KODA_LAUNCH_RLIMIT_GET, "", errno);
		/* A lower limit that was inherited stays. */
		if (want.rlim_max > now.rlim_max)
			want.rlim_max = now.rlim_max;
		if (want.rlim_cur > want.rlim_max)
			want.rlim_cur = want.rlim_max;
		if (setrlimit((int)op.flags, &want) < 0 || getrlimit((int)op.flags, &now) < 0)
			stage2_fail(KODA_LAUNCH_RLIMIT_SET, "", errno);
		if (now.rlim_cur != want.rlim_cur || now.rlim_max != want.rlim_max)
			stage2_fail(KODA_LAUNCH_RLIMIT_LOST, "", 0);
	}
}

void stage2_lock_bounding_set(void)
{
	int cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	/* The first number that is no capability gives EINVAL; anything else is a failure. */
	if (errno != EINVAL || cap == 0)
		stage2_fail(KODA_LAUNCH_CAPBSET_DROP, "", errno);
}

/* A kernel without keyrings returns ENOSYS. EDQUOT: a user may have some hundred keyrings, and the
 * kernel frees those of ended runs later. */
static void leave_keyring(void)
{
	for (int tries = 0; syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0; tries++) {
		if (errno == ENOSYS)
			return;
		if (errno != EDQUOT || tries == KEYRING_TRIES)
			stage2_fail(KODA_LAUNCH_KEYRING, "", errno);
		(void)poll(NULL, 0, KEYRING_WAIT_MS);
	}
}

void stage2_lock_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		stage2_fail(KODA_LAUNCH_CAPABILITIES_DROP, "", errno);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		stage2_fail(KODA_LAUNCH_NO_NEW_PRIVS, "", errno);
	leave_keyring();
}

/* Returns a ruleset with all rights and scopes that this kernel's Landlock has and this program
 * knows. What an older Landlock lacks is shown by the clauses. */
static struct sys_landlock_ruleset ruleset_for(long abi, bool deny_bind)
{
	static const unsigned int fs_bits[] = { 0, 13, 14, 15, 15 };
	struct sys_landlock_ruleset set = { 0 };

	set.handled_access_fs = (1ULL << (abi < 5 ? fs_bits[abi] : 16)) - 1;
	if (abi >= 4 && deny_bind)
		set.handled_access_net = SYS_LANDLOCK_NET_BIND;
	/* Init connects for the command. A connect that bypasses the filter finds nothing
	 * granted. */
	if (abi >= 4 && stage2_backend_is_landlock)
		set.handled_access_net |= SYS_LANDLOCK_NET_CONNECT;
	if (abi >= 6)
		set.scoped = SYS_LANDLOCK_SCOPE_ABSTRACT | SYS_LANDLOCK_SCOPE_SIGNAL;
	return set;
}

/* Opens an object itself: no link on the way or at its end, and still the inode that was planned.
 * An object that replaced it gets no rights, as if it had been created after the command started.
 * So in a project in which files are replaced all the time the command gets fewer rights, and runs.
 * Returns -1 with ENOENT if there is nothing to grant. */
static int open_exact(const struct koda_op *op, struct stat *ret_st)
{
	int fd = sys_openat2(-1, op->text1.ptr, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR || errno == EACCES))
		errno = ENOENT; /* a link by now, or closed to this process */
	if (fd >= 0 && fstat(fd, ret_st) < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_STAT_EXACT, op->text1.ptr, errno);
	if (fd >= 0 && (S_ISLNK(ret_st->st_mode) || (op->n2 != 0 && ret_st->st_ino != op->n2))) {
		(void)close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

static int open_any(const struct koda_op *op, struct stat *ret_st)
{
	int fd = sys_openat2(AT_FDCWD, op->text1.ptr, O_PATH,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	if (fd >= 0 && fstat(fd, ret_st) < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_STAT, op->text1.ptr, errno);
	return fd;
}

#define RIGHT_MAKE_SOCK (1ULL << 9)

static uint64_t handled; /* rights that the ruleset handles */
static bool no_sockets;

void stage2_lock_no_sockets(void)
{
	no_sockets = true;
}

/* Returns true if a tree of the host is at path, or below it: rights apply to everything below. */
static bool has_host_tree(const struct plan *plan, struct koda_span path)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_WRITABLE && !(op.flags & KODA_OP_LATE) &&
		    op.text1.len >= path.len && memcmp(op.text1.ptr, path.ptr, path.len) == 0 &&
		    (op.text1.ptr[path.len] == '/' || op.text1.ptr[path.len] == '\0'))
			return true;
	return false;
}

static void add_rule(int ruleset, const struct koda_op *op)
{
	/* The kernel refuses rights for directories on other files. */
	const uint64_t file_rights = 1U << 0 | 1U << 1 | 1U << 2 | 1U << 14;
	struct sys_landlock_path rule = { .allowed_access = op->n1 & handled };
	struct stat st;
	int fd = op->flags & KODA_OP_EXACT ? open_exact(op, &st) : open_any(op, &st);

	if (fd < 0 && errno == ENOENT)
		return; /* nothing to grant */
	if (fd < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_OPEN, op->text1.ptr, errno);
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= file_rights;
	rule.parent_fd = fd;
	/* All rights of the rule were for directories. */
	if (rule.allowed_access == 0) {
		(void)close(fd);
		return;
	}
	if (syscall(SYS_landlock_add_rule, ruleset, SYS_LANDLOCK_RULE_PATH, &rule, 0) < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_RULE, op->text1.ptr, errno);
	(void)close(fd);
}

/* Grants the command's own terminal, which is a device in the host's /dev/pts, so that it can be
 * opened again. */
static void add_terminal(int ruleset)
{
	const uint64_t rights = 1U << 1 | 1U << 2 | 1U << 14 | 1U << 15;

	for (int fd = 0; fd <= 2; fd++) {
		struct sys_landlock_path rule = { .allowed_access = rights & handled,
						  .parent_fd = fd };

		if (isatty(fd) &&
		    syscall(SYS_landlock_add_rule, ruleset, SYS_LANDLOCK_RULE_PATH, &rule, 0) < 0)
			stage2_fail(KODA_LAUNCH_LANDLOCK_RULE, "the terminal", errno);
	}
}

/* Returns true if the rule is about the temporary directory, which the guardian makes later. */
static bool is_late(const struct plan *plan, const struct koda_op *rule)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_SCRATCH)
			return op.text1.len == rule->text1.len &&
			       memcmp(op.text1.ptr, rule->text1.ptr, op.text1.len) == 0;
	return false;
}

static void add_rules(const struct plan *plan, int ruleset, bool late)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind != KODA_OP_LANDLOCK || is_late(plan, &op) != late)
			continue;
		if (no_sockets && has_host_tree(plan, op.text1))
			op.n1 &= ~RIGHT_MAKE_SOCK;
		add_rule(ruleset, &op);
	}
}

int stage2_lock_rules(const struct plan *plan)
{
	long abi = stage2_landlock_abi();
	struct sys_landlock_ruleset set;
	struct koda_op op;
	bool deny_bind = false;
	size_t at = 0;
	size_t size;
	int ruleset;

	if (abi < 1)
		stage2_fail(KODA_LAUNCH_LANDLOCK_MISSING, "", errno);
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_NET)
			deny_bind = op.n2 != 0;
	set = ruleset_for(abi, deny_bind);
	size = abi >= 6 ? sizeof(set) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (ruleset < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_CREATE, "", errno);
	handled = set.handled_access_fs;
	add_rules(plan, ruleset, false);
	return ruleset;
}

void stage2_lock_late_rules(const struct plan *plan, int ruleset)
{
	add_rules(plan, ruleset, true);
	add_terminal(ruleset);
}

void stage2_lock_enter(int ruleset)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		stage2_fail(KODA_LAUNCH_LANDLOCK_ENTER, "", errno);
	(void)close(ruleset);
}

static int install(const struct koda_op *op, unsigned int flags)
{
	struct sock_fprog program;

	/* Texts follow their record, which is aligned. */
	program.len = (unsigned short)(op->text1.len / sizeof(struct sock_filter));
	program.filter = (struct sock_filter *)(uintptr_t)op->text1.ptr;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static bool find_filter(const struct plan *plan, uint32_t flags, struct koda_op *ret_op)
{
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, ret_op))
		if (ret_op->kind == KODA_OP_FILTER && ret_op->flags == flags)
			return true;
	return false;
}

void stage2_lock_filter(const struct plan *plan)
{
	struct koda_op op;

	if (!find_filter(plan, 0, &op))
		stage2_fail(KODA_LAUNCH_PLAN_FILTER, "", 0);
	if (install(&op, 0) < 0)
		stage2_fail(KODA_LAUNCH_FILTER_INSTALL, "", errno);
}

int stage2_lock_notify_filter(const struct plan *plan)
{
	struct koda_op op;
	int fd;

	if (!find_filter(plan, KODA_OP_NOTIFY, &op))
		stage2_fail(KODA_LAUNCH_PLAN_NOTIFY_FILTER, "", 0);
	/* WAIT_KILLABLE: a handled signal does not interrupt a call that init has begun. Older
	 * kernels lack it. */
	fd = install(&op, SECCOMP_FILTER_FLAG_NEW_LISTENER | SYS_SECCOMP_WAIT_KILLABLE);
	if (fd < 0 && errno == EINVAL)
		fd = install(&op, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (fd < 0)
		stage2_fail(KODA_LAUNCH_NOTIFY_FILTER_INSTALL, "", errno);
	return fd;
}

bool stage2_lock_same_filters(const struct plan *plan, const struct plan *filters)
{
	static const uint32_t kinds[] = { 0, KODA_OP_NOTIFY };
	struct koda_op a;
	struct koda_op b;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!find_filter(plan, kinds[i], &a) || !find_filter(filters, kinds[i], &b) ||
		    a.text1.len != b.text1.len ||
		    memcmp(a.text1.ptr, b.text1.ptr, a.text1.len) != 0)
			return false;
	return true;
}
