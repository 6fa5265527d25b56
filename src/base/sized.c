/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include "base/error.h"

#include <string.h>

/* More than any release will have. A size that was not initialised is often more than this. */
#define SIZE_MAX_SANE 65536

static size_t size_of(const void *given)
{
	size_t size;

	memcpy(&size, given, sizeof(size));
	return size;
}

int koda_sized_check(const void *ret, size_t least, const char *name, struct koda_error *err)
{
	size_t size = size_of(ret);

	/* The struct is aligned like its first member, so its size is a multiple of that in every
	 * release. Any other size is no sizeof, and may end inside a member. */
	if (size < least || size > SIZE_MAX_SANE || size % _Alignof(size_t) != 0)
		return koda_fail_at(err, KODA_E_INVALID, 0, "size",
				    "%zu: set it to sizeof(struct %s)", size, name);
	return KODA_OK;
}

int koda_sized_take(void *known, size_t size, size_t least, const void *given, const char *name,
		    struct koda_error *err)
{
	size_t has = size_of(given);
	int r = koda_sized_check(given, least, name, err);

	if (r < 0)
		return r;
	for (size_t i = size; i < has; i++)
		if (((const char *)given)[i] != 0)
			return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, "size",
					    "struct %s asks for something that a later release of "
					    "the library knows; install that",
					    name);
	memset(known, 0, size);
	memcpy(known, given, has < size ? has : size);
	memcpy(known, &size, sizeof(size));
	return KODA_OK;
}

void koda_sized_give(void *ret, const void *known, size_t size)
{
	size_t has = size_of(ret);

	memcpy(ret, known, has < size ? has : size);
	if (has > size)
		memset((char *)ret + size, 0, has - size);
	memcpy(ret, &has, sizeof(has));
}
