/* SPDX-License-Identifier: MIT */
/* The table of backends, in the order in which --backend auto tries them. */
#include "run/backend/backend.h"

#include "base/error.h"

#include <string.h>

static const struct {
	const char *name;
	const struct koda_backend *backend;
} backends[KODA_BACKEND_COUNT] = {
	[KODA_BACKEND_AUTO] = { "auto", NULL },
	[KODA_BACKEND_NATIVE] = { "native", &koda_backend_native },
	[KODA_BACKEND_BWRAP] = { "bwrap", &koda_backend_bwrap },
	[KODA_BACKEND_LANDLOCK] = { "landlock", &koda_backend_landlock },
};

const char *koda_backend_name(enum koda_backend_kind kind)
{
	return (unsigned int)kind < KODA_BACKEND_COUNT ? backends[kind].name : "?";
}

int koda_backend_parse(const char *text, enum koda_backend_kind *ret_kind, struct koda_error *err)
{
	for (int i = 0; i < KODA_BACKEND_COUNT; i++) {
		if (strcmp(backends[i].name, text) == 0) {
			*ret_kind = (enum koda_backend_kind)i;
			return KODA_OK;
		}
	}
	return koda_fail(err, KODA_E_INVALID, 0,
			 "'%.40s' is not a backend; there are auto, native, bwrap and landlock",
			 text);
}

const struct koda_backend *koda_backend_of(enum koda_backend_kind kind)
{
	return (unsigned int)kind < KODA_BACKEND_COUNT ? backends[kind].backend : NULL;
}

const struct koda_backend *koda_backend_unsandboxed(void)
{
	return &koda_backend_none;
}
