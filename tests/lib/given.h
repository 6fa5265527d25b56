/* SPDX-License-Identifier: MIT */
/* A file system that exists only in a table, as the planner looks at it. */
#ifndef KODA_TEST_GIVEN_H
#define KODA_TEST_GIVEN_H

#include "../unit/koda_test.h"

#include "plan/fs_ops.h"

/* "d path", "l path" (a link), "f path" or "c path" (a directory that is closed to us, with what is
 * below it). */
struct given {
	const char *const *things;
};

/* there: it is a directory, also if it is not listed. What else is not listed does not exist. */
static inline void given_look(const struct given *given, const char *path, bool there,
			      struct koda_fs_stat *ret_look)
{
	*ret_look = (struct koda_fs_stat){ .type = there ? KODA_FILE_DIR : KODA_FILE_MISSING };
	for (const char *const *thing = given->things; *thing; thing++) {
		const char *name = *thing + 2;
		char kind = (*thing)[0];

		if (strcmp(name, path) == 0)
			ret_look->type = kind == 'd' || kind == 'c' ? KODA_FILE_DIR
					 : kind == 'l'              ? KODA_FILE_LINK
								    : KODA_FILE_OTHER;
		else if (kind == 'c' && strncmp(name, path, strlen(name)) == 0)
			ret_look->closed = path[strlen(name)] == '/';
	}
	if (ret_look->type != KODA_FILE_MISSING)
		ret_look->ino = strlen(path);
}

#endif
