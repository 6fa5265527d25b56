/* SPDX-License-Identifier: MIT */
#include "io/lock.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/macros.h"
#include "wire/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Limit of descriptors; more than the limit of connections needs. */
#define FILES_MAX 65536

/* linux/landlock.h of Linux 6.1 lacks network rules and scopes. */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct path_rule {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

#define RULE_PATH      1
#define GET_VERSION    1U
#define FS_READ_FILE   (1ULL << 2)
#define FS_READ_DIR    (1ULL << 3)
#define NET_BIND_TCP   (1ULL << 0)
#define SCOPE_ABSTRACT (1ULL << 0)
#define SCOPE_SIGNAL   (1ULL << 1)

/* What the resolver and the verification of certificates read, with the libraries that they
 * load. Files are listed besides their directories, because they may be symbolic links to other
 * places. */
static const char *const readable[] = {
	"/etc",
	"/usr",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager",
	"/run/nscd",
	"/var/cache/nscd",
	"/etc/hosts",
	"/etc/resolv.conf",
	"/etc/nsswitch.conf",
};

static int set_limit(int which, rlim_t cur, rlim_t max, struct koda_error *err)
{
	const struct rlimit want = { .rlim_cur = cur, .rlim_max = max };
	struct rlimit now;

	if (setrlimit((__rlimit_resource_t)which, &want) < 0 ||
	    getrlimit((__rlimit_resource_t)which, &now) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot set a limit");
	if (now.rlim_cur != cur || now.rlim_max != max)
		return koda_fail(err, KODA_E_SYS, 0, "a limit did not take");
	return KODA_OK;
}

static int set_limits(size_t *ret_files, struct koda_error *err)
{
	struct rlimit files;
	rlim_t wanted;
	int r;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot read a limit");
	wanted = files.rlim_max > FILES_MAX ? FILES_MAX : files.rlim_max;
	r = set_limit(RLIMIT_NOFILE, wanted, wanted, err);
	if (r == KODA_OK)
		r = set_limit(RLIMIT_CORE, 0, 0, err);
	if (r == KODA_OK)
		r = set_limit(RLIMIT_FSIZE, 0, 0, err);
	*ret_files = (size_t)wanted;
	return r;
}

int egress_lock_memory(size_t bytes, struct koda_error *err)
{
	struct rlimit data;

	if (KODA_SANITIZED)
		return KODA_OK;
	if (getrlimit(RLIMIT_DATA, &data) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot read a limit");
	/* A lower limit stays. */
	if (data.rlim_max < bytes)
		bytes = data.rlim_max;
	return set_limit(RLIMIT_DATA, bytes, bytes, err);
}

/* Closes all descriptors but 0-2 and the control socket. 0 and 1 become /dev/null, and 2 if it is
 * closed: no socket may get a number that messages are written to. */
int egress_lock_descriptors(struct koda_error *err)
{
	int null;

	if (syscall(SYS_close_range, KODA_EGRESS_CONTROL_FD + 1, ~0U, 0) < 0 ||
	    fcntl(KODA_EGRESS_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot close descriptors");
	do {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (null >= 0 && null <= 2);
	if (null < 0 || dup3(null, 0, O_CLOEXEC) < 0 || dup3(null, 1, O_CLOEXEC) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot open /dev/null");
	(void)close(null);
	return KODA_OK;
}

static int drop_privileges(struct koda_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];
	struct __user_cap_data_struct now[2];

	memset(none, 0, sizeof(none));
	memset(now, 0xff, sizeof(now));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0 || syscall(SYS_capget, &header, now) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot drop capabilities");
	if (memcmp(none, now, sizeof(none)) != 0)
		return koda_fail(err, KODA_E_SYS, 0, "capabilities are still there");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return koda_fail(err, KODA_E_SYS, errno, "no_new_privs did not take");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot become undumpable");
	return KODA_OK;
}

static int let_read(int ruleset, const char *path, struct koda_error *err)
{
	koda_auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct path_rule rule = { .allowed_access = FS_READ_FILE | FS_READ_DIR, .parent_fd = fd };
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return KODA_OK; /* nothing to read */
	if (fd < 0 || fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot open %s", path);
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access = FS_READ_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot add a Landlock rule");
	return KODA_OK;
}

/* Tries what Landlock must refuse now. */
static int check_files(struct koda_error *err)
{
	koda_auto_fd int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	koda_auto_fd int made = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	koda_auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (root >= 0 || made >= 0 || null >= 0)
		return koda_fail(err, KODA_E_SYS, 0, "Landlock did not take");
	return KODA_OK;
}

static int lock_files(struct koda_error *err)
{
	static const unsigned int bits_of[] = { 0, 13, 14, 15, 15, 16 };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);
	struct ruleset set = { 0 };
	koda_auto_fd int ruleset = -1;
	size_t size;
	int r = KODA_OK;

	if (abi < 1)
		return koda_fail(err, KODA_E_UNSUPPORTED, errno, "there is no Landlock");
	set.handled_access_fs = (1ULL << (abi < 5 ? bits_of[abi] : 16)) - 1;
	/* The proxy connects to many ports, but binds none. */
	set.handled_access_net = abi >= 4 ? NET_BIND_TCP : 0;
	set.scoped = abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0;
	size = abi >= 6 ? sizeof(set) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (ruleset < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make a Landlock ruleset");
	for (size_t i = 0; i < KODA_ARRAY_LEN(readable) && r == KODA_OK; i++)
		r = let_read(ruleset, readable[i], err);
	if (r == KODA_OK && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot enter the Landlock domain");
	return r == KODA_OK ? check_files(err) : r;
}

int egress_lock_process(size_t *ret_files, struct koda_error *err)
{
	int r = set_limits(ret_files, err);

	if (r == KODA_OK)
		r = drop_privileges(err);
	if (r == KODA_OK)
		r = lock_files(err);
	return r;
}
