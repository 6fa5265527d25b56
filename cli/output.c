/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int koda_cli_print(const char *bytes, size_t len, struct koda_error *err)
{
	int r = koda_fd_write_all(STDOUT_FILENO, bytes, len, err);

	if (r < 0)
		koda_cli_blame(err, "standard output");
	return r;
}

/* Length of a sequence that is safe to show at s[0..len), 0 if its first byte is not. s is cut out
 * of valid UTF-8 or judged byte by byte. */
static size_t safe_sequence(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n > len || !koda_utf8_is_valid((struct koda_span){ (const char *)s, n }))
		return 0;
	if (n == 1)
		return s[0] >= 0x20 && s[0] < 0x7f ? 1 : 0;
	/* C1 controls; line separators and direction marks (U+2000 to U+207F). */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe2 && (s[1] == 0x80 || s[1] == 0x81)))
		return 0;
	return n;
}

int koda_cli_add_escaped(struct koda_buf *out, struct koda_span text)
{
	for (size_t i = 0; i < text.len;) {
		const unsigned char *s = (const unsigned char *)text.ptr + i;
		size_t n = safe_sequence(s, text.len - i);
		int r = n ? koda_buf_add(out, s, n) : koda_buf_addf(out, "\\x%02x", s[0]);

		if (r < 0)
			return r;
		i += n ? n : 1;
	}
	return KODA_OK;
}

/* One byte of a JSON string. */
static int add_json_byte(struct koda_buf *out, unsigned char c, bool percent)
{
	if (percent && (c < 0x20 || c >= 0x7f || c == '%'))
		return koda_buf_addf(out, "%%%02X", c);
	if (c < 0x20 || c == 0x7f)
		return koda_buf_addf(out, "\\u%04X", c);
	if (c == '"' || c == '\\')
		return koda_buf_addf(out, "\\%c", c);
	return koda_buf_add(out, &c, 1);
}

int koda_cli_add_json(struct koda_buf *out, struct koda_span text)
{
	bool percent = !koda_utf8_is_valid(text);
	int r = koda_buf_addf(out, percent ? "\"%%" : "\"");

	for (size_t i = 0; r == KODA_OK && i < text.len; i++)
		r = add_json_byte(out, (unsigned char)text.ptr[i], percent);
	return r < 0 ? r : koda_buf_add(out, "\"", 1);
}

void koda_cli_blame(struct koda_error *err, const char *format, ...)
{
	const struct koda_error inner = *err;
	char place[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(place, sizeof(place), format, args);
	va_end(args);
	if (len < 0)
		place[0] = '\0';
	(void)koda_fail_at(err, inner.code, 0, place, "%s", inner.message);
	err->sys_errno = inner.sys_errno;
	if (inner.field[0])
		koda_error_prefix(err, "%s: ", inner.field);
}
