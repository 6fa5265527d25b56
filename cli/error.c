/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cli_error_place(struct koda_error *err, const char *format, ...)
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

void cli_error_advise(struct koda_error *err, const char *advice)
{
	size_t used = strlen(err->message);
	size_t room = sizeof(err->message) - used;
	int len = snprintf(err->message + used, room, "; %s", advice);

	if (len < 0 || (size_t)len >= room)
		err->message[used] = '\0';
}
