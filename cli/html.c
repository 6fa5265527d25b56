/* SPDX-License-Identifier: MIT */
#include "html.h"

#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Times behind the year 9999 are shown as its end. */
#define TIME_MAX 253402300799.0

void cli_html_raw(struct cli_html *html, const char *markup)
{
	if (html->failed == KODA_OK)
		html->failed = koda_buf_add(&html->out, markup, strlen(markup));
}

void cli_html_rawf(struct cli_html *html, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cli_html_raw(html, text);
}

/* Returns the character reference of a byte that is markup, or NULL. */
static const char *reference_of(char byte)
{
	switch (byte) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void cli_html_text(struct cli_html *html, const char *text)
{
	koda_auto_buf struct koda_buf plain = KODA_BUF_INIT((size_t)1 << 20);

	if (html->failed != KODA_OK || !text)
		return;
	html->failed = cli_output_escape(&plain, koda_span_of(text));
	for (size_t i = 0; i < plain.len && html->failed == KODA_OK; i++) {
		const char *reference = reference_of(plain.ptr[i]);

		if (reference)
			cli_html_raw(html, reference);
		else
			html->failed = koda_buf_add(&html->out, plain.ptr + i, 1);
	}
}

void cli_html_bytes(struct cli_html *html, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double amount = (double)bytes;
	size_t unit = 0;

	for (; amount >= 1024 && unit + 1 < KODA_ARRAY_LEN(units); unit++)
		amount /= 1024;
	cli_html_rawf(html, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

void cli_html_duration(struct cli_html *html, double ms)
{
	const double most = 1e15;
	const uint64_t all = ms > 0 ? (uint64_t)(ms < most ? ms : most) : 0;

	if (all < 1000)
		cli_html_rawf(html, "%u ms", (unsigned int)all);
	else if (all < 60000)
		cli_html_rawf(html, "%.1f s", (double)all / 1000);
	else
		cli_html_rawf(html, "%llu min %u s", (unsigned long long)(all / 60000),
			      (unsigned int)(all / 1000 % 60));
}

static struct tm to_tm(double time)
{
	const double bounded = time > TIME_MAX ? TIME_MAX : time > 0 ? time : 0;
	const time_t seconds = (time_t)bounded;
	struct tm tm = { 0 };

	(void)gmtime_r(&seconds, &tm);
	return tm;
}

void cli_html_clock(struct cli_html *html, double time)
{
	const struct tm tm = to_tm(time);

	cli_html_rawf(html, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void cli_html_date(struct cli_html *html, double time)
{
	const struct tm tm = to_tm(time);

	cli_html_rawf(html, "%04d-%02d-%02d ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	cli_html_clock(html, time);
	cli_html_raw(html, " UTC");
}
