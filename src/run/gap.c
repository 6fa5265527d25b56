/* SPDX-License-Identifier: MIT */
#include "run/gap.h"

#include "base/diag.h"
#include "base/path.h"

#include <errno.h>
#include <sys/stat.h>

bool koda_gap_covers(const struct koda_gap *gap, struct koda_span path)
{
	return gap->dir && koda_path_covers(koda_span_of(gap->dir), path);
}

int koda_gap_look(struct koda_gap *gap, const char *path, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(path);
	size_t found = 0;
	struct stat st;

	koda_gap_clear(gap);
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
	gap->dir = KODA_TAKE(dir);
	return KODA_OK;
}

void koda_gap_clear(struct koda_gap *gap)
{
	free(KODA_TAKE(gap->dir));
}
