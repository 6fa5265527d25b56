/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include "base/error.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "frame.h"

/* The most of a path that an error shows. */
#define PATH_SHOWN ((size_t)4096)
/* U+FFFD */
#define REPLACEMENT "\xef\xbf\xbd"

static const char *const codes[] = {
#define FSCOMPAT_CODE_TEXT(name, text) text,
	FSCOMPAT_CODES(FSCOMPAT_CODE_TEXT)
#undef FSCOMPAT_CODE_TEXT
};

void fscompat_reply_clear(struct fscompat_reply *reply)
{
	koda_buf_clear(&reply->frame);
}

static void note(struct fscompat_reply *reply, int r)
{
	if (r < 0 && reply->failure == KODA_OK)
		reply->failure = r;
}

static void add_bytes(struct fscompat_reply *reply, const char *bytes, size_t len)
{
	if (reply->failure == KODA_OK)
		note(reply, koda_buf_add(&reply->frame, bytes, len));
}

void fscompat_reply_begin(struct fscompat_reply *reply, const char *text)
{
	static const char head[FSCOMPAT_FRAME_HEAD];

	koda_buf_clear(&reply->frame);
	reply->frame = (struct koda_buf)KODA_BUF_INIT(FSCOMPAT_FRAME_HEAD + FSCOMPAT_FRAME_MAX);
	reply->failure = KODA_OK;
	reply->has_elements = false;
	add_bytes(reply, head, sizeof(head));
	fscompat_reply_add(reply, text);
}

void fscompat_reply_add(struct fscompat_reply *reply, const char *text)
{
	add_bytes(reply, text, strlen(text));
}

/* A file is written number by number, so this does without printf. */
void fscompat_reply_number(struct fscompat_reply *reply, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	add_bytes(reply, digits + at, sizeof(digits) - at);
}

/* Returns the length of the first character of text, or 0 if its first byte begins none. */
static size_t character_len(struct koda_span text)
{
	for (size_t len = 1; len <= 4 && len <= text.len; len++)
		if (koda_utf8_is_valid((struct koda_span){ text.ptr, len }))
			return len;
	return 0;
}

static void add_replaced(struct fscompat_reply *reply, struct koda_span text)
{
	while (text.len > 0 && reply->failure == KODA_OK) {
		size_t len = character_len(text);
		struct koda_span character = { text.ptr, len };

		if (len == 0)
			character = koda_span_of(REPLACEMENT);
		note(reply, koda_escape_json(&reply->frame, character));
		text = koda_span_skip(text, len ? len : 1);
	}
}

void fscompat_reply_string(struct fscompat_reply *reply, struct koda_span text)
{
	fscompat_reply_add(reply, "\"");
	if (!koda_utf8_is_valid(text))
		add_replaced(reply, text);
	else if (reply->failure == KODA_OK)
		note(reply, koda_escape_json(&reply->frame, text));
	fscompat_reply_add(reply, "\"");
}

void fscompat_reply_element(struct fscompat_reply *reply)
{
	if (reply->has_elements)
		fscompat_reply_add(reply, ",");
	reply->has_elements = true;
}

void fscompat_reply_error(struct fscompat_reply *reply, enum fscompat_code code,
			  struct koda_span path, const char *message)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(2 * PATH_SHOWN);

	if (path.len > PATH_SHOWN)
		path.len = PATH_SHOWN;
	fscompat_reply_begin(reply, "{\"kind\":\"error\",\"code\":\"");
	fscompat_reply_add(reply, codes[code]);
	fscompat_reply_add(reply, "\",\"message\":");
	if (path.len > 0) {
		note(reply, koda_buf_add(&text, path.ptr, path.len));
		note(reply, koda_buf_add(&text, ": ", 2));
	}
	note(reply, koda_buf_add(&text, message, strlen(message)));
	fscompat_reply_string(reply, koda_buf_span(&text));
}

int fscompat_reply_end(struct fscompat_reply *reply, struct koda_error *err)
{
	fscompat_reply_add(reply, "}");
	if (reply->failure == KODA_E_LIMIT) {
		fscompat_reply_error(reply, FSCOMPAT_CODE_IO, (struct koda_span){ NULL, 0 },
				     "the reply would be over 1 MiB");
		fscompat_reply_add(reply, "}");
	}
	if (reply->failure < 0)
		return koda_fail_nomem(err);
	fscompat_frame_seal(&reply->frame);
	return KODA_OK;
}
