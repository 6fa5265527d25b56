/* SPDX-License-Identifier: MIT */
#include "base/strv.h"

#include "base/error.h"

#include <string.h>

int koda_strv_take(struct koda_strv *strv, char *item, struct koda_error *err)
{
	koda_auto_free char *owned = item;

	if (!owned)
		return koda_fail_nomem(err);
	if (strv->len + 2 > strv->cap) {
		size_t cap = strv->cap ? strv->cap * 2 : 8;
		char **items = reallocarray(strv->items, cap, sizeof(*items));

		if (!items)
			return koda_fail_nomem(err);
		strv->items = items;
		strv->cap = cap;
	}
	strv->items[strv->len++] = KODA_TAKE(owned);
	strv->items[strv->len] = NULL;
	return KODA_OK;
}

int koda_strv_add(struct koda_strv *strv, const char *item, struct koda_error *err)
{
	return koda_strv_take(strv, strdup(item), err);
}

int koda_strv_add_span(struct koda_strv *strv, struct koda_span item, struct koda_error *err)
{
	return koda_strv_take(strv, strndup(item.ptr, item.len), err);
}

bool koda_strv_has(const struct koda_strv *strv, const char *item)
{
	for (size_t i = 0; i < strv->len; i++)
		if (strcmp(strv->items[i], item) == 0)
			return true;
	return false;
}

void koda_strv_clear(struct koda_strv *strv)
{
	for (size_t i = 0; i < strv->len; i++)
		free(strv->items[i]);
	free(strv->items);
	*strv = (struct koda_strv)KODA_STRV_INIT;
}
