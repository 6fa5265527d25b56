/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include "base/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *koda_version(void)
{
	return KODA_VERSION;
}

const char *koda_code_name(int code)
{
	switch (code) {
	case KODA_OK:
		return "OK";
#define CODE_NAME(name, value, text)                                                               \
	case KODA_E_##name:                                                                        \
		return #name;
		KODA_CODES(CODE_NAME)
#undef CODE_NAME
	}
	return "UNKNOWN";
}

/* T-10. Copies text into out[size] with escapes; cuts between two characters or escapes. */
static void copy_escaped(char *out, size_t size, const char *text)
{
	struct koda_span rest = koda_span_of(text);
	size_t used = 0;

	while (rest.len) {
		size_t n = koda_escape_plain(rest);
		size_t need = n ? n : 4;

		if (used + need >= size)
			break;
		if (n)
			memcpy(out + used, rest.ptr, n);
		else
			(void)snprintf(out + used, 5, "\\x%02x", (unsigned char)rest.ptr[0]);
		used += need;
		rest = koda_span_skip(rest, n ? n : 1);
	}
	out[used] = '\0';
}

static KODA_PRINTF(5, 0) int fill(struct koda_error *err, int code, int sys_errno,
				  const char *field, const char *format, va_list args)
{
	char text[1024];
	char why[128];
	int len;

	if (!err)
		return code;
	err->code = code;
	err->sys_errno = sys_errno;
	copy_escaped(err->field, sizeof(err->field), field);
	len = vsnprintf(text, sizeof(text), format, args);
	if (len < 0)
		text[0] = '\0';
	copy_escaped(err->message, sizeof(err->message), text);
	if (sys_errno) {
		size_t used = strlen(err->message);

		/* The GNU variant is thread-safe and needs no buffer for known numbers. */
		(void)snprintf(err->message + used, sizeof(err->message) - used, ": %s",
			       strerror_r(sys_errno, why, sizeof(why)));
	}
	return code;
}

int koda_fail(struct koda_error *err, int code, int sys_errno, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	code = fill(err, code, sys_errno, "", format, args);
	va_end(args);
	return code;
}

int koda_fail_at(struct koda_error *err, int code, int sys_errno, const char *field,
		 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	code = fill(err, code, sys_errno, field, format, args);
	va_end(args);
	return code;
}

int koda_fail_nomem(struct koda_error *err)
{
	return koda_fail(err, KODA_E_NOMEM, 0, "out of memory");
}

int koda_fail_room(struct koda_error *err, int code, const char *what)
{
	if (code == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	return koda_fail(err, code, 0, "%s is too long", what);
}

/* Inserts front before text[size]. Keeps all of text, and as many whole characters of front as fit.
 */
static void put_before(char *text, size_t size, const char *front)
{
	size_t keep = strlen(text);
	size_t room = size - 1 - keep;
	size_t n = strlen(front);

	if (n > room) {
		n = room;
		while (n > 0 && ((unsigned char)front[n] & 0xc0) == 0x80)
			n--;
	}
	memmove(text + n, text, keep + 1);
	memcpy(text, front, n); /* NOLINT(bugprone-not-null-terminated-result): text follows */
}

void koda_error_prefix(struct koda_error *err, const char *format, ...)
{
	char raw[512];
	char safe[256];
	va_list args;
	int len;

	if (!err)
		return;
	va_start(args, format);
	len = vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	if (len < 0)
		return;
	copy_escaped(safe, sizeof(safe), raw);
	put_before(err->message, sizeof(err->message), safe);
}

void koda_error_within(struct koda_error *err, const char *outer)
{
	char safe[sizeof(err->field)];

	if (!err)
		return;
	copy_escaped(safe, sizeof(safe), outer);
	put_before(err->field, sizeof(err->field), safe);
}
