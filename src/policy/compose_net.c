/* SPDX-License-Identifier: MIT */
/*
 * The network half of composition. Denied domains add up. Allowed domains intersect: of two
 * patterns that overlap, one always contains the other's hosts, so their meet is the narrower
 * host with the port that either states.
 *
 * The address guard makes this delicate. Listing an exact name or a special address lifts the
 * guard for it, so a child that lists "localhost" under a parent that allows "*.test", or every
 * public host, would gain what the parent never had. A meet therefore lifts the guard only where
 * both sides do: otherwise a name becomes NAME#public, and a special net vanishes.
 *
 * Two lists with nothing in common mean no network, which is written as denied_domains "*": an
 * empty allow list would mean everything.
 */
#include "policy/compose.h"

#include "base/error.h"
#include "policy/hostindex.h"
#include "policy/policy.h"

/* One side's allow list, decoded and indexed. */
struct side {
	struct koda_hostrule *rules; /* owned */
	size_t count;
	struct koda_hostindex index;
};

static void side_clear(struct side *side)
{
	koda_hostindex_clear(&side->index);
	free(side->rules);
	side->rules = NULL;
}

static int side_load(struct side *side, const struct koda_set *patterns, struct koda_error *err)
{
	side->rules = calloc(patterns->count + 1, sizeof(*side->rules));
	if (!side->rules)
		return koda_fail_nomem(err);
	for (size_t i = 0; i < patterns->count; i++) {
		int r = koda_hostrule_parse(koda_set_get(patterns, i), &side->rules[i], err);

		if (r == KODA_OK)
			r = koda_hostindex_add(&side->index, &side->rules[i], (uint32_t)i, err);
		if (r < 0)
			return r;
	}
	side->count = patterns->count;
	return KODA_OK;
}

/* The meet of rule with one whose hosts cover rule's; false if they have nothing in common.
 * *rule becomes the meet, *ret_narrower tells whether that changed it. */
static bool meet_rule(struct koda_hostrule *rule, const struct koda_hostmark *cover,
		      bool *ret_narrower)
{
	bool guarded = cover->kind != KODA_HOSTRULE_NAME || cover->public_only;
	unsigned int needed = 0;

	*ret_narrower = false;
	if (rule->port == 0 && cover->port != 0) {
		rule->port = cover->port;
		*ret_narrower = true;
	} else if (cover->port != 0 && cover->port != rule->port) {
		return false;
	}
	if (rule->kind == KODA_HOSTRULE_NAME && guarded && !rule->public_only) {
		rule->public_only = true;
		*ret_narrower = true;
	}
	if (rule->kind != KODA_HOSTRULE_NET)
		return true;
	/* A net inside a special range is reachable only if the other policy lists it too. */
	if (koda_addr_classify_net(&rule->host.addr, rule->prefix, &needed) == KODA_ADDR_PUBLIC)
		return true;
	return cover->kind == KODA_HOSTRULE_NET && cover->prefix >= needed;
}

/* Collects meets of one rule with the rules that cover it. */
struct collector {
	struct koda_policy *out;
	struct koda_hostindex *done; /* what out holds already */
	const struct koda_hostrule *rule;
	bool whole; /* wanted: meets that leave rule as it is; else: those that narrow it */
	int failed;
	struct koda_error *err;
};

static bool see_whole_cover(void *ctx, const struct koda_hostmark *cover)
{
	struct koda_hostrule meet = *(const struct koda_hostrule *)ctx;
	bool narrower;

	return meet_rule(&meet, cover, &narrower) && !narrower;
}

static struct koda_hostquery query_for(const struct koda_hostrule *rule)
{
	return (struct koda_hostquery){
		.kind = rule->kind, .prefix = rule->prefix, .port = rule->port, .host = &rule->host
	};
}

static int keep(struct collector *c, const struct koda_hostrule *rule)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1024);
	const struct koda_hostquery query = query_for(rule);
	struct koda_hostrule copy = *rule;
	int r;

	/* Leave out an entry that an earlier one covers: it grants nothing, and compose(p, p)
	 * would differ from p. */
	if (!c->whole && koda_hostindex_covering(c->done, &query, see_whole_cover, &copy))
		return KODA_OK;
	r = koda_hostrule_format(rule, &text, c->err);
	if (r == KODA_OK)
		r = koda_policy_add_canonical(c->out, KODA_LIST_ALLOWED_DOMAINS,
					      koda_buf_span(&text), c->err);
	if (r == KODA_OK)
		r = koda_hostindex_add(c->done, rule, 0, c->err);
	return r;
}

static bool see_cover(void *ctx, const struct koda_hostmark *cover)
{
	struct collector *c = ctx;
	struct koda_hostrule meet = *c->rule;
	bool narrower;

	if (!meet_rule(&meet, cover, &narrower) || narrower == c->whole)
		return false;
	c->failed = keep(c, &meet);
	return c->failed < 0 || c->whole;
}

static int collect(struct collector *c, const struct side *from, const struct koda_hostindex *with)
{
	for (size_t i = 0; i < from->count && c->failed == 0; i++) {
		const struct koda_hostquery query = query_for(&from->rules[i]);

		c->rule = &from->rules[i];
		(void)koda_hostindex_covering(with, &query, see_cover, c);
	}
	return c->failed;
}

/* Whole rules first, parent's before child's, so that the result keeps their order. */
static int intersect(struct koda_policy *out, const struct side *parent, const struct side *child,
		     struct koda_error *err)
{
	koda_auto_hostindex struct koda_hostindex done = KODA_HOSTINDEX_INIT;
	struct collector c = { .out = out, .done = &done, .whole = true, .err = err };
	int r = collect(&c, parent, &child->index);

	if (r == KODA_OK)
		r = collect(&c, child, &parent->index);
	c.whole = false;
	if (r == KODA_OK)
		r = collect(&c, parent, &child->index);
	if (r == KODA_OK)
		r = collect(&c, child, &parent->index);
	return r;
}

/* A parent without a list allows every public host: as a rule, "*" that lifts no guard. */
static int load_parent(struct side *side, const struct koda_set *patterns, struct koda_error *err)
{
	static const struct koda_hostrule any = { .kind = KODA_HOSTRULE_ANY };

	if (patterns->count > 0)
		return side_load(side, patterns, err);
	return koda_hostindex_add(&side->index, &any, 0, err);
}

int koda_compose_net(struct koda_policy *out, const struct koda_policy *parent,
		     const struct koda_policy *child, struct koda_error *err)
{
	__attribute__((
		cleanup(side_clear))) struct side in_parent = { .index = KODA_HOSTINDEX_INIT };
	__attribute__((cleanup(side_clear))) struct side in_child = { .index =
									      KODA_HOSTINDEX_INIT };
	int r = koda_policy_add_union(out, KODA_LIST_DENIED_DOMAINS, parent, child, err);

	if (r < 0)
		return r;
	/* A child without a list says nothing. */
	if (child->lists[KODA_LIST_ALLOWED_DOMAINS].count == 0)
		return koda_policy_add_union(out, KODA_LIST_ALLOWED_DOMAINS, parent, child, err);
	r = load_parent(&in_parent, &parent->lists[KODA_LIST_ALLOWED_DOMAINS], err);
	if (r == KODA_OK)
		r = side_load(&in_child, &child->lists[KODA_LIST_ALLOWED_DOMAINS], err);
	if (r == KODA_OK)
		r = intersect(out, &in_parent, &in_child, err);
	if (r == KODA_OK && out->lists[KODA_LIST_ALLOWED_DOMAINS].count == 0)
		r = koda_policy_add_canonical(out, KODA_LIST_DENIED_DOMAINS, koda_span_of("*"),
					      err);
	return r;
}
