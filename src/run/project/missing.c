/* SPDX-License-Identifier: MIT */
#include "run/project/missing.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <sys/stat.h>

bool koda_missing_covers(const struct koda_missing *missing, struct koda_span path)
{
	return missing->dir && koda_path_covers(koda_span_of(missing->dir), path);
}

int koda_missing_look(struct koda_missing *missing, const char *path, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(path);
	size_t found = 0;
	struct stat st;

	koda_missing_clear(missing);
	if (!dir)
		return koda_fail_nomem(err);
	for (size_t len = strlen(dir); len > 1 && lstat(dir, &st) < 0 && errno == ENOENT;) {
		found = len;
		while (len > 1 && dir[len - 1] != '/')
			len--;
		len -= len > 1;
		dir[len] = '\0';
	}
	if (found == 0)
		return KODA_OK;
	memcpy(dir, path, found);
	dir[found] = '\0';
	missing->dir = KODA_TAKE(dir);
	return KODA_OK;
}

void koda_missing_clear(struct koda_missing *missing)
{
	free(KODA_TAKE(missing->dir));
}
