/* SPDX-License-Identifier: MIT */
/* T-10. What koda-sandbox fs prints: lines for people, or objects with --json. */
#ifndef KODA_CLI_FS_PRINT_H
#define KODA_CLI_FS_PRINT_H

#include "cli.h"

#include <koda/fs.h>

struct cli_fs_print {
	enum koda_fs_op op;
	bool json;
	const char *path;          /* of stat; borrowed */
	struct koda_buf lines;     /* not printed yet */
	struct koda_buf content;   /* of a file, with json */
	struct koda_error failure; /* of a callback, if code is not KODA_OK */
};

/* The content of a file that is printed as JSON. */
#define CLI_FS_CONTENT_MAX ((size_t)64 << 20)

#define CLI_FS_PRINT_INIT                                                                          \
	{                                                                                          \
		.lines = KODA_BUF_INIT((size_t)8 << 20),                                           \
		.content = KODA_BUF_INIT(CLI_FS_CONTENT_MAX)                                       \
	}
void cli_fs_print_clear(struct cli_fs_print *print);

/* Callbacks of a request whose ctx is a struct cli_fs_print. */
int cli_fs_print_content(void *print, const char *bytes, size_t len);
int cli_fs_print_item(void *print, const struct koda_fs_item *item);

/* Prints what is left when a request has succeeded. Fails: SYS, NOMEM. */
KODA_CHECK int cli_fs_print_reply(struct cli_fs_print *print, const struct koda_fs_reply *reply,
				  struct koda_error *err);

#endif
