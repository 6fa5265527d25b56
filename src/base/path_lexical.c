/* SPDX-License-Identifier: MIT */
/* Paths as text, without looking at the file system. */
#include "base/path.h"

#include "base/error.h"

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

bool koda_path_is_normal(struct koda_span path)
{
	const char *end = path.ptr + path.len;
	const char *slash = path.ptr;

	if (path.len == 0 || path.len > KODA_PATH_MAX || path.ptr[0] != '/')
		return false;
	if (path.len == 1)
		return true;
	while (slash) {
		const char *name = slash + 1;
		size_t len;

		slash = memchr(name, '/', (size_t)(end - name));
		len = (size_t)((slash ? slash : end) - name);
		if (len == 0 || len > KODA_NAME_MAX ||
		    (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
			return false;
	}
	return !memchr(path.ptr, '\0', path.len);
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
	if (koda_path_is_normal(path)) {
		r = koda_buf_add(out, path.ptr, path.len);
		return r < 0 ? koda_fail_room(err, r, "the path") : KODA_OK;
	}
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
