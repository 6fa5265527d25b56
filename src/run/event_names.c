/* SPDX-License-Identifier: MIT */
#include "run/event_names.h"

const char *const koda_event_kind_names[KODA_VIOLATION_COUNT] = {
#define KIND_NAME(name, json, text) [KODA_VIOLATION_##name] = (json),
	KODA_VIOLATIONS(KIND_NAME)
#undef KIND_NAME
};

const char *const koda_event_source_names[KODA_SOURCE_COUNT] = {
#define SOURCE_NAME(name, text) [KODA_SOURCE_##name] = (text),
	KODA_SOURCES(SOURCE_NAME)
#undef SOURCE_NAME
};

const char *const koda_event_limit_names[KODA_LIMIT_COUNT] = {
#define LIMIT_NAME(name, text) [KODA_LIMIT_##name] = (text),
	KODA_LIMITS(LIMIT_NAME)
#undef LIMIT_NAME
};

const char *const koda_event_end_names[KODA_END_COUNT] = {
#define END_NAME(name, text) [KODA_END_##name] = (text),
	KODA_ENDS(END_NAME)
#undef END_NAME
};

const char *const koda_event_left_names[KODA_LEFT_COUNT] = {
#define LEFT_NAME(name, text) [KODA_LEFT_##name] = (text),
	KODA_LEFTS(LEFT_NAME)
#undef LEFT_NAME
};
