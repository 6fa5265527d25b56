/* SPDX-License-Identifier: MIT */
/* T-92. The bytes of an index: the walk ends, shows paths that are strings, and names a shared
 * index as git does. */
#include "target.h"

#include "base/path.h"
#include "run/project/git_index.h"

#include <koda/error.h>
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
	struct koda_span bytes = { (const char *)data, size };

	for (unsigned int i = 0; i < 8; i++) {
		struct koda_git_index index = { .hash_len = i & 1 ? KODA_GIT_INDEX_SHA256
								  : KODA_GIT_INDEX_SHA1,
						.is_shared = i & 2,
						.see_all = i & 4 };
		size_t left = size; /* an entry has more bytes than one */
		int r = koda_git_index_walk(&index, bytes, see, &left);

		CHECK(r == KODA_OK || r == KODA_E_INVALID);
		if (r < 0)
			continue;
		CHECK(index.shared[0] == '\0' ||
		      strlen(index.shared) == strlen("sharedindex.") + 2 * index.hash_len);
		CHECK(!strchr(index.shared, '/') && !(index.is_shared && index.shared[0]));
		CHECK(!index.has_unnamed || index.shared[0]);
		/* Nothing can be added to an index, and nothing is missing in it. */
		bytes.len--;
		CHECK(koda_git_index_walk(&index, bytes, see, &left) == KODA_E_INVALID);
		bytes.len++;
	}
	return 0;
}
