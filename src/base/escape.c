/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Code points that are always escaped, in ascending order. */
static const struct {
	uint32_t first;
	uint32_t last;
} unsafe[] = {
	{ 0x0000, 0x001f },   /* controls */
	{ 0x007f, 0x009f },   /* delete and the second set of controls */
	{ 0x00ad, 0x00ad },   /* soft hyphen */
	{ 0x061c, 0x061c },   /* Arabic letter mark */
	{ 0x180e, 0x180e },   /* Mongolian vowel separator */
	{ 0x2000, 0x200f },   /* spaces of odd widths and of none, joiners, direction marks */
	{ 0x2028, 0x202f },   /* line separators, embeddings and overrides of direction */
	{ 0x205f, 0x206f },   /* invisible operators, direction isolates */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* interlinear annotation */
	{ 0xe0000, 0xe0fff }, /* tags and the second set of variation selectors */
};

static bool is_unsafe(uint32_t code)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(unsafe) && code >= unsafe[i].first; i++)
		if (code <= unsafe[i].last)
			return true;
	return false;
}

/* Decodes the first character of text (not empty). Returns its length, or 0 if it is not UTF-8. */
static size_t decode(struct koda_span text, uint32_t *ret_code)
{
	const unsigned char *s = (const unsigned char *)text.ptr;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n > text.len || !koda_utf8_is_valid((struct koda_span){ text.ptr, n }))
		return 0;
	*ret_code = n == 1 ? s[0] : s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++)
		*ret_code = *ret_code << 6 | (s[i] & 0x3fU);
	return n;
}

size_t koda_escape_plain(struct koda_span text)
{
	uint32_t code = 0;
	size_t n = text.len ? decode(text, &code) : 0;

	return n && !is_unsafe(code) ? n : 0;
}

int koda_escape_text(struct koda_buf *out, struct koda_span text, const char *also)
{
	int r = KODA_OK;

	while (text.len && r == KODA_OK) {
		size_t n = koda_escape_plain(text);

		if (n == 1 && strchr(also, text.ptr[0]))
			n = 0;
		r = n ? koda_buf_add(out, text.ptr, n)
		      : koda_buf_addf(out, "\\x%02x", (unsigned char)text.ptr[0]);
		text = koda_span_skip(text, n ? n : 1);
	}
	return r;
}

/* Appends \u escapes; JSON needs a pair of surrogates above U+FFFF. */
static int add_unicode(struct koda_buf *out, uint32_t code)
{
	if (code <= 0xffff)
		return koda_buf_addf(out, "\\u%04X", code);
	code -= 0x10000;
	return koda_buf_addf(out, "\\u%04X\\u%04X", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

int koda_escape_json(struct koda_buf *out, struct koda_span text)
{
	size_t shown = 0;
	int r = KODA_OK;

	/* An empty text may have no pointer. */
	if (text.len == 0)
		return KODA_OK;
	for (size_t i = 0; i < text.len && r == KODA_OK;) {
		struct koda_span rest = koda_span_skip(text, i);
		bool quoted = rest.ptr[0] == '"' || rest.ptr[0] == '\\';
		uint32_t code = 0;
		size_t n = decode(rest, &code);

		if (n && !quoted && !is_unsafe(code)) {
			i += n;
			continue;
		}
		r = koda_buf_add(out, text.ptr + shown, i - shown);
		if (r == KODA_OK && quoted)
			r = koda_buf_addf(out, "\\%c", rest.ptr[0]);
		else if (r == KODA_OK)
			r = add_unicode(out, n ? code : 0xfffd);
		i += n ? n : 1;
		shown = i;
	}
	return r < 0 ? r : koda_buf_add(out, text.ptr + shown, text.len - shown);
}

/* Appends text that is not UTF-8, in the "%" form. */
static int add_percent(struct koda_buf *out, struct koda_span text)
{
	int r = koda_buf_add(out, "%", 1);

	for (size_t i = 0; r == KODA_OK && i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c < 0x20 || c >= 0x7f || c == '%')
			r = koda_buf_addf(out, "%%%02X", c);
		else
			r = koda_escape_json(out, (struct koda_span){ text.ptr + i, 1 });
	}
	return r;
}

int koda_escape_json_string(struct koda_buf *out, struct koda_span text)
{
	int r = koda_buf_add(out, "\"", 1);

	if (r == KODA_OK)
		r = koda_utf8_is_valid(text) ? koda_escape_json(out, text) : add_percent(out, text);
	return r < 0 ? r : koda_buf_add(out, "\"", 1);
}
