/* SPDX-License-Identifier: MIT */
/* The names in JSON of what events say, by the numbers of <koda/event.h>. */
#ifndef KODA_RUN_EVENT_NAMES_H
#define KODA_RUN_EVENT_NAMES_H

#include <koda/event.h>

extern const char *const koda_event_kind_names[KODA_VIOLATION_COUNT];
extern const char *const koda_event_source_names[KODA_SOURCE_COUNT];
extern const char *const koda_event_limit_names[KODA_LIMIT_COUNT];
extern const char *const koda_event_end_names[KODA_END_COUNT];
extern const char *const koda_event_left_names[KODA_LEFT_COUNT];

#endif
