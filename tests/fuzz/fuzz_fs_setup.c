/* SPDX-License-Identifier: MIT */
/*
 * The file worker's set-up record. One that is accepted lies inside the bytes, and writing it again
 * gives these bytes. The magic and the version are put right, so that inputs get past them.
 */
#include "target.h"

#include "base/path.h"
#include "wire/fs_setup.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t start[] = { KODA_FS_SETUP_MAGIC, KODA_FS_SETUP_VERSION };
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup setup;
	char *bytes = malloc(size ? size : 1);

	CHECK(bytes);
	memcpy(bytes, data, size);
	if (size >= sizeof(start))
		memcpy(bytes, start, sizeof(start));
	if (koda_fs_setup_read((struct koda_span){ bytes, size }, &setup)) {
		CHECK(setup.root_count > 0 && setup.root_count <= KODA_FS_ROOTS_MAX);
		CHECK(setup.link_depth >= KODA_FS_LINKS_MIN);
		for (size_t i = 0; i < setup.root_count; i++)
			CHECK(koda_path_is_normal(setup.roots[i]));
		CHECK(koda_fs_setup_add(&again, &setup) == KODA_OK);
		CHECK(koda_span_eq(koda_buf_span(&again), (struct koda_span){ bytes, size }));
	}
	free(bytes);
	return 0;
}
