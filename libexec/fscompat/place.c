/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "base/error.h"
#include "base/path.h"

void fscompat_place_clear(struct fscompat_place *place)
{
	free(KODA_TAKE(place->path));
}

static int make_absolute(const char *cwd, struct koda_span path, char **ret_path,
			 struct koda_error *err)
{
	koda_auto_free char *text = strndup(path.len ? path.ptr : "", path.len);

	if (!text)
		return koda_fail_nomem(err);
	if (text[0] != '/')
		return koda_path_join(cwd, text, ret_path, err);
	*ret_path = KODA_TAKE(text);
	return KODA_OK;
}

/* Returns the directory ahead of the first wildcard of an absolute pattern, with its slash. */
static struct koda_span literal_dir(struct koda_span pattern)
{
	size_t end = 0;

	for (size_t i = 0; i < pattern.len && !strchr("*?[{\\", pattern.ptr[i]); i++)
		if (pattern.ptr[i] == '/')
			end = i + 1;
	return (struct koda_span){ pattern.ptr, end };
}

static struct koda_span trim_slashes(struct koda_span path)
{
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

int fscompat_place_find(const char *cwd, const struct fscompat_request *request,
			struct fscompat_place *place, struct koda_error *err)
{
	struct koda_span path = request->path;
	bool searches = request->op == KODA_FS_OP_GLOB || request->op == KODA_FS_OP_GREP;

	place->text = request->text;
	if (request->op == KODA_FS_OP_GLOB && request->text.len > 0 &&
	    request->text.ptr[0] == '/') {
		path = literal_dir(request->text);
		place->text = koda_span_skip(request->text, path.len);
	}
	if (searches) {
		path = trim_slashes(path);
		place->prefix = path;
		place->separator = path.len == 0 || path.ptr[path.len - 1] == '/' ? "" : "/";
		if (path.len == 0)
			path = koda_span_of(cwd);
	}
	if (path.len == 0) {
		place->path = strdup("");
		return place->path ? KODA_OK : koda_fail_nomem(err);
	}
	return make_absolute(cwd, path, &place->path, err);
}
