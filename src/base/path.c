/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/diag.h"

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

enum koda_step koda_path_next(struct koda_span *rest, struct koda_span *ret_name)
{
	const char *end = rest->ptr + rest->len;
	const char *p = rest->ptr;

	for (;;) {
		const char *name;
		size_t len;

		while (p < end && *p == '/')
			p++;
		name = p;
		while (p < end && *p != '/' && *p != '\0')
			p++;
		len = (size_t)(p - name);
		if (p < end && *p == '\0')
			return KODA_STEP_BAD;
		if (len == 0)
			return KODA_STEP_END;
		if (len == 1 && name[0] == '.')
			continue;
		if (len > KODA_NAME_MAX || (len == 2 && name[0] == '.' && name[1] == '.'))
			return KODA_STEP_BAD;
		*ret_name = (struct koda_span){ name, len };
		*rest = (struct koda_span){ p, (size_t)(end - p) };
		return KODA_STEP_NAME;
	}
}

static int refuse_path(struct koda_span path, struct koda_error *err)
{
	if (path.len == 0)
		return koda_fail(err, KODA_E_POLICY, 0, "the path is empty");
	if (memchr(path.ptr, '\0', path.len))
		return koda_fail(err, KODA_E_POLICY, 0, "the path contains a NUL byte");
	if (path.ptr[0] != '/')
		return koda_fail(err, KODA_E_POLICY, 0, "path '%.*s' is not absolute",
				 (int)(path.len > 100 ? 100 : path.len), path.ptr);
	if (path.len > KODA_PATH_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the path is longer than %zu bytes",
				 KODA_PATH_MAX);
	return koda_fail(err, KODA_E_POLICY, 0,
			 "path '%.*s' has a '..' or a component longer than %d bytes",
			 (int)(path.len > 100 ? 100 : path.len), path.ptr, KODA_NAME_MAX);
}

int koda_path_normalise(struct koda_span path, struct koda_buf *out, struct koda_error *err)
{
	struct koda_span rest = path;
	size_t start = out->len;
	struct koda_span name;
	enum koda_step step;
	int r = KODA_OK;

	if (path.len == 0 || path.len > KODA_PATH_MAX || path.ptr[0] != '/')
		return refuse_path(path, err);
	while ((step = koda_path_next(&rest, &name)) == KODA_STEP_NAME && r == KODA_OK) {
		r = koda_buf_add(out, "/", 1);
		if (r == KODA_OK)
			r = koda_buf_add(out, name.ptr, name.len);
	}
	if (r == KODA_OK && step == KODA_STEP_END && out->len == start)
		r = koda_buf_add(out, "/", 1);
	if (r < 0)
		return koda_fail_room(err, r, "the path");
	if (step == KODA_STEP_BAD)
		return refuse_path(path, err);
	return KODA_OK;
}

bool koda_path_covers(struct koda_span dir, struct koda_span path)
{
	if (dir.len == 1)
		return true; /* "/" */
	return path.len >= dir.len && memcmp(dir.ptr, path.ptr, dir.len) == 0 &&
	       (path.len == dir.len || path.ptr[dir.len] == '/');
}

int koda_path_join(const char *dir, const char *name, char **ret_path, struct koda_error *err)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(SIZE_MAX / 2);

	if (koda_buf_addf(&buf, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name) < 0)
		return koda_fail_nomem(err);
	return koda_buf_take(&buf, ret_path);
}

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

/* The same for every component of text. */
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

/* The working directory, "/" included, appended to out. */
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

/* Where a walk along path begins: "/", or the working directory. */
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

/* Puts what the link at out points to in front of the components still to walk. */
static int follow(struct koda_buf *out, struct koda_buf *pending, size_t done)
{
	koda_auto_buf struct koda_buf rest = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	char target[KODA_PATH_MAX + 1];
	ssize_t n = readlink(out->ptr, target, sizeof(target));
	int r;

	if (n < 0) /* no link, not there, or not ours to look at: the spelling stands */
		return KODA_OK;
	if ((size_t)n > KODA_PATH_MAX)
		return KODA_E_LIMIT;
	r = koda_buf_add(&rest, target, (size_t)n);
	if (r == KODA_OK)
		r = koda_buf_add(&rest, pending->ptr + done, pending->len - done);
	if (r < 0)
		return r;
	drop_last(out);
	if (target[0] == '/') {
		out->len = 1;
		out->ptr[1] = '\0';
	}
	koda_buf_clear(pending);
	*pending = rest;
	rest = (struct koda_buf)KODA_BUF_INIT(0);
	return 1;
}

/* Walks path, following links; notes where each one was in links, if that is wanted. */
static int walk(const char *path, struct koda_buf *out, struct koda_strv *links,
		struct koda_error *err)
{
	koda_auto_buf struct koda_buf pending = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int followed = 0;
	size_t at = 0;
	int r = start_at(out, path, err);

	if (r < 0)
		return r;
	r = koda_buf_add(&pending, path, strlen(path));
	while (r == KODA_OK && at < pending.len) {
		size_t len = strcspn(pending.ptr + at, "/");
		koda_auto_free char *here = NULL;

		r = apply_step(out, (struct koda_span){ pending.ptr + at, len });
		at += len;
		if (r == KODA_OK && links && !(here = strdup(out->ptr)))
			return koda_fail_nomem(err);
		if (r == KODA_OK && len > 0)
			r = follow(out, &pending, at);
		if (r > 0) {
			if (++followed > LINKS_MAX)
				return koda_fail_at(err, KODA_E_SYS, ELOOP, path, "cannot resolve");
			r = links ? koda_strv_take(links, KODA_TAKE(here), err) : KODA_OK;
			if (r < 0)
				return r;
			at = 0;
		}
		at += at < pending.len && pending.ptr[at] == '/';
	}
	return r < 0 ? koda_fail_room(err, r, "the path") : KODA_OK;
}

int koda_path_trace(const char *path, char **ret_path, struct koda_strv *links,
		    struct koda_error *err)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_PATH_MAX);
	int r = walk(path, &out, links, err);

	if (r == KODA_OK && koda_buf_take(&out, ret_path) < 0)
		return koda_fail_nomem(err);
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
