/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A rename elsewhere in the tree makes openat2 give up with EAGAIN; each retry is a new walk. */
#define BENEATH_TRIES 64
/* As many links as the kernel follows. */
#define LINKS_MAX 40

/* Drops the last component of out, never its leading slash. */
static void drop_last(struct koda_buf *out)
{
	while (out->len > 1 && out->ptr[out->len - 1] != '/')
		out->len--;
	if (out->len > 1)
		out->len--;
	out->ptr[out->len] = '\0';
}

/* Applies one component to the absolute path in out: "." and nothing stay, ".." goes up. */
static int apply_step(struct koda_buf *out, struct koda_span name)
{
	size_t before = out->len;
	int r = KODA_OK;

	if (koda_span_is(name, "..")) {
		drop_last(out);
	} else if (name.len > 0 && !koda_span_is(name, ".")) {
		if (out->len > 1)
			r = koda_buf_add(out, "/", 1);
		if (r == KODA_OK)
			r = koda_buf_add(out, name.ptr, name.len);
		if (r < 0)
			out->len = before;
	}
	return r;
}

/* Applies every component of text. */
static int apply_steps(struct koda_buf *out, const char *text)
{
	int r = KODA_OK;

	while (*text && r == KODA_OK) {
		size_t len = strcspn(text, "/");

		r = apply_step(out, (struct koda_span){ text, len });
		text += len;
		text += *text == '/';
	}
	return r;
}

/* Appends the working directory to out. */
static int add_cwd(struct koda_buf *out, struct koda_error *err)
{
	koda_auto_free char *cwd = getcwd(NULL, 0);
	int r;

	if (!cwd && errno == ENOMEM)
		return koda_fail_nomem(err);
	if (!cwd)
		return koda_fail(err, KODA_E_SYS, errno, "cannot tell the working directory");
	r = apply_steps(out, cwd);
	return r < 0 ? koda_fail_room(err, r, "the working directory's path") : KODA_OK;
}

/* Sets out to the start of a walk along path: "/" or the working directory. */
static int start_at(struct koda_buf *out, const char *path, struct koda_error *err)
{
	int r = koda_buf_add(out, "/", 1);

	if (r < 0)
		return koda_fail_nomem(err);
	if (!*path)
		return koda_fail(err, KODA_E_INVALID, 0, "the path is empty");
	return path[0] == '/' ? KODA_OK : add_cwd(out, err);
}

int koda_path_absolute(const char *path, char **ret_path, struct koda_error *err)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
	int r = start_at(&out, path, err);

	if (r < 0)
		return r;
	r = apply_steps(&out, path);
	return r < 0 ? koda_fail_room(err, r, "the path") : koda_buf_take(&out, ret_path);
}

/* A walk along a path: its position by name and by descriptor. With the descriptor the cost of a
 * step does not depend on the depth. It is -1 below a component that is missing or unreadable. */
struct walk {
	struct koda_buf out;
	struct koda_buf pending; /* components that are left */
	size_t at;
	int dir;
	int links;
	int error; /* a directory could not be looked into */
};

static void walk_clear(struct walk *walk)
{
	koda_buf_clear(&walk->out);
	koda_buf_clear(&walk->pending);
	koda_fd_close(&walk->dir);
}

/* Below a component that is missing, no directory or unreadable, the path is kept as spelt. Below
 * one that could not be opened for another reason, such as EMFILE, there may be links. */
static void move_to(struct walk *walk, int dirfd, const char *name)
{
	int next = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (next < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES &&
	    errno != ENAMETOOLONG)
		walk->error = errno;
	koda_fd_close(&walk->dir);
	walk->dir = next;
}

/* Puts the target of a link in front of the components that are left. */
static int redirect(struct walk *walk, const char *target, size_t len)
{
	koda_auto_buf struct koda_buf rest = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = koda_buf_add(&rest, target, len);

	if (r == KODA_OK)
		r = koda_buf_add(&rest, "/", 1);
	if (r == KODA_OK)
		r = koda_buf_add(&rest, walk->pending.ptr + walk->at, walk->pending.len - walk->at);
	if (r < 0)
		return r;
	koda_buf_clear(&walk->pending);
	walk->pending = rest;
	rest = (struct koda_buf)KODA_BUF_INIT(0);
	walk->at = 0;
	if (target[0] == '/') {
		walk->out.len = 1;
		walk->out.ptr[1] = '\0';
		move_to(walk, AT_FDCWD, "/");
	}
	return KODA_OK;
}

/* Reads the symbolic link name. Returns its length, 0 if it is no link, or a negative value if that
 * is unknown. An unreadable link below /proc can lead anywhere, so it counts as unknown. */
static ssize_t read_link(const struct walk *walk, const char *name, char *target, size_t size)
{
	ssize_t n = walk->dir >= 0 ? readlinkat(walk->dir, name, target, size) : 0;
	bool in_proc = strncmp(walk->out.ptr, "/proc", 5) == 0;

	if (n >= 0)
		return n;
	if (errno == EINVAL || errno == ENOENT || errno == ENOTDIR || (errno == EACCES && !in_proc))
		return 0;
	return -1;
}

/* Walks one component that is an ordinary name. */
static int walk_name(struct walk *walk, struct koda_span name, struct koda_strv *links,
		     struct koda_error *err)
{
	char target[KODA_PATH_MAX + 1];
	char text[KODA_NAME_MAX + 1];
	ssize_t n = 0;
	int r;

	if (name.len <= KODA_NAME_MAX) {
		memcpy(text, name.ptr, name.len);
		text[name.len] = '\0';
		n = read_link(walk, text, target, sizeof(target));
	}
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot look at a link in %s",
				 walk->out.ptr);
	if ((size_t)n > KODA_PATH_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the target of a link is too long");
	r = apply_step(&walk->out, name);
	if (r < 0)
		return koda_fail_room(err, r, "the path");
	if (n == 0) {
		if (walk->dir >= 0 && name.len <= KODA_NAME_MAX)
			move_to(walk, walk->dir, text);
		else
			koda_fd_close(&walk->dir);
		return KODA_OK;
	}
	/* List the link that exceeds the limit too: while it exists, the path leads nowhere. */
	r = links ? koda_strv_add(links, walk->out.ptr, err) : KODA_OK;
	if (r < 0)
		return r;
	if (++walk->links > LINKS_MAX)
		return koda_fail(err, KODA_E_SYS, ELOOP, "cannot resolve");
	drop_last(&walk->out);
	r = redirect(walk, target, (size_t)n);
	return r < 0 ? koda_fail_room(err, r, "the path") : KODA_OK;
}

static int walk_step(struct walk *walk, struct koda_strv *links, struct koda_error *err)
{
	struct koda_span name = { walk->pending.ptr + walk->at,
				  strcspn(walk->pending.ptr + walk->at, "/") };

	walk->at += name.len;
	walk->at += walk->pending.ptr[walk->at] == '/';
	if (name.len == 0 || koda_span_is(name, "."))
		return KODA_OK;
	if (!koda_span_is(name, ".."))
		return walk_name(walk, name, links, err);
	drop_last(&walk->out);
	/* Reopen by name: ".." of a missing directory may lead to an existing one. */
	move_to(walk, AT_FDCWD, walk->out.ptr);
	return KODA_OK;
}

/* Returns true if openat2 with RESOLVE_NO_SYMLINKS shows that path has no links. ENOENT shows it
 * too: a link before the missing component would have given ELOOP. */
static bool is_plain(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	koda_auto_fd int fd = -1;

	if (path[0] != '/' || strstr(path, "/.."))
		return false;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	return fd >= 0 || errno == ENOENT || errno == ENOTDIR;
}

static int walk_path(struct walk *walk, const char *path, struct koda_strv *links,
		     struct koda_error *err)
{
	int r = start_at(&walk->out, path, err);

	if (r < 0)
		return r;
	if (is_plain(path)) {
		r = apply_steps(&walk->out, path);
		return r < 0 ? koda_fail_room(err, r, "the path") : KODA_OK;
	}
	r = koda_buf_add(&walk->pending, path, strlen(path));
	if (r < 0)
		return koda_fail_room(err, r, "the path");
	move_to(walk, AT_FDCWD, walk->out.ptr);
	while (r == KODA_OK && walk->error == 0 && walk->at < walk->pending.len)
		r = walk_step(walk, links, err);
	if (r == KODA_OK && walk->error)
		r = koda_fail_at(err, KODA_E_SYS, walk->error, path, "cannot resolve");
	if (r < 0 && err && !err->field[0])
		koda_error_within(err, path);
	return r;
}

int koda_path_trace(const char *path, char **ret_path, struct koda_strv *links,
		    struct koda_error *err)
{
	struct walk walk = { .out = KODA_BUF_INIT(KODA_PATH_MAX),
			     .pending = KODA_BUF_INIT(2 * KODA_PATH_MAX),
			     .dir = -1 };
	int r = walk_path(&walk, path, links, err);

	if (r == KODA_OK && koda_buf_take(&walk.out, ret_path) < 0)
		r = koda_fail_nomem(err);
	walk_clear(&walk);
	return r;
}

int koda_path_resolve(const char *path, char **ret_path, struct koda_error *err)
{
	return koda_path_trace(path, ret_path, NULL, err);
}

int koda_path_open_beneath(int dirfd, const char *rel, int flags, unsigned int mode, int *ret_fd,
			   struct koda_error *err)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	for (int tries = 0; tries < BENEATH_TRIES; tries++) {
		long fd = syscall(SYS_openat2, dirfd, rel, &how, sizeof(how));

		if (fd >= 0) {
			*ret_fd = (int)fd;
			return KODA_OK;
		}
		if (errno == ENOSYS)
			return koda_fail(err, KODA_E_UNSUPPORTED, ENOSYS, "openat2 is needed");
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return koda_fail_at(err, KODA_E_SYS, errno, rel, "cannot open");
}
