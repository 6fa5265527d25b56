/* SPDX-License-Identifier: MIT */
#include "base/strlist.h"

#include <stdint.h>

static int grow(struct koda_strlist *texts, size_t cap)
{
	size_t *starts = reallocarray(texts->starts, cap, sizeof(*starts));

	if (!starts)
		return KODA_E_NOMEM;
	texts->starts = starts;
	texts->cap = cap;
	return KODA_OK;
}

int koda_strlist_reserve(struct koda_strlist *texts, size_t more, size_t bytes)
{
	char *room;
	int r = koda_buf_room(&texts->bytes, bytes, &room);

	if (r == KODA_OK && more > texts->cap - texts->count)
		r = more > SIZE_MAX - texts->count ? KODA_E_LIMIT
						   : grow(texts, texts->count + more);
	return r;
}

int koda_strlist_add(struct koda_strlist *texts, struct koda_span entry)
{
	size_t start = texts->bytes.len;
	char *room = NULL;
	int r = KODA_OK;

	if (texts->count == texts->cap)
		r = grow(texts, texts->cap ? 2 * texts->cap : 64);
	if (r == KODA_OK)
		r = entry.len < SIZE_MAX ? koda_buf_room(&texts->bytes, entry.len + 1, &room)
					 : KODA_E_LIMIT;
	if (r < 0)
		return r;
	if (entry.len > 0)
		memcpy(room, entry.ptr, entry.len);
	room[entry.len] = '\0';
	koda_buf_grew(&texts->bytes, entry.len + 1);
	texts->starts[texts->count++] = start;
	return KODA_OK;
}

struct koda_span koda_strlist_get(const struct koda_strlist *texts, size_t i)
{
	size_t end;

	if (i >= texts->count)
		return (struct koda_span){ NULL, 0 };
	end = i + 1 < texts->count ? texts->starts[i + 1] : texts->bytes.len;
	return (struct koda_span){ texts->bytes.ptr + texts->starts[i],
				   end - texts->starts[i] - 1 };
}

void koda_strlist_clear(struct koda_strlist *texts)
{
	size_t max = texts->bytes.max;

	koda_buf_clear(&texts->bytes);
	free(texts->starts);
	*texts = (struct koda_strlist)KODA_STRLIST_INIT(max);
}
