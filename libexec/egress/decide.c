/* SPDX-License-Identifier: MIT */
/* T-80. */
#include "decide.h"

#include "base/diag.h"
#include "policy/hostrule.h"

struct koda_ruleset *koda_ruleset_new(struct koda_rules *rules)
{
	struct koda_ruleset *set = malloc(sizeof(*set));

	if (!set) {
		koda_rules_free(rules);
		return NULL;
	}
	*set = (struct koda_ruleset){ .refs = 1, .rules = rules };
	return set;
}

struct koda_ruleset *koda_ruleset_ref(struct koda_ruleset *set)
{
	set->refs++;
	return set;
}

void koda_ruleset_unref(struct koda_ruleset *set)
{
	if (!set || --set->refs > 0)
		return;
	koda_rules_free(set->rules);
	free(set);
}

int koda_target_set(struct koda_target *target, struct koda_span host, uint16_t port,
		    struct koda_error *err)
{
	struct koda_host parsed;
	int r = koda_host_parse(host, &parsed, err);

	if (r == KODA_OK)
		r = koda_target_of(target, &parsed, port);
	return r == KODA_OK ? r : koda_fail(err, r, 0, "not a host and port");
}

int koda_target_of(struct koda_target *target, const struct koda_host *host, uint16_t port)
{
	if (port == 0)
		return KODA_E_POLICY;
	target->host = *host;
	target->port = port;
	if (target->host.is_addr)
		koda_addr_format(&target->host.addr, target->text);
	else
		memcpy(target->text, target->host.name, target->host.len + 1);
	return KODA_OK;
}

bool koda_target_equal(const struct koda_target *a, const struct koda_target *b)
{
	return a->port == b->port && strcmp(a->text, b->text) == 0;
}

static bool is_below(const struct koda_host *host, struct koda_span name)
{
	size_t len = name.len;

	return host->len >= len && memcmp(host->name + host->len - len, name.ptr, len) == 0 &&
	       (host->len == len || host->name[host->len - len - 1] == '.');
}

const struct koda_addr *koda_target_address(const struct koda_target *target)
{
	static const struct koda_addr loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	/* RFC 6761, with everything below, and what systems call it in their own lists. */
	static const char *const names[] = {
		"localhost",    "localhost.localdomain",   "localhost4",
		"localhost6",   "localhost4.localdomain4", "localhost6.localdomain6",
		"ip6-loopback", "ip6-localhost",
	};

	if (target->host.is_addr)
		return &target->host.addr;
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		if (is_below(&target->host, koda_span_of(names[i])))
			return &loopback;
	return NULL;
}

static struct koda_decision decision(enum koda_egress_reason reason, struct koda_span rule)
{
	return (struct koda_decision){ .reason = reason, .rule = rule };
}

static struct koda_decision of_verdict(struct koda_verdict v)
{
	if (v.answer == KODA_ALLOW)
		return decision(KODA_EGRESS_OK, v.rule);
	if (v.why == KODA_WHY_HOST_DENIED)
		return decision(KODA_EGRESS_RULE_DENIED, v.rule);
	if (v.why == KODA_WHY_ADDRESS)
		return decision(KODA_EGRESS_ADDRESS_GUARD, v.rule);
	return decision(v.why == KODA_WHY_DEFAULT ? KODA_EGRESS_NOT_LISTED
						  : KODA_EGRESS_BAD_REQUEST,
			v.rule);
}

struct koda_decision koda_decide_host(const struct koda_rules *rules,
				      const struct koda_target *target)
{
	return of_verdict(
		koda_rules_connect(rules, target->text, strlen(target->text), target->port));
}

/* Does the rule name this one address, or this one host whatever its address is? */
static bool lists_exactly(struct koda_span rule)
{
	struct koda_hostrule parsed;

	if (koda_hostrule_parse(rule, &parsed, NULL) < 0)
		return false;
	if (parsed.kind == KODA_HOSTRULE_NAME)
		return !parsed.public_only;
	return parsed.kind == KODA_HOSTRULE_NET &&
	       parsed.prefix == koda_addr_bits(&parsed.host.addr);
}

static struct koda_verdict ask_literal(const struct koda_rules *rules, const struct koda_addr *addr,
				       uint16_t port)
{
	char text[KODA_ADDR_TEXT];

	koda_addr_format(addr, text);
	return koda_rules_connect(rules, text, strlen(text), port);
}

/* T-07 this machine under an address that is not special in itself. Loopback is, and the guard of
 * the rules has judged it. */
static bool is_unlisted_own(const struct koda_rules *rules, struct koda_own *own,
			    const struct koda_target *target, struct koda_span name_rule,
			    const struct koda_addr *addr)
{
	struct koda_verdict literal;

	if (koda_addr_classify(addr, NULL) == KODA_ADDR_LOOPBACK || !koda_own_has(own, addr))
		return false;
	if (!target->host.is_addr && lists_exactly(name_rule))
		return false;
	literal = ask_literal(rules, addr, target->port);
	return literal.answer != KODA_ALLOW || !lists_exactly(literal.rule);
}

/* Nobody listed the name, so only the denies and the guard speak. */
static struct koda_decision judge_asked(const struct koda_rules *rules, struct koda_own *own,
					const struct koda_target *target,
					const struct koda_addr *addr)
{
	enum koda_addr_class class_ = koda_addr_classify(addr, NULL);
	struct koda_verdict literal = ask_literal(rules, addr, target->port);
	struct koda_addr inner;

	if (literal.why != KODA_WHY_HOST_DENIED && koda_addr_inner(addr, &inner))
		literal = ask_literal(rules, &inner, target->port);
	if (literal.why == KODA_WHY_HOST_DENIED)
		return decision(KODA_EGRESS_RULE_DENIED, literal.rule);
	if (class_ != KODA_ADDR_PUBLIC)
		return decision(KODA_EGRESS_ADDRESS_GUARD,
				koda_span_of(koda_addr_class_name(class_)));
	if (koda_own_has(own, addr))
		return decision(KODA_EGRESS_ADDRESS_GUARD, koda_span_of("own address"));
	return decision(KODA_EGRESS_OK, koda_span_of("asked"));
}

struct koda_decision koda_decide_address(const struct koda_rules *rules, struct koda_own *own,
					 const struct koda_target *target, bool asked,
					 const struct koda_addr *addr)
{
	struct koda_addr plain = koda_addr_unmap(addr);
	struct koda_decision now;

	if (asked)
		return judge_asked(rules, own, target, &plain);
	now = of_verdict(koda_rules_address(rules, target->text, strlen(target->text), target->port,
					    &plain));
	if (now.reason == KODA_EGRESS_OK && is_unlisted_own(rules, own, target, now.rule, &plain))
		now = decision(KODA_EGRESS_ADDRESS_GUARD, koda_span_of("own address"));
	return now;
}

bool koda_decide_unresolved(const struct koda_rules *rules, struct koda_own *own,
			    const struct koda_target *target, bool asked, struct koda_decision *now)
{
	const struct koda_addr *addr = koda_target_address(target);

	if (!addr)
		return true;
	*now = koda_decide_address(rules, own, target, asked, addr);
	return now->reason == KODA_EGRESS_OK;
}
