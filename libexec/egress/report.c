/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void koda_report_text(char *out, size_t size, struct koda_span text)
{
	size_t len = text.len < size ? text.len : size - 1;

	if (len > 0)
		memcpy(out, text.ptr, len);
	out[len] = '\0';
}

/* False: not now. A socket that failed takes everything; its end is noticed elsewhere. */
static bool send_one(const struct koda_reports *reports, const struct koda_egress_message *message)
{
	return send(reports->fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

static bool keep(struct koda_reports *reports, const struct koda_egress_message *message)
{
	size_t max = message->kind == KODA_EGRESS_EVENT ? KODA_REPORTS_EVENTS : KODA_REPORTS_MAX;

	if (!reports->waiting)
		reports->waiting = calloc(KODA_REPORTS_MAX, sizeof(*reports->waiting));
	if (!reports->waiting || reports->count >= max)
		return false;
	reports->waiting[(reports->first + reports->count) % KODA_REPORTS_MAX] = *message;
	reports->count++;
	return true;
}

bool koda_report(struct koda_reports *reports, struct koda_egress_message *message)
{
	bool event = message->kind == KODA_EGRESS_EVENT;

	message->magic = KODA_EGRESS_MAGIC;
	message->dropped = event ? reports->dropped : 0;
	if ((reports->count > 0 || !send_one(reports, message)) && !keep(reports, message)) {
		reports->dropped += event;
		return false;
	}
	if (event)
		reports->dropped = 0;
	return true;
}

void koda_reports_flush(struct koda_reports *reports)
{
	while (reports->count > 0 && send_one(reports, &reports->waiting[reports->first])) {
		reports->first = (reports->first + 1) % KODA_REPORTS_MAX;
		reports->count--;
	}
	if (reports->count == 0)
		koda_reports_clear(reports);
}

void koda_reports_clear(struct koda_reports *reports)
{
	koda_free_ptr(&reports->waiting);
	reports->first = 0;
	reports->count = 0;
}
