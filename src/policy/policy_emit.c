/* SPDX-License-Identifier: MIT */
/*
 * Policy -> canonical JSON: every field in schema order, two spaces of indent. Paths that are not
 * UTF-8 use the "%" form described in koda-sandbox-policy(5).
 */
#include "policy/policy.h"

#include "base/error.h"
#include "base/escape.h"
#include "base/utf8.h"

/* Keeps the first failure; later writes are ignored. */
struct writer {
	struct koda_buf text;
	int failed;
};

static void put(struct writer *w, const char *bytes, size_t len)
{
	if (w->failed == 0)
		w->failed = koda_buf_add(&w->text, bytes, len);
}

static void puts_(struct writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void put_percent(struct writer *w, unsigned char byte)
{
	static const char hex[] = "0123456789ABCDEF";
	const char text[] = { '%', hex[byte >> 4], hex[byte & 15] };

	put(w, text, sizeof(text));
}

/* Appends the inside of a JSON string; text is valid UTF-8. */
static void put_escaped(struct writer *w, struct koda_span text)
{
	if (w->failed == 0)
		w->failed = koda_escape_json(&w->text, text);
}

static void put_string(struct writer *w, struct koda_span text)
{
	puts_(w, "\"");
	put_escaped(w, text);
	puts_(w, "\"");
}

static void put_path(struct writer *w, struct koda_span path)
{
	if (koda_utf8_is_valid(path)) {
		put_string(w, path);
		return;
	}
	puts_(w, "\"%");
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.ptr[i];

		if (c < 0x20 || c >= 0x7f || c == '%')
			put_percent(w, c);
		else
			put_escaped(w, (struct koda_span){ path.ptr + i, 1 });
	}
	puts_(w, "\"");
}

static void put_key(struct writer *w, const char *indent, const char *name)
{
	puts_(w, indent);
	puts_(w, "\"");
	puts_(w, name);
	puts_(w, "\": ");
}

static void put_list(struct writer *w, const struct koda_policy *policy, enum koda_list list)
{
	const struct koda_set *set = &policy->lists[list];

	put_key(w, "    ", koda_policy_list_names[list]);
	if (list == KODA_LIST_ALLOW_WRITE && !policy->allow_write_stated) {
		puts_(w, "null,\n");
		return;
	}
	puts_(w, set->count ? "[\n" : "[");
	for (size_t i = 0; i < set->count; i++) {
		puts_(w, "      ");
		if (koda_list_is_paths(list))
			put_path(w, koda_set_get(set, i));
		else
			put_string(w, koda_set_get(set, i));
		puts_(w, i + 1 < set->count ? ",\n" : "\n");
	}
	puts_(w, set->count ? "    ],\n" : "],\n");
}

static void put_flag(struct writer *w, const struct koda_policy *policy, enum koda_flag flag,
		     const char *end)
{
	put_key(w, "    ", koda_policy_flag_names[flag]);
	puts_(w, !policy->flags[flag].stated ? "null" : policy->flags[flag].on ? "true" : "false");
	puts_(w, end);
}

static void put_number(struct writer *w, uint64_t number)
{
	if (w->failed == 0)
		w->failed = koda_buf_addf(&w->text, "%llu", (unsigned long long)number);
}

static void put_mitm(struct writer *w, const struct koda_policy *policy)
{
	size_t count = policy->map_domains.count;

	put_key(w, "    ", "mitm");
	if (!policy->ca_bundle) {
		puts_(w, "null,\n");
		return;
	}
	puts_(w, "{\n");
	put_key(w, "      ", "ca_bundle");
	put_path(w, koda_span_of(policy->ca_bundle));
	puts_(w, ",\n");
	put_key(w, "      ", "socket_map");
	puts_(w, count ? "[\n" : "[");
	for (size_t i = 0; i < count; i++) {
		puts_(w, "        [");
		put_string(w, koda_set_get(&policy->map_domains, i));
		puts_(w, ", ");
		put_path(w, koda_span_of(policy->map_sockets[i]));
		puts_(w, i + 1 < count ? "],\n" : "]\n");
	}
	puts_(w, count ? "      ]\n    },\n" : "]\n    },\n");
}

static void put_limits(struct writer *w, const struct koda_policy *policy)
{
	for (size_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++) {
		put_key(w, "    ", koda_policy_limit_names[i]);
		if (policy->limits[i].stated)
			put_number(w, policy->limits[i].max);
		else
			puts_(w, "null");
		puts_(w, i + 1 < KODA_LIMIT_POLICY_COUNT ? ",\n" : "\n");
	}
}

static void put_policy(struct writer *w, const struct koda_policy *policy)
{
	puts_(w, "{\n  \"fs\": {\n");
	put_list(w, policy, KODA_LIST_DENY_READ);
	put_list(w, policy, KODA_LIST_ALLOW_READ_WITHIN_DENY);
	put_list(w, policy, KODA_LIST_ALLOW_WRITE);
	put_list(w, policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW);
	put_flag(w, policy, KODA_FLAG_ALLOW_GIT_CONFIG, ",\n");
	put_key(w, "    ", "mandatory_deny_search_depth");
	if (policy->depth_stated)
		put_number(w, policy->search_depth);
	else
		puts_(w, "null");
	puts_(w, "\n  },\n  \"net\": {\n");
	put_list(w, policy, KODA_LIST_ALLOWED_DOMAINS);
	put_list(w, policy, KODA_LIST_DENIED_DOMAINS);
	put_flag(w, policy, KODA_FLAG_ALLOW_LOCAL_BINDING, ",\n");
	put_mitm(w, policy);
	put_flag(w, policy, KODA_FLAG_WEAKER_MACOS_ISOLATION, "\n");
	puts_(w, "  },\n  \"limits\": {\n");
	put_limits(w, policy);
	puts_(w, "  },\n");
	put_key(w, "  ", "trust");
	put_string(w, koda_span_of(koda_policy_ask_names[policy->ask]));
	puts_(w, "\n}\n");
}

int koda_policy_emit(const struct koda_policy *policy, char **ret_text, struct koda_error *err)
{
	struct writer w = { .text = KODA_BUF_INIT(SIZE_MAX / 2) };

	put_policy(&w, policy);
	if (w.failed == 0)
		w.failed = koda_buf_take(&w.text, ret_text);
	koda_buf_clear(&w.text);
	return w.failed < 0 ? koda_fail_nomem(err) : KODA_OK;
}
