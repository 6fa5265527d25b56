/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as host, host:port and host pattern. There is one canonical form, it is a fixed
 * point, and a verdict on the bytes is the verdict on that form.
 */
#include "target.h"

#include "policy/hostrule.h"
#include "policy/policy.h"

#include <koda/rules.h>

static bool addr_is_same(const struct koda_host *a, const struct koda_host *b)
{
	return !a->is_addr || koda_addr_equal(&a->addr, &b->addr);
}

static bool host_is_same(const struct koda_host *a, const struct koda_host *b)
{
	return a->is_addr == b->is_addr && addr_is_same(a, b) && a->len == b->len &&
	       memcmp(a->name, b->name, a->len) == 0;
}

static void check_rule(struct koda_span text)
{
	koda_auto_buf struct koda_buf canonical = KODA_BUF_INIT(1024);
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(1024);
	struct koda_hostrule rule, back;
	struct koda_error err = { 0 };
	int r = koda_hostrule_parse(text, &rule, &err);

	if (r < 0) {
		CHECK(r == KODA_E_POLICY && err.code == r && err.message[0]);
		return;
	}
	CHECK(koda_hostrule_format(&rule, &canonical, NULL) == KODA_OK);
	CHECK(koda_hostrule_parse(koda_buf_span(&canonical), &back, NULL) == KODA_OK);
	CHECK(rule.kind == back.kind && rule.port == back.port && rule.prefix == back.prefix);
	CHECK(rule.public_only == back.public_only && host_is_same(&rule.host, &back.host));
	CHECK(koda_hostrule_format(&back, &again, NULL) == KODA_OK);
	CHECK(koda_span_eq(koda_buf_span(&canonical), koda_buf_span(&again)));
	CHECK(koda_hostrule_check_allow(&rule, NULL) == koda_hostrule_check_allow(&back, NULL));
	CHECK(koda_hostrule_check_deny(&rule, NULL) == koda_hostrule_check_deny(&back, NULL));
}

/* The canonical text of a host. */
static struct koda_span text_of(const struct koda_host *host, char room[static KODA_ADDR_TEXT])
{
	if (!host->is_addr)
		return (struct koda_span){ host->name, host->len };
	koda_addr_format(&host->addr, room);
	return koda_span_of(room);
}

static bool is_canonical_name(const struct koda_host *host)
{
	if (host->len == 0 || host->len > KODA_HOST_NAME_MAX || host->name[host->len] != '\0')
		return false;
	for (size_t i = 0; i < host->len; i++) {
		char c = host->name[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_' &&
		    c != '.')
			return false;
	}
	return host->name[0] != '.' && host->name[host->len - 1] != '.';
}

/* One rule set for all inputs: a few of each kind. */
static const struct koda_rules *some_rules(void)
{
	static const char text[] =
		"{\"net\":{\"allowed_domains\":[\"*.example.org\",\"a.b:80\",\"10.0.0.0/8\",\"::/"
		"0\","
		"\"0.0.0.0/0\",\"xn--bcher-kva.example\",\"localhost#public\"],"
		"\"denied_domains\":[\"bad.example.org\",\"10.1.0.0/16\",\"*.evil.org:443\"]}}";
	static const struct koda_place nowhere = { .size = sizeof(nowhere) };
	static struct koda_rules *rules;
	struct koda_policy *policy = NULL;

	if (rules)
		return rules;
	CHECK(koda_policy_parse(text, strlen(text), &policy, NULL) == KODA_OK);
	CHECK(koda_rules_new(policy, &nowhere, &rules, NULL) == KODA_OK);
	koda_policy_free(policy);
	return rules;
}

static bool verdict_is_same(struct koda_verdict a, struct koda_verdict b)
{
	return a.answer == b.answer && a.reason == b.reason && koda_span_eq(a.rule, b.rule);
}

static void check_verdicts(struct koda_span raw, const struct koda_host *host)
{
	const struct koda_rules *rules = some_rules();
	struct koda_addr addr = { .family = 6 };
	struct koda_verdict on_raw = koda_rules_connect(rules, raw.ptr, raw.len, 443);
	char room[KODA_ADDR_TEXT];
	struct koda_span canonical;

	/* The first bytes of the input double as an address. */
	memcpy(addr.bytes, raw.ptr, raw.len < 16 ? raw.len : 16);
	if (!host) {
		CHECK(on_raw.answer == KODA_DENY && on_raw.reason == KODA_REASON_INVALID);
		CHECK(koda_rules_address(rules, raw.ptr, raw.len, 443, &addr).answer == KODA_DENY);
		return;
	}
	canonical = text_of(host, room);
	CHECK(verdict_is_same(on_raw,
			      koda_rules_connect(rules, canonical.ptr, canonical.len, 443)));
	/* What is denied by name is denied at every address. */
	if (on_raw.answer == KODA_DENY)
		CHECK(koda_rules_address(rules, raw.ptr, raw.len, 443, &addr).answer == KODA_DENY);
	CHECK(koda_rules_connect(rules, raw.ptr, raw.len, 0).answer == KODA_DENY);
}

static void check_host(struct koda_span text)
{
	struct koda_host host, back;
	char room[KODA_ADDR_TEXT];

	if (koda_host_parse(text, &host, NULL) < 0) {
		check_verdicts(text, NULL);
		return;
	}
	CHECK(host.is_addr || is_canonical_name(&host));
	CHECK(koda_host_parse(text_of(&host, room), &back, NULL) == KODA_OK);
	CHECK(host_is_same(&host, &back));
	if (host.is_addr)
		(void)koda_addr_classify(&host.addr, NULL);
	else
		(void)koda_host_is_public_suffix(host.name);
	check_verdicts(text, &host);
}

static void check_split(struct koda_span text)
{
	struct koda_span host = { NULL, 0 };
	uint16_t port = 0;

	if (koda_host_split(text, &host, &port, NULL) < 0)
		return;
	CHECK(host.len <= text.len && host.ptr == text.ptr);
	CHECK((port != 0) == (host.len < text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span text = { size ? (const char *)data : "", size };

	check_split(text);
	check_host(text);
	check_rule(text);
	return 0;
}
