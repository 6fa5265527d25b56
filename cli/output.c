/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/show.h"

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

int koda_cli_add_escaped(struct koda_buf *out, struct koda_span text)
{
	return koda_show_text(out, text, "");
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

void koda_cli_advise(struct koda_error *err, const char *advice)
{
	size_t used = strlen(err->message);
	size_t room = sizeof(err->message) - used;
	int len = snprintf(err->message + used, room, "; %s", advice);

	if (len < 0 || (size_t)len >= room)
		err->message[used] = '\0';
}
