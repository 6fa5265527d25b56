/* SPDX-License-Identifier: MIT */
/*
 * Reads values of an event's JSON into members of struct koda_event. Each function is the read of a
 * struct koda_json_field: ctx is a struct koda_event_decoder, arg the offset of the member, or 0.
 */
#ifndef KODA_RUN_EVENT_VALUES_H
#define KODA_RUN_EVENT_VALUES_H

#include "policy/json.h"
#include "run/event_decode.h"

/* What is being read. */
struct koda_event_decoder {
	struct koda_decoded_event *decoded;
	bool complete; /* the field without which the event means nothing was there */
};

typedef int koda_event_read(void *ctx, int arg, const struct koda_json *value,
			    struct koda_error *err);

koda_event_read koda_event_read_text;
koda_event_read koda_event_read_path;
koda_event_read koda_event_read_needed_path;
/* The event means nothing without it. */
koda_event_read koda_event_read_needed;
koda_event_read koda_event_read_u64;
koda_event_read koda_event_read_double;
koda_event_read koda_event_read_port;
koda_event_read koda_event_read_status;
koda_event_read koda_event_read_bool;
koda_event_read koda_event_read_kind;
koda_event_read koda_event_read_source;
koda_event_read koda_event_read_trust;
koda_event_read koda_event_read_verdict;
koda_event_read koda_event_read_which;
koda_event_read koda_event_read_end;
koda_event_read koda_event_read_left;
koda_event_read koda_event_read_unseen;
koda_event_read koda_event_read_hint;
koda_event_read koda_event_read_limits;
koda_event_read koda_event_read_clauses;

#endif
