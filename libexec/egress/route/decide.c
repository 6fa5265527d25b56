/* SPDX-License-Identifier: MIT */
#include "route/decide.h"

#include "base/error.h"
#include "policy/hostrule.h"

static struct egress_decision decision(enum koda_egress_reason reason, struct koda_span rule)
{
	return (struct egress_decision){ .reason = reason, .rule = rule };
}

static struct egress_decision of_verdict(struct koda_verdict v)
{
	if (v.answer == KODA_ALLOW)
		return decision(KODA_EGRESS_OK, v.rule);
	if (v.reason == KODA_REASON_HOST_DENIED)
		return decision(KODA_EGRESS_RULE_DENIED, v.rule);
	if (v.reason == KODA_REASON_ADDRESS)
		return decision(KODA_EGRESS_ADDRESS_GUARD, v.rule);
	return decision(v.reason == KODA_REASON_DEFAULT ? KODA_EGRESS_NOT_LISTED
							: KODA_EGRESS_BAD_REQUEST,
			v.rule);
}

struct egress_decision egress_decide_host(const struct koda_rules *rules,
					  const struct egress_target *target)
{
	return of_verdict(
		koda_rules_connect(rules, target->text, strlen(target->text), target->port));
}

/* Returns whether the rule lists this one address, or this one host with any address. */
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

/* T-07. Returns whether addr belongs to this machine and no rule lists it exactly. Loopback does
 * not count: the rules' address guard has judged it. */
static bool is_unlisted_host_addr(const struct koda_rules *rules,
				  struct egress_host_addrs *host_addrs,
				  const struct egress_target *target, struct koda_span name_rule,
				  const struct koda_addr *addr)
{
	struct koda_verdict literal;

	if (koda_addr_classify(addr, NULL) == KODA_ADDR_LOOPBACK ||
	    !egress_host_addrs_has(host_addrs, addr))
		return false;
	if (!target->host.is_addr && lists_exactly(name_rule))
		return false;
	literal = ask_literal(rules, addr, target->port);
	return literal.answer != KODA_ALLOW || !lists_exactly(literal.rule);
}

/* Judges an address of a name that the user allowed: deny rules and the address guard apply. */
static struct egress_decision judge_user_allowed(const struct koda_rules *rules,
						 struct egress_host_addrs *host_addrs,
						 const struct egress_target *target,
						 const struct koda_addr *addr)
{
	enum koda_addr_class class_ = koda_addr_classify(addr, NULL);
	struct koda_verdict literal = ask_literal(rules, addr, target->port);
	struct koda_addr inner;

	if (literal.reason != KODA_REASON_HOST_DENIED && koda_addr_inner(addr, &inner))
		literal = ask_literal(rules, &inner, target->port);
	if (literal.reason == KODA_REASON_HOST_DENIED)
		return decision(KODA_EGRESS_RULE_DENIED, literal.rule);
	if (class_ != KODA_ADDR_PUBLIC)
		return decision(KODA_EGRESS_ADDRESS_GUARD,
				koda_span_of(koda_addr_class_name(class_)));
	if (egress_host_addrs_has(host_addrs, addr))
		return decision(KODA_EGRESS_ADDRESS_GUARD, koda_span_of("own address"));
	return decision(KODA_EGRESS_OK, koda_span_of("asked"));
}

struct egress_decision egress_decide_address(const struct koda_rules *rules,
					     struct egress_host_addrs *host_addrs,
					     const struct egress_target *target, bool user_allowed,
					     const struct koda_addr *addr)
{
	struct koda_addr plain = koda_addr_unmap(addr);
	struct egress_decision now;

	if (user_allowed)
		return judge_user_allowed(rules, host_addrs, target, &plain);
	now = of_verdict(koda_rules_address(rules, target->text, strlen(target->text), target->port,
					    &plain));
	if (now.reason == KODA_EGRESS_OK &&
	    is_unlisted_host_addr(rules, host_addrs, target, now.rule, &plain))
		now = decision(KODA_EGRESS_ADDRESS_GUARD, koda_span_of("own address"));
	return now;
}

bool egress_decide_unresolved(const struct koda_rules *rules, struct egress_host_addrs *host_addrs,
			      const struct egress_target *target, bool user_allowed,
			      struct egress_decision *now)
{
	const struct koda_addr *addr = egress_target_address(target);

	if (!addr && (strchr(target->text, '.') || lists_exactly(now->rule)))
		return true;
	*now = addr ? egress_decide_address(rules, host_addrs, target, user_allowed, addr)
		    : decision(KODA_EGRESS_ADDRESS_GUARD, koda_span_of("name without a domain"));
	return now->reason == KODA_EGRESS_OK;
}
