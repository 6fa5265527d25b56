/* SPDX-License-Identifier: MIT */
#include "unsound.h"

#include "base/buf.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALED (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static const struct way {
	const char *name;
	int seals;
	size_t cut;  /* bytes that are missing at the end; SIZE_MAX: all */
	bool broken; /* no plan begins so */
} ways[] = {
	{ "open", 0, 0, false },
	{ "writable", SEALED & ~F_SEAL_WRITE, 0, false },
	{ "unfinished", SEALED & ~F_SEAL_SEAL, 0, false },
	{ "empty", SEALED, SIZE_MAX, false },
	{ "short", SEALED, 1, false },
	{ "foreign", SEALED, 0, true },
};

int unsound_plan(struct koda_buf *bytes, const char *how)
{
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct way *way = &ways[i];
		size_t len = way->cut < bytes->len ? bytes->len - way->cut : 0;

		if (strcmp(way->name, how) != 0)
			continue;
		bytes->ptr[0] = (char)(bytes->ptr[0] ^ way->broken);
		if (fd >= 0 && write(fd, bytes->ptr, len) == (ssize_t)len &&
		    fcntl(fd, F_ADD_SEALS, way->seals) == 0)
			return fd;
	}
	(void)fprintf(stderr, "unsound: %s\n", how);
	exit(2);
}
