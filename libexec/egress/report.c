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

/* Whether an event may wait too. */
static bool has_share(const struct koda_reports *reports, const struct koda_egress_message *message)
{
	size_t same = 0;

	if (reports->count >= KODA_REPORTS_EVENTS)
		return false;
	for (size_t i = 0; i < reports->count; i++)
		same += reports->waiting[(reports->first + i) % KODA_REPORTS_MAX].id == message->id;
	return same < KODA_REPORTS_SHARE;
}

static bool keep(struct koda_reports *reports, const struct koda_egress_message *message)
{
	if (!reports->waiting)
		reports->waiting = calloc(KODA_REPORTS_MAX, sizeof(*reports->waiting));
	if (!reports->waiting || reports->count >= KODA_REPORTS_MAX)
		return false;
	if (message->kind == KODA_EGRESS_EVENT && !has_share(reports, message))
		return false;
	if (message->kind == KODA_EGRESS_ASK && reports->count >= KODA_REPORTS_ASKS)
		return false;
	if (reports->count == 0 && reports->block)
		reports->block(reports, true);
	reports->waiting[(reports->first + reports->count) % KODA_REPORTS_MAX] = *message;
	reports->count++;
	return true;
}

bool koda_report(struct koda_reports *reports, struct koda_egress_message *message)
{
	message->magic = KODA_EGRESS_MAGIC;
	return (reports->count == 0 && send_one(reports, message)) || keep(reports, message);
}

void koda_report_event(struct koda_reports *reports, struct koda_egress_message *message,
		       uint32_t *dropped)
{
	message->dropped = *dropped;
	if (koda_report(reports, message))
		*dropped = 0;
	else if (*dropped < UINT32_MAX)
		++*dropped;
}

void koda_reports_flush(struct koda_reports *reports)
{
	while (reports->count > 0 && send_one(reports, &reports->waiting[reports->first])) {
		reports->first = (reports->first + 1) % KODA_REPORTS_MAX;
		reports->count--;
	}
	if (reports->count == 0 && reports->waiting) {
		koda_reports_clear(reports);
		if (reports->block)
			reports->block(reports, false);
	}
}

void koda_reports_clear(struct koda_reports *reports)
{
	koda_free_ptr(&reports->waiting);
	reports->first = 0;
	reports->count = 0;
}
