/* SPDX-License-Identifier: MIT */
#include "run/event_values.h"

#include "base/ascii.h"
#include "base/error.h"
#include "policy/hint.h"
#include "run/event_names.h"

/* Returns where a member is, by its offset in struct koda_event. */
static void *member(const struct koda_event_decoder *d, int offset)
{
	return (char *)&d->decoded->event + offset;
}

/* Undoes the "%" form that paths which are not UTF-8 have. Returns false if text is not of it. */
static bool decode_percent(struct koda_span text, char *out, size_t *ret_len)
{
	size_t len = 0;

	if (text.len < 2 || text.ptr[0] != '%' || text.ptr[1] != '/')
		return false;
	for (size_t i = 1; i < text.len; i++) {
		char byte = text.ptr[i];

		if (byte == '%') {
			int high = i + 2 < text.len ? koda_ascii_hex(text.ptr[i + 1]) : -1;
			int low = high >= 0 ? koda_ascii_hex(text.ptr[i + 2]) : -1;

			if (low < 0 || high * 16 + low == 0)
				return false;
			byte = (char)(high * 16 + low);
			i += 2;
		}
		out[len++] = byte;
	}
	*ret_len = len;
	return true;
}

/* Reads a string into room, which has the size of the line: a string with its quotes is longer than
 * its bytes with their terminator. */
int koda_event_read_text(void *ctx, int offset, const struct koda_json *value,
			 struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	const char **text = member(d, offset);
	struct koda_span span;
	char *out = d->decoded->room + d->decoded->used;
	int r;

	*text = NULL;
	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_string(value, &span, err);
	if (r < 0)
		return r;
	memcpy(out, span.ptr, span.len);
	out[span.len] = '\0';
	*text = out;
	d->decoded->used += span.len + 1;
	return KODA_OK;
}

/* Reads a path, or a target, which may be one. */
int koda_event_read_path(void *ctx, int offset, const struct koda_json *value,
			 struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int r = koda_event_read_text(ctx, offset, value, err);
	const char *const *text = member(d, offset);
	char *out;
	size_t len;

	if (r < 0 || !*text)
		return r;
	out = d->decoded->room + (*text - d->decoded->room);
	/* The result is shorter, and written behind what is read. */
	if (decode_percent(koda_span_of(*text), out, &len))
		out[len] = '\0';
	return KODA_OK;
}

int koda_event_read_needed_path(void *ctx, int offset, const struct koda_json *value,
				struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int r = koda_event_read_path(ctx, offset, value, err);

	d->complete = r == KODA_OK && *(const char *const *)member(d, offset);
	return r;
}

int koda_event_read_needed(void *ctx, int offset, const struct koda_json *value,
			   struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int r = koda_event_read_text(ctx, offset, value, err);

	d->complete = r == KODA_OK && *(const char *const *)member(d, offset);
	return r;
}

int koda_event_read_u64(void *ctx, int offset, const struct koda_json *value,
			struct koda_error *err)
{
	return koda_json_u64(value, INT64_MAX, member(ctx, offset), err);
}

int koda_event_read_double(void *ctx, int offset, const struct koda_json *value,
			   struct koda_error *err)
{
	return koda_json_double(value, member(ctx, offset), err);
}

int koda_event_read_port(void *ctx, int offset, const struct koda_json *value,
			 struct koda_error *err)
{
	uint64_t number = 0;
	int r = koda_json_u64(value, UINT16_MAX, &number, err);

	*(uint16_t *)member(ctx, offset) = (uint16_t)number;
	return r;
}

/* Reads a number of a process's end; null leaves the member as it is. */
int koda_event_read_status(void *ctx, int offset, const struct koda_json *value,
			   struct koda_error *err)
{
	uint64_t number = 0;
	int r;

	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_u64(value, UINT8_MAX, &number, err);
	if (r == KODA_OK)
		*(int *)member(ctx, offset) = (int)number;
	return r;
}

int koda_event_read_bool(void *ctx, int offset, const struct koda_json *value,
			 struct koda_error *err)
{
	return koda_json_bool(value, member(ctx, offset), err);
}

/* Finds a string in a table of names. */
static int find_name(const struct koda_json *value, const char *const *names, int count,
		     int *ret_found, struct koda_error *err)
{
	struct koda_span name;
	int r = koda_json_string(value, &name, err);

	if (r < 0)
		return r;
	for (int i = 0; i < count; i++) {
		if (koda_span_is(name, names[i])) {
			*ret_found = i;
			return KODA_OK;
		}
	}
	return koda_fail(err, KODA_E_POLICY, 0, "is no value that this release knows");
}

int koda_event_read_kind(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, koda_event_kind_names, KODA_VIOLATION_COUNT, &found, err);

	(void)arg;
	d->decoded->event.data.violation.kind = (enum koda_violation)found;
	d->complete = true;
	return r;
}

int koda_event_read_source(void *ctx, int offset, const struct koda_json *value,
			   struct koda_error *err)
{
	int found = 0;
	int r = find_name(value, koda_event_source_names, KODA_SOURCE_COUNT, &found, err);

	*(enum koda_source *)member(ctx, offset) = (enum koda_source)found;
	return r;
}

int koda_event_read_trust(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const char *const modes[] = {
		[KODA_TRUST_PLAN] = "plan", [KODA_TRUST_SAFE] = "safe", [KODA_TRUST_AUTO] = "auto"
	};
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, modes, KODA_ARRAY_LEN(modes), &found, err);

	(void)arg;
	d->decoded->event.data.start.trust = (enum koda_trust)found;
	return r;
}

int koda_event_read_verdict(void *ctx, int arg, const struct koda_json *value,
			    struct koda_error *err)
{
	static const char *const verdicts[] = { "deny", "allow" };
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, verdicts, KODA_ARRAY_LEN(verdicts), &found, err);

	(void)arg;
	d->decoded->event.data.egress.allowed = found == 1;
	return r;
}

int koda_event_read_which(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, koda_event_limit_names, KODA_LIMIT_COUNT, &found, err);

	(void)arg;
	d->decoded->event.data.limit.which = (enum koda_limit)found;
	d->complete = true;
	return r;
}

int koda_event_read_end(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, koda_event_end_names, KODA_END_COUNT, &found, err);

	(void)arg;
	/* Two have one name. */
	d->decoded->event.data.exit.end =
		found == KODA_END_EXEC ? KODA_END_EXITED : (enum koda_end)found;
	d->complete = true;
	return r;
}

int koda_event_read_left(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	int found = 0;
	int r = find_name(value, koda_event_left_names, KODA_LEFT_UNSEEN, &found, err);

	(void)arg;
	if (d->decoded->event.data.left_behind.what != KODA_LEFT_UNSEEN)
		d->decoded->event.data.left_behind.what = (enum koda_left)found;
	return r;
}

int koda_event_read_unseen(void *ctx, int arg, const struct koda_json *value,
			   struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	bool unseen = false;
	int r = koda_json_bool(value, &unseen, err);

	(void)arg;
	if (unseen)
		d->decoded->event.data.left_behind.what = KODA_LEFT_UNSEEN;
	return r;
}

/* Reads a hint, in canonical form. One that this release does not understand is left out. */
int koda_event_read_hint(void *ctx, int offset, const struct koda_json *value,
			 struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_HINT_TEXT_MAX);
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	struct koda_event_decoder *d = ctx;
	int r;

	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_hint_read(value, &hint, NULL);
	if (r == KODA_OK)
		r = koda_hint_emit(&hint, &text);
	if (r == KODA_OK && text.len > 0)
		r = koda_buf_take(&text, &d->decoded->hint);
	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	*(const char **)member(d, offset) = d->decoded->hint;
	return KODA_OK;
}

static int read_limit(void *ctx, int limit, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;

	return koda_json_is_null(value)
		       ? KODA_OK
		       : koda_json_u64(value, INT64_MAX, &d->decoded->limits[limit], err);
}

int koda_event_read_limits(void *ctx, int arg, const struct koda_json *value,
			   struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
#define LIMIT_FIELD(name, text) { text, read_limit, KODA_LIMIT_##name },
		KODA_LIMITS(LIMIT_FIELD)
#undef LIMIT_FIELD
	};
	struct koda_event_decoder *d = ctx;

	(void)arg;
	d->decoded->event.data.start.limits = d->decoded->limits;
	return koda_json_known(value, fields, KODA_ARRAY_LEN(fields), ctx, err);
}

static int read_clause(void *ctx, int clause, const struct koda_json *value, struct koda_error *err)
{
	struct koda_event_decoder *d = ctx;
	struct koda_finding *finding = &d->decoded->findings.clause[clause];
	struct koda_span name;
	int r = koda_json_string(value, &name, err);

	if (r < 0)
		return r;
	for (int i = 0; i <= KODA_ENFORCEMENT_ENFORCED; i++) {
		if (koda_span_is(name, koda_enforcement_name((enum koda_enforcement)i))) {
			finding->enforcement = (enum koda_enforcement)i;
			return KODA_OK;
		}
	}
	return koda_fail(err, KODA_E_POLICY, 0, "is no value that this release knows");
}

int koda_event_read_clauses(void *ctx, int arg, const struct koda_json *value,
			    struct koda_error *err)
{
	struct koda_json_field fields[KODA_CLAUSE_COUNT];
	struct koda_event_decoder *d = ctx;

	(void)arg;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		d->decoded->findings.clause[i] =
			(struct koda_finding){ .reason = "", .remedy = "" };
		fields[i] = (struct koda_json_field){ koda_clause_name((enum koda_clause)i),
						      read_clause, i };
	}
	d->decoded->event.data.start.findings = &d->decoded->findings;
	return koda_json_known(value, fields, KODA_CLAUSE_COUNT, ctx, err);
}
