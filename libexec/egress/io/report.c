/* SPDX-License-Identifier: MIT */
#include "io/report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void egress_report_text(char *out, size_t size, struct koda_span text)
{
	size_t len = text.len < size ? text.len : size - 1;

	if (len > 0)
		memcpy(out, text.ptr, len);
	out[len] = '\0';
}

/* Returns false if the socket's buffer is full. Messages to a broken socket are discarded;
 * control.c notices its end. */
static bool send_one(const struct egress_reports *reports,
		     const struct koda_egress_message *message)
{
	return send(reports->fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

/* Returns whether an event may be queued. */
static bool has_share(const struct egress_reports *reports,
		      const struct koda_egress_message *message)
{
	size_t same = 0;

	if (reports->count >= EGRESS_REPORTS_EVENTS)
		return false;
	for (size_t i = 0; i < reports->count; i++)
		same += reports->waiting[(reports->first + i) % EGRESS_REPORTS_MAX].id ==
			message->id;
	return same < EGRESS_REPORTS_SHARE;
}

static bool keep(struct egress_reports *reports, const struct koda_egress_message *message)
{
	if (!reports->waiting)
		reports->waiting = calloc(EGRESS_REPORTS_MAX, sizeof(*reports->waiting));
	if (!reports->waiting || reports->count >= EGRESS_REPORTS_MAX)
		return false;
	if (message->kind == KODA_EGRESS_EVENT && !has_share(reports, message))
		return false;
	if (message->kind == KODA_EGRESS_ASK && reports->count >= EGRESS_REPORTS_ASKS)
		return false;
	if (reports->count == 0 && reports->block)
		reports->block(reports, true);
	reports->waiting[(reports->first + reports->count) % EGRESS_REPORTS_MAX] = *message;
	reports->count++;
	return true;
}

bool egress_report(struct egress_reports *reports, struct koda_egress_message *message)
{
	message->magic = KODA_EGRESS_MAGIC;
	return (reports->count == 0 && send_one(reports, message)) || keep(reports, message);
}

void egress_report_event(struct egress_reports *reports, struct koda_egress_message *message,
			 uint32_t *dropped)
{
	message->dropped = *dropped;
	if (egress_report(reports, message))
		*dropped = 0;
	else if (*dropped < UINT32_MAX)
		++*dropped;
}

void egress_reports_flush(struct egress_reports *reports)
{
	while (reports->count > 0 && send_one(reports, &reports->waiting[reports->first])) {
		reports->first = (reports->first + 1) % EGRESS_REPORTS_MAX;
		reports->count--;
	}
	if (reports->count == 0 && reports->waiting) {
		egress_reports_clear(reports);
		if (reports->block)
			reports->block(reports, false);
	}
}

void egress_reports_clear(struct egress_reports *reports)
{
	koda_free_ptr(&reports->waiting);
	reports->first = 0;
	reports->count = 0;
}
