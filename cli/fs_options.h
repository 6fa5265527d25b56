/* SPDX-License-Identifier: MIT */
/* The command line of koda-sandbox fs: options of run, an operation, its own options, operands. */
#ifndef KODA_CLI_FS_OPTIONS_H
#define KODA_CLI_FS_OPTIONS_H

#include "request.h"

#include <koda/fs.h>

struct cli_fs {
	struct cli_request request; /* the options of run */
	enum koda_fs_op op;
	uint32_t flags;       /* enum koda_fs_flag */
	const char *include;  /* --include; NULL: all files. Borrowed from argv, as operands are */
	char *const *operand; /* of the operation */
};

#define CLI_FS_INIT                                                                                \
	{                                                                                          \
		.request = CLI_REQUEST_INIT(CLI_TO_RUN)                                            \
	}

/* Reads the command line. Returns 1, or 0 if the help was printed. Fails: INVALID, and as
 * cli_request_take. */
KODA_CHECK int cli_fs_options_read(const struct cli_call *call, struct cli_fs *fs,
				   struct koda_error *err);

#endif
