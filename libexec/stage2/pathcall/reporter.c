/* SPDX-License-Identifier: MIT */
/*
 * T-105. Receives the seccomp notifications of the command's path calls. Every call goes on, so
 * that the kernel decides; what the view refuses is reported to the runner before that, so that no
 * report comes behind the exit. The runner asks the rules which of them refuses it.
 *
 * Init holds the listener itself. It is pid 1, which the command can neither signal nor change; it
 * could do that to a further process or thread. If init ends, the kernel ends everything inside.
 *
 * A call in a directory that was found writable costs two system calls more, unless its name is a
 * mount point or a link. Denials of one name are reported once.
 */
#include "pathcall/reporter.h"

#include "command/lock.h"
#include "fail.h"
#include "pathcall/refusal.h"
#include "report.h"
#include "sys.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#endif

/* More than the structures of any kernel. */
#define MESSAGE_MAX 512
/* Directories that are remembered, and the longest of their paths. */
#define DIRS      64
#define DIR_BYTES 512
/* How many denials of one command are reported; the rest is counted. */
#define DENIALS_MAX 1024
/* Half of it stays empty. A power of two. */
#define DENIALS_SLOTS 2048U

static int channel[2] = { -1, -1 }; /* for the listener: init's end, the command's */
static int listener = -1;
static unsigned int untold;

/* Directories on writable mounts, by the text that callers use. The view never changes. */
static struct {
	size_t len; /* 0: free */
	char text[DIR_BYTES];
} dirs[DIRS];

/* Hashes of the denials that were reported; 0: free. */
static uint64_t told[DENIALS_SLOTS];
static unsigned int told_count;

static uint64_t hash_of(uint64_t hash, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return hash;
}

#define HASH_START 0xcbf29ce484222325ULL

/* A call that waits. */
struct trapped {
	pid_t thread;
	struct pathcall call;
	char text[PATHCALL_PATH_BYTES]; /* of the subject in question */
};

/* Writes the path of a subject to trapped->text. Returns a negative errno; 1: the subject is the
 * descriptor itself. */
static int read_text(struct trapped *trapped, const struct pathcall_subject *subject)
{
	int r;

	if (subject->path == 0)
		return trapped->call.act == PATHCALL_CHANGE ? 1 : -EFAULT;
	if (trapped->call.act == PATHCALL_BIND) {
		struct sockaddr_un address = { .sun_family = AF_UNSPEC };
		size_t len = trapped->call.path_len;

		len = len < sizeof(address) ? len : sizeof(address);
		r = stage2_caller_copy(trapped->thread, subject->path, &address, len);
		if (r == 0 && (address.sun_family != AF_UNIX || !address.sun_path[0]))
			r = -EINVAL;
		(void)snprintf(trapped->text, sizeof(trapped->text), "%.*s",
			       (int)sizeof(address.sun_path), address.sun_path);
		return r;
	}
	r = stage2_caller_copy_text(trapped->thread, subject->path, trapped->text);
	if (r == 0 && !trapped->text[0])
		return subject->flags & AT_EMPTY_PATH ? 1 : -ENOENT;
	return r;
}

/* Splits the path that the caller means, unresolved, into a directory and a name. Returns NULL if
 * that needs resolving. */
static const char *split_lexically(const struct trapped *trapped,
				   const struct pathcall_subject *subject, char dir[DIR_BYTES])
{
	const char *text = trapped->text;
	const char *slash = strrchr(text, '/');
	const char *name = slash ? slash + 1 : text;
	size_t len = slash ? (size_t)(slash - text) : 0;
	ssize_t n = 0;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strncmp(text, "/proc", 5) == 0 || strncmp(text, "/dev", 4) == 0)
		return NULL;
	if (text[0] != '/')
		n = stage2_caller_dir_text(trapped->thread, subject->dirfd, dir, DIR_BYTES);
	if (n < 0 || (n > 0 && dir[0] != '/') || (size_t)n + 1 + len >= DIR_BYTES)
		return NULL;
	if (n > 0)
		dir[n++] = '/';
	memcpy(dir + n, text, len);
	dir[(size_t)n + len] = '\0';
	return name;
}

static size_t slot_of(const char *dir, size_t len)
{
	return hash_of(HASH_START, dir, len) % DIRS;
}

static bool is_known_writable(const char *dir)
{
	size_t len = strlen(dir);
	size_t slot = slot_of(dir, len);

	return len > 0 && dirs[slot].len == len && memcmp(dirs[slot].text, dir, len) == 0;
}

static void remember_writable(const char *dir)
{
	size_t len = strlen(dir);
	size_t slot = slot_of(dir, len);

	dirs[slot].len = len;
	memcpy(dirs[slot].text, dir, len);
}

static bool follows(const struct pathcall *call, const struct pathcall_subject *subject)
{
	if (call->act == PATHCALL_OPEN)
		return !(call->open_flags & O_NOFOLLOW) &&
		       (call->open_flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	return !(subject->flags & AT_SYMLINK_NOFOLLOW);
}

/* Returns true if the name in a writable directory is no mount point, and no link to follow. */
static bool is_plain(const char *dir, const char *name, bool follow)
{
	char path[DIR_BYTES + PATHCALL_PATH_BYTES];
	size_t len = strlen(dir);
	struct place place;
	int r;

	memcpy(path, dir, len + 1);
	path[len] = '/';
	memcpy(path + len + 1, name, strlen(name) + 1);
	r = stage2_place_look(AT_FDCWD, path, &place);
	return r == -ENOENT ||
	       (r == 0 && !place.mount_root && !(follow && (place.mode & S_IFMT) == S_IFLNK));
}

/* Processes in a mount namespace of their own have another view. */
static bool has_this_view(pid_t thread)
{
	char path[48];
	char theirs[48];
	char ours[48];
	ssize_t a;
	ssize_t b;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", thread);
	a = readlink(path, theirs, sizeof(theirs));
	b = readlink("/proc/self/ns/mnt", ours, sizeof(ours));
	return a > 0 && a == b && memcmp(ours, theirs, (size_t)a) == 0;
}

/* Returns true the first time that it is asked about a denial. */
static bool is_news(enum koda_denied act, const char *path, size_t len)
{
	uint64_t hash = hash_of(HASH_START ^ (uint64_t)act, path, len);
	size_t slot = hash % DENIALS_SLOTS;

	hash += hash == 0;
	while (told[slot] != 0 && told[slot] != hash)
		slot = (slot + 1) % DENIALS_SLOTS;
	if (told[slot] == hash)
		return false;
	if (told_count == DENIALS_MAX) {
		untold++;
		return false;
	}
	told[slot] = hash;
	told_count++;
	return true;
}

static void read_process_name(pid_t thread, char out[16])
{
	char path[32];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, 16);
		(void)close(fd);
	}
	/* It ends with a newline. */
	out[n > 0 ? n - 1 : 0] = '\0';
}

static void report(const struct trapped *trapped, const struct place *place, enum koda_denied act)
{
	struct koda_report_denied record = { .kind = KODA_REPORT_DENIED,
					     .act = act,
					     .closed = place->closed,
					     .path_len = (uint32_t)strlen(place->path) };

	size_t len;

	_Static_assert(sizeof(record.path) >= PATHCALL_PLACE_BYTES, "every path fits");
	if (!has_this_view(trapped->thread) || !is_news(act, place->path, record.path_len))
		return;
	(void)snprintf(record.call, sizeof(record.call), "%s", trapped->call.name);
	read_process_name(trapped->thread, record.process);
	memcpy(record.path, place->path, record.path_len);
	record.dropped = untold;
	len = offsetof(struct koda_report_denied, path) + record.path_len;
	untold = stage2_report_send_record(&record, len, false) ? 0 : untold + 1;
}

static void examine(struct trapped *trapped, size_t i)
{
	const struct pathcall_subject *subject = &trapped->call.subject[i];
	bool follow = follows(&trapped->call, subject);
	int r = read_text(trapped, subject);
	char dir[DIR_BYTES] = "";
	const char *name = NULL;
	enum koda_denied act;
	struct place place;

	if (r < 0)
		return;
	if (r == 0)
		name = split_lexically(trapped, subject, dir);
	if (name && is_known_writable(dir) && is_plain(dir, name, follow))
		return;
	if (r == 0)
		r = stage2_place_find(trapped->thread, subject->dirfd, trapped->text, follow,
				      &place);
	else
		r = stage2_place_of_fd(trapped->thread, subject->dirfd, &place);
	if (r == 0 && stage2_refusal_find(&trapped->call, i, &place, &act))
		report(trapped, &place, act);
	/* A link leads to a directory that the text does not name. */
	else if (r == 0 && name && !place.closed && !place.linked &&
		 !stage2_place_is_readonly(place.dir))
		remember_writable(dir);
	stage2_place_clear(&place);
}

static void take(const struct seccomp_notif *notif)
{
	struct trapped trapped; /* its text is large, and written when it is needed */
	uint64_t args[6];

	trapped.thread = (pid_t)notif->pid;
	memcpy(args, notif->data.args, sizeof(args));
	if (!stage2_pathcall_decode(notif->data.nr, args, &trapped.call))
		return;
	for (size_t i = 0; i < trapped.call.count; i++)
		examine(&trapped, i);
}

/* Lets a call go on. A process that has ended needs no answer (ENOENT). */
static void let_go_on(uint64_t id)
{
	union {
		struct seccomp_notif_resp resp;
		char room[MESSAGE_MAX];
	} message;

	memset(&message, 0, sizeof(message));
	message.resp.id = id;
	message.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &message.resp);
}

/* Only after poll, so that no call to receive one waits. */
void stage2_reporter_step(short events)
{
	union {
		struct seccomp_notif notif;
		char room[MESSAGE_MAX];
	} message;

	/* The last process with the filter has ended, and poll would return for ever. */
	if (!(events & POLLIN)) {
		(void)close(listener);
		listener = -1;
		return;
	}
	memset(&message, 0, sizeof(message));
	/* The process may have ended in between (ENOENT). */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &message.notif) < 0)
		return;
	take(&message.notif);
	let_go_on(message.notif.id);
}

int stage2_reporter_fd(void)
{
	return listener;
}

static bool has_filter(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_FILTER && (op.flags & KODA_OP_NOTIFY))
			return true;
	return false;
}

bool stage2_reporter_start(const struct plan *plan)
{
	struct seccomp_notif_sizes sizes;

	if (!has_filter(plan))
		return false;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
	    sizes.seccomp_notif > MESSAGE_MAX || sizes.seccomp_notif_resp > MESSAGE_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		stage2_fail(KODA_LAUNCH_REPORTER_START, "", errno);
	return true;
}

bool stage2_reporter_receive(void)
{
	(void)close(channel[1]);
	listener = stage2_report_receive_fd(channel[0]);
	(void)close(channel[0]);
	if (listener < 0)
		return false;
	/* Kernels before 6.6 lack it, and calls wait longer. */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return true;
}

void stage2_reporter_hand_over(const struct plan *plan)
{
	char byte = 0;
	int fd;

	if (channel[1] < 0)
		return;
	fd = stage2_lock_notify_filter(plan);
	if (!stage2_report_pass_fds(channel[1], &byte, 1, &fd, 1))
		stage2_fail(KODA_LAUNCH_LISTENER_SEND, "", errno);
	(void)close(fd);
}

void stage2_reporter_end(void)
{
	struct koda_report_denied record = { .kind = KODA_REPORT_DENIED, .dropped = untold };

	if (record.dropped > 0)
		(void)stage2_report_send_record(&record, offsetof(struct koda_report_denied, path),
						true);
}
