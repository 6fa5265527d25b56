/* SPDX-License-Identifier: MIT */
/*
 * T-105. Events from text. Lines may come from anywhere: values are checked as strictly as those of
 * a policy, but unknown keys are passed over, because later releases add fields.
 */
#include "run/event_decode.h"

#include "base/buf.h"
#include "base/error.h"
#include "policy/json.h"
#include "run/event_values.h"

#include <stddef.h>

#define DEPTH_MAX 8

#define AT(member) (int)offsetof(struct koda_event, member)
#define COMMON                                                                                     \
	{ "time", koda_event_read_double, AT(time) },                                              \
	{                                                                                          \
		"id", koda_event_read_text, AT(id)                                                 \
	}

/* The fields of each type of event. */
static const struct koda_json_field start_fields[] = {
	COMMON,
	{ "backend", koda_event_read_needed, AT(data.start.backend) },
	{ "trust", koda_event_read_trust, 0 },
	{ "tls", koda_event_read_text, AT(data.start.tls) },
	{ "denials", koda_event_read_source, AT(data.start.denials) },
	{ "denials_why", koda_event_read_text, AT(data.start.denials_why) },
	{ "command", koda_event_read_text, AT(data.start.command) },
	{ "clauses", koda_event_read_clauses, 0 },
	{ "limits", koda_event_read_limits, 0 },
};
static const struct koda_json_field violation_fields[] = {
	COMMON,
	{ "kind", koda_event_read_kind, 0 },
	{ "target", koda_event_read_path, AT(data.violation.target) },
	{ "rule", koda_event_read_text, AT(data.violation.rule) },
	{ "source", koda_event_read_source, AT(data.violation.source) },
	{ "command", koda_event_read_text, AT(data.violation.command) },
	{ "call", koda_event_read_text, AT(data.violation.call) },
	{ "process", koda_event_read_text, AT(data.violation.process) },
	{ "hint", koda_event_read_hint, AT(data.violation.hint) },
	{ "dropped", koda_event_read_u64, AT(data.violation.dropped) },
};
static const struct koda_json_field egress_fields[] = {
	COMMON,
	{ "host", koda_event_read_needed, AT(data.egress.host) },
	{ "port", koda_event_read_port, AT(data.egress.port) },
	{ "address", koda_event_read_text, AT(data.egress.address) },
	{ "tls_name", koda_event_read_text, AT(data.egress.tls_name) },
	{ "verdict", koda_event_read_verdict, 0 },
	{ "reason", koda_event_read_text, AT(data.egress.reason) },
	{ "rule", koda_event_read_text, AT(data.egress.rule) },
	{ "method", koda_event_read_text, AT(data.egress.method) },
	{ "path", koda_event_read_text, AT(data.egress.path) },
	{ "bytes_up", koda_event_read_u64, AT(data.egress.bytes_up) },
	{ "bytes_down", koda_event_read_u64, AT(data.egress.bytes_down) },
	{ "ms", koda_event_read_double, AT(data.egress.ms) },
	{ "dropped", koda_event_read_u64, AT(data.egress.dropped) },
};
static const struct koda_json_field limit_fields[] = {
	COMMON,
	{ "which", koda_event_read_which, 0 },
	{ "value", koda_event_read_u64, AT(data.limit.value) },
	{ "hint", koda_event_read_hint, AT(data.limit.hint) },
};
static const struct koda_json_field exit_fields[] = {
	COMMON,
	{ "code", koda_event_read_status, AT(data.exit.code) },
	{ "signal", koda_event_read_status, AT(data.exit.signal) },
	{ "reason", koda_event_read_end, 0 },
	{ "wall_ms", koda_event_read_double, AT(data.exit.wall_ms) },
	{ "message", koda_event_read_text, AT(data.exit.message) },
	{ "by_host", koda_event_read_bool, AT(data.exit.by_host) },
	{ "lost", koda_event_read_u64, AT(data.exit.lost) },
};
static const struct koda_json_field left_fields[] = {
	COMMON,
	{ "path", koda_event_read_needed_path, AT(data.left_behind.path) },
	{ "what", koda_event_read_left, 0 },
	{ "unseen", koda_event_read_unseen, 0 },
	{ "more", koda_event_read_u64, AT(data.left_behind.more) },
};

#define TYPE(type, name, fields)                                                                   \
	{                                                                                          \
		name, KODA_EVENT_##type, fields, KODA_ARRAY_LEN(fields)                            \
	}

static const struct type {
	const char *name;
	enum koda_event_type type;
	const struct koda_json_field *fields;
	size_t count;
} types[] = {
	TYPE(START, "start", start_fields),    TYPE(VIOLATION, "violation", violation_fields),
	TYPE(EGRESS, "egress", egress_fields), TYPE(LIMIT, "limit", limit_fields),
	TYPE(EXIT, "exit", exit_fields),       TYPE(LEFT_BEHIND, "left_behind", left_fields),
};

static int read_type(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	(void)arg;
	return koda_json_string(value, ctx, err);
}

/* Finds the type of an event. *ret_type is NULL for one that is unknown here. */
static int find_type(const struct koda_json *root, const struct type **ret_type,
		     struct koda_error *err)
{
	static const struct koda_json_field field[] = { { "type", read_type, 0 } };
	struct koda_span name = { NULL, 0 };
	int r = koda_json_known(root, field, 1, &name, err);

	if (r != KODA_OK)
		return r;
	if (!name.ptr)
		return koda_fail(err, KODA_E_POLICY, 0, "has no \"type\", so it is no event");
	for (size_t i = 0; i < KODA_ARRAY_LEN(types); i++)
		if (koda_span_is(name, types[i].name))
			*ret_type = &types[i];
	return KODA_OK;
}

int koda_event_decode(struct koda_span line, struct koda_decoded_event *ret_decoded,
		      struct koda_error *err)
{
	koda_auto_json struct koda_json *root = NULL;
	struct koda_event_decoder decoder = { .decoded = ret_decoded };
	const struct type *type = NULL;
	int r;

	*ret_decoded = (struct koda_decoded_event){ .is_known = false };
	r = koda_json_load(line, SIZE_MAX, DEPTH_MAX, &root, err);
	if (r == KODA_OK)
		r = find_type(root, &type, err);
	if (r != KODA_OK || !type)
		return r;
	ret_decoded->room = malloc(line.len + 1);
	if (!ret_decoded->room)
		return koda_fail_nomem(err);
	ret_decoded->is_known = true;
	ret_decoded->event.type = type->type;
	if (type->type == KODA_EVENT_EXIT)
		ret_decoded->event.data.exit.code = -1;
	for (size_t i = 0; i < KODA_LIMIT_COUNT; i++)
		ret_decoded->limits[i] = UINT64_MAX;
	r = koda_json_known(root, type->fields, type->count, &decoder, err);
	if (r == KODA_OK && !decoder.complete)
		r = koda_fail(err, KODA_E_POLICY, 0, "a field of the event is missing");
	return r;
}

void koda_event_decode_clear(struct koda_decoded_event *decoded)
{
	free(decoded->room);
	free(decoded->hint);
	*decoded = (struct koda_decoded_event){ .is_known = false };
}
