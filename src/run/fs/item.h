/* SPDX-License-Identifier: MIT */
/* Cuts the bytes of a result into entries, paths, hits and variables. */
#ifndef KODA_RUN_FS_ITEM_H
#define KODA_RUN_FS_ITEM_H

#include "base/buf.h"
#include "wire/fs_frame.h"

/* Returns true if the result of a request consists of items. */
bool koda_fs_item_is_result(enum koda_fs_op op);

enum koda_fs_item_found {
	KODA_FS_ITEM_MORE = 0, /* the item is not complete yet */
	KODA_FS_ITEM_WHOLE,
	KODA_FS_ITEM_WRONG /* no item of this request */
};

/* Reads the first item of bytes, which borrows from them; *ret_len is its length. */
enum koda_fs_item_found koda_fs_item_read(enum koda_fs_op op, struct koda_span bytes,
					  struct koda_fs_item *ret_item, size_t *ret_len);

#endif
