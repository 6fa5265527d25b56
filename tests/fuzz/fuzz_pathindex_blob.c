/* SPDX-License-Identifier: MIT */
/*
 * Path rules as a process of its own reads them. What is accepted gives, written again and read
 * again, as many paths and the same marks. The head is put right first, so that inputs get past it.
 */
#include "target.h"

#include "policy/pathindex_blob.h"

#include <string.h>

static void check_blob(struct koda_span blob)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	koda_auto_pathindex struct koda_pathindex back = KODA_PATHINDEX_INIT;
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(SIZE_MAX);

	if (koda_pathindex_blob_read(blob, &index, NULL) != KODA_OK) {
		CHECK(index.texts.count == 0 && !index.nodes);
		return;
	}
	CHECK(koda_pathindex_blob_add(&index, &again) == KODA_OK);
	CHECK(again.len == blob.len);
	CHECK(koda_pathindex_blob_read(koda_buf_span(&again), &back, NULL) == KODA_OK);
	CHECK(back.texts.count == index.texts.count && back.marks == index.marks);
	for (size_t i = 0; i < index.texts.count; i++) {
		struct koda_span path = koda_strlist_get(&index.texts, i);

		CHECK(koda_path_is_normal(path) && koda_pathindex_leads_to(&back, path));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_pathindex_blob_head head;
	char *bytes = malloc(size ? size : 1);

	CHECK(bytes);
	memcpy(bytes, data, size);
	check_blob((struct koda_span){ bytes, size });
	if (size >= sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
		head.magic = KODA_PATHINDEX_BLOB_MAGIC;
		head.version = KODA_PATHINDEX_BLOB_VERSION;
		head.count &= 0xf;
		head.bytes = (uint32_t)(size - sizeof(head)) -
			     head.count * (uint32_t)sizeof(struct koda_pathindex_blob_entry);
		memcpy(bytes, &head, sizeof(head));
		check_blob((struct koda_span){ bytes, size });
	}
	free(bytes);
	return 0;
}
