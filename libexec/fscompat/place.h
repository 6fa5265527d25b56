/* SPDX-License-Identifier: MIT */
/* What the path and pattern of a client mean to the file worker. */
#ifndef FSCOMPAT_PLACE_H
#define FSCOMPAT_PLACE_H

#include "request.h"

struct fscompat_place {
	char *path;              /* owned; absolute, or empty for requests without one */
	struct koda_span text;   /* as in struct koda_fs_request; borrowed from the request */
	struct koda_span prefix; /* GLOB, GREP: stands in front of each path that is found */
	const char *separator;   /* between them: "/" or "" */
};

#define FSCOMPAT_PLACE_INIT                                                                        \
	{                                                                                          \
		.separator = ""                                                                    \
	}
void fscompat_place_clear(struct fscompat_place *place);
#define fscompat_auto_place __attribute__((cleanup(fscompat_place_clear)))

/* Finds what a request means. Relative paths begin at cwd. A pattern of GLOB that is absolute is
 * cut before its first component with a wildcard. Fails: NOMEM. */
KODA_CHECK int fscompat_place_find(const char *cwd, const struct fscompat_request *request,
				   struct fscompat_place *place, struct koda_error *err);

#endif
