/* SPDX-License-Identifier: MIT */
#include "cli.h"

void cli_error_print(const struct koda_error *err)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);

	if (koda_buf_addf(&line, CLI_PROGRAM ": ") < 0 ||
	    cli_output_escape(&line, koda_span_of(err->field)) < 0 ||
	    koda_buf_addf(&line, err->field[0] ? ": " : "") < 0 ||
	    cli_output_escape(&line, koda_span_of(err->message)) < 0 ||
	    koda_buf_addf(&line, "\n") < 0) {
		static const char plain[] = CLI_PROGRAM ": out of memory\n";

		cli_output_warn(plain, sizeof(plain) - 1);
		return;
	}
	/* If this write fails, no message is possible. */
	cli_output_warn(line.ptr, line.len);
}
