/* SPDX-License-Identifier: MIT */
/*
 * Messages to the host. They are sent at once or wait in a queue; when a host does not read, events
 * are dropped and counted for the sandbox they are of, and the proxy goes on. No sandbox can take
 * more than its share of the queue, so that one which makes many events silences no other.
 */
#ifndef KODA_EGRESS_REPORT_H
#define KODA_EGRESS_REPORT_H

#include "base/buf.h"
#include "wire/egress.h"

#include <stdbool.h>

#define KODA_REPORTS_EVENTS 512 /* events that may wait */
#define KODA_REPORTS_SHARE  256 /* of those, of one sandbox */
#define KODA_REPORTS_ASKS   576 /* with questions; one that is lost is answered with no */
#define KODA_REPORTS_MAX    640 /* with answers to orders, which must not be lost */

struct koda_reports {
	int fd;                              /* borrowed: the control socket */
	struct koda_egress_message *waiting; /* owned ring of KODA_REPORTS_MAX, made when needed */
	void (*block)(struct koda_reports *reports, bool waits); /* messages wait, or none does */
	size_t first;
	size_t count;
};

/* Copies as much as fits, and terminates. */
void koda_report_text(char *out, size_t size, struct koda_span text);
#define KODA_REPORT_TEXT(field, span) koda_report_text((field), sizeof(field), (span))

/* Sends message (its magic is filled in) or keeps it. False: it is lost. */
bool koda_report(struct koda_reports *reports, struct koda_egress_message *message);
/* The same for an event of a sandbox. *dropped counts those that were lost since the last that was
 * not, which tells of them. */
void koda_report_event(struct koda_reports *reports, struct koda_egress_message *message,
		       uint32_t *dropped);
/* The socket can take more. */
void koda_reports_flush(struct koda_reports *reports);
void koda_reports_clear(struct koda_reports *reports);

#endif
