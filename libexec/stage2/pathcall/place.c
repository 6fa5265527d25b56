/* SPDX-License-Identifier: MIT */
/*
 * Resolves a path as its caller would: from the caller's own working directory or descriptor, link
 * by link. The view belongs to all processes of the sandbox. The caller goes on afterwards and may
 * have changed everything by then, so that an answer can be wrong; nothing is decided by it.
 */
#include "pathcall/place.h"

#include "sys.h"
#include "wire/placeholder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#define LINKS_MAX   40 /* as the kernel has it */
#define PROC_MAGIC  0x9fa0
#define ATTR_MOUNT  0x2000U /* STATX_ATTR_MOUNT_ROOT */
#define STATX_BASIC 0x7ffU

/* A search that is under way. */
struct search {
	pid_t thread;
	int base;   /* O_PATH, where a relative text starts; AT_FDCWD for absolute ones */
	bool magic; /* the text itself names a directory of /proc */
	char *text;
};

int stage2_place_look(int dir, const char *name, struct place *ret_place)
{
	struct sys_statx stx;
	struct stat st = { 0 };

	if (syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BASIC, &stx) <
	    0)
		return -errno;
	ret_place->mount_root = stx.others[1] & ATTR_MOUNT;
	ret_place->mode = (uint16_t)stx.others[6];
	st.st_mode = ret_place->mode;
	st.st_mtime = (time_t)(stx.times[5] | (uint64_t)stx.times[6] << 32);
	ret_place->reserved = ret_place->mount_root && koda_placeholder_is_marked(&st);
	return 0;
}

bool stage2_place_is_readonly(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

/* Reads the path of a descriptor of init's own. An object without a name has none. */
static int read_path(int fd, char *out, size_t size)
{
	static const char gone[] = " (deleted)";
	const size_t tail = sizeof(gone) - 1;
	char name[32];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, out, size - 1);
	if (n < 1 || (size_t)n == size - 1 || out[0] != '/')
		return -ENOENT;
	out[n] = '\0';
	return (size_t)n > tail && strcmp(out + n - tail, gone) == 0 ? -ENOENT : 0;
}

/* Replaces names that mean another object for each process. They are links of /proc, or lead there.
 */
static int replace_self(struct search *search)
{
	static const struct {
		const char *prefix;
		const char *rest; /* of the name in /proc/PID */
	} selves[] = { { "/proc/self", "" },       { "/proc/thread-self", "" },
		       { "/dev/fd", "/fd" },       { "/dev/stdin", "/fd/0" },
		       { "/dev/stdout", "/fd/1" }, { "/dev/stderr", "/fd/2" } };
	char *text = search->text;
	char copy[PATHCALL_PATH_BYTES];
	int n;

	for (size_t i = 0; i < sizeof(selves) / sizeof(selves[0]); i++) {
		size_t len = strlen(selves[i].prefix);

		if (strncmp(text, selves[i].prefix, len) != 0 || (text[len] && text[len] != '/'))
			continue;
		n = snprintf(copy, sizeof(copy), "/proc/%d%s%s", search->thread, selves[i].rest,
			     text + len);
		if (n < 0 || n >= (int)sizeof(copy))
			return -ENAMETOOLONG;
		memcpy(text, copy, (size_t)n + 1);
		break;
	}
	search->magic = strncmp(text, "/proc/", 6) == 0;
	return 0;
}

static int open_beneath(const struct search *search, const char *path, uint64_t flags)
{
	/* Magic links that the text does not name would lead to objects of init. */
	int fd = sys_openat2(search->base, path, O_PATH | flags,
			     search->magic ? 0 : RESOLVE_NO_MAGICLINKS);

	return fd < 0 ? -errno : fd;
}

/* Sets the base of a text. */
static int begin(struct search *search, int dirfd)
{
	int r = replace_self(search);

	if (r < 0 || search->text[0] == '/')
		return r;
	search->base = stage2_caller_open_dir(search->thread, dirfd);
	return search->base < 0 ? search->base : 0;
}

/* The object is opened without its directory. */
static int find_whole(const struct search *search, struct place *place)
{
	place->object = open_beneath(search, search->text, 0);
	if (place->object < 0)
		return place->object;
	place->dir = fcntl(place->object, F_DUPFD_CLOEXEC, 0);
	if (place->dir < 0 || stage2_place_look(place->object, "", place) < 0)
		return -ENOENT;
	return read_path(place->object, place->path, sizeof(place->path));
}

/* Splits the text into a directory, "" if there is none, and a name. */
static const char *split(char *text, const char **ret_dir)
{
	size_t len = strlen(text);
	char *slash;

	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0';
	slash = strrchr(text, '/');
	if (!slash) {
		*ret_dir = "";
		return text;
	}
	*slash = '\0';
	*ret_dir = slash == text ? "/" : text;
	return slash + 1;
}

/* Has the search go on at the target of a link in place->dir. */
static int follow_link(struct search *search, const char *name, struct place *place)
{
	char target[PATHCALL_PATH_BYTES];
	ssize_t n = readlinkat(place->dir, name, target, sizeof(target) - 1);

	if (n < 1)
		return n < 0 ? -errno : -ENOENT;
	target[n] = '\0';
	memcpy(search->text, target, (size_t)n + 1);
	if (search->base >= 0)
		(void)close(search->base);
	search->base = target[0] == '/' ? AT_FDCWD : place->dir;
	if (search->base == AT_FDCWD)
		(void)close(place->dir);
	place->dir = -1;
	return replace_self(search);
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

/* Opens the object and completes the path. The directory's is "/" or ends without a slash. */
static int finish(const char *name, struct place *place)
{
	size_t len;

	place->object = sys_openat2(place->dir, name, O_PATH | O_NOFOLLOW, 0);
	if (place->object < 0 && errno != ENOENT)
		return -errno;
	if (read_path(place->dir, place->path, PATHCALL_PATH_BYTES) < 0)
		return -ENOENT;
	len = strlen(place->path);
	len -= len == 1;
	if (len + 1 + strlen(name) >= sizeof(place->path))
		return -ENAMETOOLONG;
	place->path[len] = '/';
	memcpy(place->path + len + 1, name, strlen(name) + 1);
	return 0;
}

/* Takes one step: 1 if a link was followed, 0 if the object is found. */
static int step(struct search *search, bool follow, struct place *place)
{
	const char *dir;
	const char *name;
	char copy[PATHCALL_PATH_BYTES];
	size_t len = strlen(search->text);
	int r;

	memcpy(copy, search->text, len + 1);
	name = split(copy, &dir);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return find_whole(search, place);
	place->dir = *dir ? open_beneath(search, dir, O_DIRECTORY)
			  : fcntl(search->base, F_DUPFD_CLOEXEC, 0);
	if (place->dir < 0)
		return place->dir;
	r = stage2_place_look(place->dir, name, place);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r < 0 || !follow || (place->mode & S_IFMT) != S_IFLNK)
		return finish(name, place);
	if (!is_in_proc(place->dir)) {
		r = follow_link(search, name, place);
		return r < 0 ? r : 1;
	}
	place->object = sys_openat2(place->dir, name, O_PATH, 0);
	if (place->object < 0 || stage2_place_look(place->object, "", place) < 0)
		return -ENOENT;
	return read_path(place->object, place->path, sizeof(place->path));
}

/* Writes the path as the caller has: what is behind a closed directory cannot be looked at. */
static int write_closed(pid_t thread, int dirfd, const char *text, struct place *place)
{
	ssize_t n = text[0] == '/' ? 0
				   : stage2_caller_dir_text(thread, dirfd, place->path,
							    PATHCALL_PATH_BYTES - 1);

	if (n < 0 || (n > 0 && place->path[0] != '/'))
		return -ENOENT;
	if (n > 0)
		place->path[n++] = '/';
	memcpy(place->path + n, text, strlen(text) + 1);
	place->closed = true;
	return 0;
}

int stage2_place_find(pid_t thread, int dirfd, char *text, bool follow, struct place *ret_place)
{
	struct search search = { .thread = thread, .base = AT_FDCWD, .text = text };
	char written[PATHCALL_PATH_BYTES];
	int r;

	*ret_place = (struct place){ .dir = -1, .object = -1 };
	memcpy(written, text, strlen(text) + 1);
	r = begin(&search, dirfd);
	if (r == 0)
		r = 1;
	for (int links = 0; r == 1; links++) {
		ret_place->linked = links > 0;
		r = links < LINKS_MAX ? step(&search, follow, ret_place) : -ELOOP;
	}
	if (search.base >= 0)
		(void)close(search.base);
	return r == -EACCES ? write_closed(thread, dirfd, written, ret_place) : r;
}

int stage2_place_of_fd(pid_t thread, int fd, struct place *ret_place)
{
	*ret_place = (struct place){ .dir = -1, .object = -1 };
	ret_place->object = stage2_caller_open_dir(thread, fd);
	if (ret_place->object < 0)
		return ret_place->object;
	ret_place->dir = fcntl(ret_place->object, F_DUPFD_CLOEXEC, 0);
	if (ret_place->dir < 0 || stage2_place_look(ret_place->object, "", ret_place) < 0)
		return -ENOENT;
	return read_path(ret_place->object, ret_place->path, sizeof(ret_place->path));
}

void stage2_place_clear(struct place *place)
{
	if (place->dir >= 0)
		(void)close(place->dir);
	if (place->object >= 0)
		(void)close(place->object);
}
