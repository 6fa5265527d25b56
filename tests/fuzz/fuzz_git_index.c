/* SPDX-License-Identifier: MIT */
/* T-92. The bytes of an index: the walk ends, shows paths that are strings, and names a shared
 * index as git does. */
#include "target.h"

#include "base/path.h"
#include "run/project/git_index.h"

#include <string.h>

static int see(void *ctx, struct koda_span path)
{
	size_t *left = ctx;

	CHECK(path.len > 0 && path.len <= KODA_PATH_MAX);
	CHECK(path.ptr[path.len] == '\0' && strlen(path.ptr) == path.len);
	CHECK(*left > 0);
	--*left;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t lens[] = { KODA_GIT_INDEX_SHA1, KODA_GIT_INDEX_SHA256 };
	struct koda_span bytes = { (const char *)data, size };

	for (size_t i = 0; i < 2; i++) {
		char shared[KODA_GIT_INDEX_SHARED] = "x";
		size_t left = size; /* an entry has more bytes than one */

		CHECK(koda_git_index_walk(bytes, lens[i], see, &left, shared) == 0);
		CHECK(shared[0] == '\0' || strlen(shared) == strlen("sharedindex.") + 2 * lens[i]);
		CHECK(!strchr(shared, '/'));
	}
	return 0;
}
