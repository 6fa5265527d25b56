/* SPDX-License-Identifier: MIT */
/* T-105. Writing HTML: text that came from inside a sandbox cannot become markup. */
#ifndef KODA_CLI_HTML_H
#define KODA_CLI_HTML_H

#include "base/buf.h"
#include "base/macros.h"

#include <stdint.h>

/* Keeps the first failure, so that callers check once at the end. */
struct cli_html {
	struct koda_buf out;
	int failed;
};

/* Appends markup of our own. */
void cli_html_raw(struct cli_html *html, const char *markup);
void cli_html_rawf(struct cli_html *html, const char *format, ...) KODA_PRINTF(2, 3);
/* Appends any bytes as text, also fit for an attribute in double quotes: what would be markup is a
 * character reference, what would deceive a reader is \xNN. NULL is nothing. */
void cli_html_text(struct cli_html *html, const char *text);
/* Appends an amount of bytes, a duration, a time of day (UTC), a date. */
void cli_html_bytes(struct cli_html *html, uint64_t bytes);
void cli_html_duration(struct cli_html *html, double ms);
void cli_html_clock(struct cli_html *html, double time);
void cli_html_date(struct cli_html *html, double time);

#endif
