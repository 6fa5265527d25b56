/* SPDX-License-Identifier: MIT */
/* The list of what a command has left behind. */
#include "base/error.h"
#include "base/path.h"
#include "run/project/left_behind.h"

#include <stdlib.h>
#include <string.h>

static bool has_path(const struct koda_left_behind *left, const char *path)
{
	for (size_t i = 0; i < left->count; i++)
		if (strcmp(left->items[i].path, path) == 0)
			return true;
	return false;
}

int koda_left_behind_add(struct koda_left_behind *left, const char *dir, const char *name,
			 enum koda_left what, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = KODA_OK;

	if (name)
		r = koda_path_join(dir, name, &path, err);
	else
		path = strdup(dir);
	if (r < 0 || !path)
		return r < 0 ? r : koda_fail_nomem(err);
	if (has_path(left, path))
		return KODA_OK;
	if (left->count == KODA_LEFT_BEHIND_MAX) {
		left->more++;
		return KODA_OK;
	}
	if (!left->items)
		left->items = calloc(KODA_LEFT_BEHIND_MAX, sizeof(*left->items));
	if (!left->items)
		return koda_fail_nomem(err);
	left->items[left->count++] = (struct koda_left_behind_item){ KODA_TAKE(path), what };
	return KODA_OK;
}

void koda_left_behind_clear(struct koda_left_behind *left)
{
	for (size_t i = 0; i < left->count; i++)
		free(left->items[i].path);
	free(left->items);
	*left = (struct koda_left_behind)KODA_LEFT_BEHIND_INIT;
}
