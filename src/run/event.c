/* SPDX-License-Identifier: MIT */
/* Events as lines of JSON, in the form that koda-sandbox-run(1) documents. */
#include "run/event.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/escape.h"
#include "run/event_names.h"

#include <string.h>
#include <time.h>

/* Bytes of a command's text that the start event has. */
#define BEGINNING_MAX ((size_t)8192)

double koda_event_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Keeps the first failure, so that callers check once at the end. */
struct writer {
	struct koda_buf text;
	int failed;
};

static void put(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(&w->text, text, strlen(text));
}

/* ,"key":"text", or null for NULL. */
static void put_text(struct writer *w, const char *key, const char *text)
{
	put(w, ",\"");
	put(w, key);
	put(w, "\":");
	if (!text)
		put(w, "null");
	else if (w->failed == KODA_OK)
		w->failed = koda_escape_json_string(&w->text, koda_span_of(text));
}

/* Like put_text, and cuts a long text between two characters of UTF-8. */
static void put_beginning(struct writer *w, const char *key, const char *text)
{
	koda_auto_free char *beginning = text ? strndup(text, BEGINNING_MAX) : NULL;
	size_t len = beginning ? strlen(beginning) : 0;

	if (text && !beginning) {
		w->failed = KODA_E_NOMEM;
		return;
	}
	if (beginning && text[len] != '\0') {
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
		beginning[len] = '\0';
	}
	put_text(w, key, beginning);
}

static void put_number(struct writer *w, const char *key, uint64_t number)
{
	if (w->failed == KODA_OK)
		w->failed =
			koda_buf_addf(&w->text, ",\"%s\":%llu", key, (unsigned long long)number);
}

static void put_float(struct writer *w, const char *key, double number)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_addf(&w->text, ",\"%s\":%.3f", key, number);
}

/* Seconds, bytes or processes; null where there is no limit. */
static void put_limits(struct writer *w, const uint64_t *limits)
{
	put(w, ",\"limits\":{");
	for (size_t i = 0; i < KODA_LIMIT_COUNT && w->failed == KODA_OK; i++)
		w->failed = limits[i] == UINT64_MAX
				    ? koda_buf_addf(&w->text, "%s\"%s\":null", i ? "," : "",
						    koda_event_limit_names[i])
				    : koda_buf_addf(&w->text, "%s\"%s\":%llu", i ? "," : "",
						    koda_event_limit_names[i],
						    (unsigned long long)limits[i]);
	put(w, "}");
}

static void put_start(struct writer *w, const struct koda_event_start *start)
{
	put_text(w, "backend", start->backend);
	put_text(w, "trust", koda_trust_name(start->trust));
	put_beginning(w, "command", start->command);
	if (start->tls)
		put_text(w, "tls", start->tls);
	put_text(w, "denials", koda_event_source_names[start->denials]);
	if (start->denials_why)
		put_text(w, "denials_why", start->denials_why);
	put(w, ",\"clauses\":{");
	for (int i = 0; start->findings && i < KODA_CLAUSE_COUNT; i++) {
		put(w, i ? ",\"" : "\"");
		put(w, koda_clause_name((enum koda_clause)i));
		put(w, "\":\"");
		put(w, koda_enforcement_name(start->findings->clause[i].enforcement));
		put(w, "\"");
	}
	put(w, "}");
	if (start->limits)
		put_limits(w, start->limits);
}

/* A hint is JSON already. */
static void put_hint(struct writer *w, const char *hint)
{
	put(w, ",\"hint\":");
	put(w, hint ? hint : "null");
}

static void put_violation(struct writer *w, const struct koda_event_violation *violation)
{
	put_text(w, "kind", koda_event_kind_names[violation->kind]);
	put_text(w, "target", violation->target);
	put_text(w, "rule", violation->rule);
	put_text(w, "source", koda_event_source_names[violation->source]);
	put_text(w, "command", violation->command);
	put_text(w, "call", violation->call);
	put_text(w, "process", violation->process);
	put_hint(w, violation->hint);
	if (violation->dropped > 0)
		put_number(w, "dropped", violation->dropped);
}

static void put_egress(struct writer *w, const struct koda_event_egress *egress)
{
	put_text(w, "host", egress->host);
	put_number(w, "port", egress->port);
	put_text(w, "address", egress->address);
	if (egress->tls_name)
		put_text(w, "tls_name", egress->tls_name);
	put_text(w, "verdict", egress->allowed ? "allow" : "deny");
	put_text(w, "reason", egress->reason);
	put_text(w, "rule", egress->rule);
	if (egress->method) {
		put_text(w, "method", egress->method);
		put_text(w, "path", egress->path);
	}
	put_number(w, "bytes_up", egress->bytes_up);
	put_number(w, "bytes_down", egress->bytes_down);
	put_float(w, "ms", egress->ms);
	if (egress->dropped > 0)
		put_number(w, "dropped", egress->dropped);
}

static void put_exit(struct writer *w, const struct koda_event_exit *end)
{
	if (end->code >= 0)
		put_number(w, "code", (uint64_t)end->code);
	else
		put(w, ",\"code\":null");
	if (end->signal > 0)
		put_number(w, "signal", (uint64_t)end->signal);
	else
		put(w, ",\"signal\":null");
	put_text(w, "reason", koda_event_end_names[end->end]);
	put_float(w, "wall_ms", end->wall_ms);
	if (end->message)
		put_text(w, "message", end->message);
	if (end->by_host)
		put(w, ",\"by_host\":true");
	if (end->lost > 0)
		put_number(w, "lost", end->lost);
}

/* Begins with what every event has. */
static void put_head(struct writer *w, const char *type, const struct koda_event *event)
{
	put(w, "{\"type\":\"");
	put(w, type);
	put(w, "\"");
	put_float(w, "time", event->time);
	put_text(w, "id", event->id);
}

static void put_event(struct writer *w, const struct koda_event *event)
{
	switch (event->type) {
	case KODA_EVENT_START:
		put_head(w, "start", event);
		put_start(w, &event->data.start);
		break;
	case KODA_EVENT_VIOLATION:
		put_head(w, "violation", event);
		put_violation(w, &event->data.violation);
		break;
	case KODA_EVENT_EGRESS:
		put_head(w, "egress", event);
		put_egress(w, &event->data.egress);
		break;
	case KODA_EVENT_LIMIT:
		put_head(w, "limit", event);
		put_text(w, "which", koda_event_limit_names[event->data.limit.which]);
		put_number(w, "value", event->data.limit.value);
		put_hint(w, event->data.limit.hint);
		break;
	case KODA_EVENT_EXIT:
		put_head(w, "exit", event);
		put_exit(w, &event->data.exit);
		break;
	case KODA_EVENT_LEFT_BEHIND:
		put_head(w, "left_behind", event);
		put_text(w, "path", event->data.left_behind.path);
		put_text(w, "what", koda_event_left_names[event->data.left_behind.what]);
		if (event->data.left_behind.what == KODA_LEFT_UNSEEN)
			put(w, ",\"unseen\":true");
		if (event->data.left_behind.more > 0)
			put_number(w, "more", event->data.left_behind.more);
		break;
	}
	put(w, "}\n");
}

int koda_event_json(const struct koda_event *event, char **ret_line, struct koda_error *err)
{
	struct writer w = { .text = KODA_BUF_INIT((size_t)1 << 20) };

	put_event(&w, event);
	if (w.failed == KODA_OK)
		w.failed = koda_buf_take(&w.text, ret_line);
	koda_buf_clear(&w.text);
	return w.failed < 0 ? koda_fail_nomem(err) : KODA_OK;
}
