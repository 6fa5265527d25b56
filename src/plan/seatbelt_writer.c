/* SPDX-License-Identifier: MIT */
#include "plan/seatbelt_writer.h"

void koda_seatbelt_put(struct koda_seatbelt_writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(w->out, text, strlen(text));
}

static void put_bytes(struct koda_seatbelt_writer *w, const char *bytes, size_t len)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(w->out, bytes, len);
}

/* A quote or a backslash would change how the rest is read. Other bytes that are no printable ASCII
 * are written as \xNN, which has two digits here: so a byte means itself, whether or not it is part
 * of a UTF-8 character, and the profile is a line of text for every rule. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void koda_seatbelt_put_string(struct koda_seatbelt_writer *w, struct koda_span bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t begin = 0;

	put_bytes(w, "\"", 1);
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];
		const char escape[] = { '\\', 'x', digits[c >> 4], digits[c & 15] };

		if (is_plain(c))
			continue;
		put_bytes(w, bytes.ptr + begin, i - begin);
		put_bytes(w, escape, sizeof(escape));
		begin = i + 1;
	}
	put_bytes(w, bytes.ptr + begin, bytes.len - begin);
	put_bytes(w, "\"", 1);
}

void koda_seatbelt_begin(struct koda_seatbelt_writer *w, bool allow, const char *operations)
{
	koda_seatbelt_put(w, allow ? "(allow " : "(deny ");
	koda_seatbelt_put(w, operations);
	if (!allow && w->tagged)
		koda_seatbelt_put(w, " (with message \"" KODA_SEATBELT_MARK "\")");
}

void koda_seatbelt_filter(struct koda_seatbelt_writer *w, const char *filter, struct koda_span path)
{
	koda_seatbelt_put(w, " (");
	koda_seatbelt_put(w, filter);
	koda_seatbelt_put(w, " ");
	koda_seatbelt_put_string(w, path);
	koda_seatbelt_put(w, ")");
}

void koda_seatbelt_end(struct koda_seatbelt_writer *w, const char *why)
{
	koda_seatbelt_put(w, ")");
	if (why) {
		koda_seatbelt_put(w, " ; ");
		koda_seatbelt_put(w, why);
	}
	koda_seatbelt_put(w, "\n");
}

void koda_seatbelt_rule(struct koda_seatbelt_writer *w, bool allow, const char *operations,
			const char *filter, struct koda_span path, const char *why)
{
	koda_seatbelt_begin(w, allow, operations);
	koda_seatbelt_filter(w, filter, path);
	koda_seatbelt_end(w, why);
}
