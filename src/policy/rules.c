/* SPDX-License-Identifier: MIT */
/*
 * The verdicts. One rule set answers for every enforcer:
 *
 *   read     hidden if the longest entry above the path is a deny; a hole of equal length loses
 *   write    needs an allow above and no deny above, of writing or of reading: what a hole makes
 *            visible again stays read-only; a package cache counts as an allow, of a copy
 *   connect  first the denied patterns, then the allowed ones (none: any host), then the address
 *            guard: an address that is not public has to be listed, itself or by exact name
 *
 * The floor comes first and nothing re-opens it. Anything malformed is denied.
 */
#include "policy/rules.h"

#include "base/error.h"
#include "base/sized.h"
#include "policy/floor.h"
#include "policy/hostindex.h"
#include "policy/path_verdict.h"
#include "policy/pathindex_blob.h"
#include "policy/policy.h"

#include <stdatomic.h>

#define MARK(why) (1U << KODA_REASON_##why)

/* Paths of a plain project; an estimate. */
#define FLOOR_PATHS 120
#define FLOOR_BYTES 4000

struct koda_rules {
	atomic_uint owners;
	struct koda_pathindex paths;
	struct koda_set allowed; /* the patterns, for telling which one decided */
	struct koda_set denied;
	struct koda_hostindex hosts; /* both lists, so that a question is one walk */
	bool has_hosts;              /* false: rules for paths only */
};

/* The list of a host rule, in the tag of its mark. */
static uint32_t tag_of(size_t i, bool denies)
{
	return (uint32_t)(i << 1 | denies);
}

const char *koda_reason_name(enum koda_reason reason)
{
	static const char *const names[] = {
#define REASON_NAME(name, text) [KODA_REASON_##name] = (text),
		KODA_REASONS(REASON_NAME)
#undef REASON_NAME
	};

	return names[(unsigned int)reason < KODA_REASON_COUNT ? reason : KODA_REASON_INVALID];
}

static int add_paths(struct koda_rules *rules, const struct koda_policy *policy,
		     enum koda_list list, enum koda_reason why, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < policy->lists[list].count && r == KODA_OK; i++)
		r = koda_pathindex_add(&rules->paths, koda_set_get(&policy->lists[list], i),
				       1U << why, err);
	return r;
}

static int add_hosts(struct koda_hostindex *index, const struct koda_set *patterns, bool denies,
		     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < patterns->count && r == KODA_OK; i++) {
		struct koda_hostrule rule;

		r = koda_hostrule_parse(koda_set_get(patterns, i), &rule, err);
		if (r == KODA_OK)
			r = koda_hostindex_add(index, &rule, tag_of(i, denies), err);
	}
	return r;
}

/* The project's git directory outside the project: as writable as the root is, so that no policy
 * opens more by it than it says of the project, and every deny and the floor still count. */
static int add_git_open(struct koda_rules *rules, const struct koda_place *place,
			struct koda_error *err)
{
	struct koda_verdict root;

	if (!place->root || !place->own_git_dirs)
		return KODA_OK;
	root = koda_rules_write(rules, place->root, strlen(place->root));
	return root.answer == KODA_ALLOW ? koda_floor_open(&rules->paths, place->own_git_dirs, err)
					 : KODA_OK;
}

/* Reserves room for the paths of the policy and of the floor. */
static int reserve_paths(struct koda_rules *rules, const struct koda_policy *policy,
			 struct koda_error *err)
{
	size_t count = FLOOR_PATHS;
	size_t bytes = FLOOR_BYTES;
	int r;

	for (size_t i = 0; i < KODA_LIST_COUNT; i++) {
		if (koda_list_is_paths((enum koda_list)i)) {
			count += policy->lists[i].count;
			bytes += policy->lists[i].text.len;
		}
	}
	r = koda_pathindex_reserve(&rules->paths, count, bytes);
	return r < 0 ? koda_fail_room(err, r, "the list of path rules") : KODA_OK;
}

static int fill_paths(struct koda_rules *rules, const struct koda_policy *policy,
		      const struct koda_place *place, struct koda_error *err)
{
	int r = reserve_paths(rules, policy, err);

	if (r == KODA_OK)
		r = add_paths(rules, policy, KODA_LIST_DENY_READ, KODA_REASON_DENY_READ, err);
	if (r == KODA_OK)
		r = add_paths(rules, policy, KODA_LIST_ALLOW_READ_WITHIN_DENY,
			      KODA_REASON_READ_HOLE, err);
	if (r == KODA_OK)
		r = add_paths(rules, policy, KODA_LIST_ALLOW_WRITE, KODA_REASON_ALLOW_WRITE, err);
	if (r == KODA_OK)
		r = add_paths(rules, policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW,
			      KODA_REASON_DENY_WRITE, err);
	if (r == KODA_OK)
		r = koda_floor_add(&rules->paths, place,
				   policy->flags[KODA_FLAG_ALLOW_GIT_CONFIG].on, err);
	if (r == KODA_OK)
		r = add_git_open(rules, place, err);
	/* A policy without writable paths gets no writable copies. */
	if (r == KODA_OK && policy->lists[KODA_LIST_ALLOW_WRITE].count > 0)
		r = koda_floor_add_caches(&rules->paths, place, err);
	return r;
}

static int fill_hosts(struct koda_rules *rules, const struct koda_policy *policy,
		      struct koda_error *err)
{
	int r;

	if (koda_set_copy(&rules->allowed, &policy->lists[KODA_LIST_ALLOWED_DOMAINS]) < 0 ||
	    koda_set_copy(&rules->denied, &policy->lists[KODA_LIST_DENIED_DOMAINS]) < 0)
		return koda_fail_nomem(err);
	r = add_hosts(&rules->hosts, &rules->allowed, false, err);
	if (r == KODA_OK)
		r = add_hosts(&rules->hosts, &rules->denied, true, err);
	rules->has_hosts = r == KODA_OK;
	return r;
}

static int make(const struct koda_policy *policy, const struct koda_place *given, bool with_hosts,
		struct koda_rules **ret_rules, struct koda_error *err)
{
	struct koda_place known;
	const struct koda_place *place = &known;
	struct koda_rules *rules;
	int r = koda_sized_take(&known, sizeof(known), sizeof(known), given, "koda_place", err);

	if (r < 0)
		return r;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return koda_fail_nomem(err);
	atomic_init(&rules->owners, 1);
	rules->paths = (struct koda_pathindex)KODA_PATHINDEX_INIT;
	rules->allowed = (struct koda_set)KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	rules->denied = (struct koda_set)KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	rules->hosts = (struct koda_hostindex)KODA_HOSTINDEX_INIT;
	r = fill_paths(rules, policy, place, err);
	if (r == KODA_OK && with_hosts)
		r = fill_hosts(rules, policy, err);
	if (r < 0) {
		koda_rules_free(rules);
		return r;
	}
	*ret_rules = rules;
	return KODA_OK;
}

int koda_rules_new(const struct koda_policy *policy, const struct koda_place *place,
		   struct koda_rules **ret_rules, struct koda_error *err)
{
	return make(policy, place, true, ret_rules, err);
}

int koda_rules_new_for_paths(const struct koda_policy *policy, const struct koda_place *place,
			     struct koda_rules **ret_rules, struct koda_error *err)
{
	return make(policy, place, false, ret_rules, err);
}

struct koda_rules *koda_rules_share(struct koda_rules *rules)
{
	(void)atomic_fetch_add(&rules->owners, 1);
	return rules;
}

void koda_rules_free(struct koda_rules *rules)
{
	if (!rules || atomic_fetch_sub(&rules->owners, 1) > 1)
		return;
	koda_pathindex_clear(&rules->paths);
	koda_hostindex_clear(&rules->hosts);
	koda_set_clear(&rules->allowed);
	koda_set_clear(&rules->denied);
	free(rules);
}

const struct koda_pathindex *koda_rules_paths(const struct koda_rules *rules)
{
	return &rules->paths;
}

int koda_rules_blob_add(const struct koda_rules *rules, struct koda_buf *out)
{
	return koda_pathindex_blob_add(&rules->paths, out);
}

int koda_rules_idle(const struct koda_rules *rules, bool *ret_idle, struct koda_error *err)
{
	return koda_path_verdict_idle(&rules->paths, ret_idle, err);
}

bool koda_rules_lead_to(const struct koda_rules *rules, struct koda_span path)
{
	return koda_pathindex_leads_to(&rules->paths, path);
}

static struct koda_verdict verdict(enum koda_answer answer, enum koda_reason reason,
				   struct koda_span rule)
{
	return (struct koda_verdict){ .answer = answer, .reason = reason, .rule = rule };
}

static struct koda_verdict plain(enum koda_answer answer, enum koda_reason reason)
{
	return verdict(answer, reason, koda_span_of(""));
}

struct koda_verdict koda_rules_read(const struct koda_rules *rules, const char *path, size_t len)
{
	return koda_path_verdict_read(&rules->paths, (struct koda_span){ path, len });
}

struct koda_verdict koda_rules_write(const struct koda_rules *rules, const char *path, size_t len)
{
	return koda_path_verdict_write(&rules->paths, (struct koda_span){ path, len });
}

void koda_rules_both(const struct koda_rules *rules, struct koda_span path,
		     struct koda_verdict *ret_read, struct koda_verdict *ret_write)
{
	koda_path_verdict_both(&rules->paths, path, ret_read, ret_write);
}

struct koda_verdict koda_rules_replace(const struct koda_rules *rules, const char *path, size_t len)
{
	return koda_path_verdict_replace(&rules->paths, (struct koda_span){ path, len });
}

bool koda_rules_have_holes(const struct koda_rules *rules)
{
	return rules->paths.marks & MARK(READ_HOLE);
}

/* A question to the host index, and its result. */
struct question {
	uint16_t port;
	unsigned int guard_bits; /* prefix length from which on a net lists the address */
	bool denied;
	bool allowed;
	bool listed; /* allowed by a rule that lifts the address guard */
	size_t rule; /* the deciding entry of its list */
};

static bool see_rule(void *ctx, const struct koda_hostmark *mark)
{
	struct question *q = ctx;
	bool lists;

	if (mark->port != 0 && mark->port != q->port)
		return false;
	if (mark->tag & 1) {
		q->denied = true;
		q->rule = mark->tag >> 1;
		return true; /* nothing outweighs it */
	}
	lists = mark->kind == KODA_HOSTRULE_NAME
			? !mark->public_only
			: mark->kind == KODA_HOSTRULE_NET && mark->prefix >= q->guard_bits;
	if (!q->allowed || lists)
		q->rule = mark->tag >> 1;
	q->allowed = true;
	q->listed = q->listed || lists;
	return false;
}

/* Looks a host up; an address is a net with all bits. */
static struct question ask(const struct koda_rules *rules, const struct koda_host *host,
			   uint16_t port, unsigned int guard_bits)
{
	struct question q = { .port = port, .guard_bits = guard_bits };
	const struct koda_hostquery query = {
		.kind = host->is_addr ? KODA_HOSTRULE_NET : KODA_HOSTRULE_NAME,
		.prefix = host->is_addr ? koda_addr_bits(&host->addr) : 0,
		.port = port,
		.host = host,
	};

	(void)koda_hostindex_covering(&rules->hosts, &query, see_rule, &q);
	return q;
}

/* Applies the rules to a canonical host, without the address guard. */
static struct koda_verdict check_host(const struct koda_rules *rules, const struct koda_host *host,
				      uint16_t port)
{
	struct question q = ask(rules, host, port, 0);

	if (q.denied)
		return verdict(KODA_DENY, KODA_REASON_HOST_DENIED,
			       koda_set_get(&rules->denied, q.rule));
	if (q.allowed)
		return verdict(KODA_ALLOW, KODA_REASON_HOST_ALLOWED,
			       koda_set_get(&rules->allowed, q.rule));
	return plain(rules->allowed.count == 0 ? KODA_ALLOW : KODA_DENY, KODA_REASON_DEFAULT);
}

/* T-07 a name or literal that leads to this machine, its network or a metadata service: only what
 * a rule lists may pass. host is the requested one; passed is the verdict if the guard passes it.
 */
static struct koda_verdict guard(const struct koda_rules *rules, const struct koda_host *host,
				 uint16_t port, const struct koda_addr *addr,
				 struct koda_verdict passed)
{
	struct koda_host target = { .is_addr = true, .addr = *addr };
	struct koda_host inner = { .is_addr = true };
	unsigned int bits = 0;
	enum koda_addr_class class_ = koda_addr_classify(addr, &bits);
	struct question q = ask(rules, &target, port, bits);

	/* A denied address is denied under every name, and inside every IPv6 form. */
	if (!q.denied && koda_addr_inner(addr, &inner.addr)) {
		struct question carried = ask(rules, &inner, port, 0);

		q.denied = carried.denied;
		q.rule = carried.denied ? carried.rule : q.rule;
	}
	if (q.denied)
		return verdict(KODA_DENY, KODA_REASON_HOST_DENIED,
			       koda_set_get(&rules->denied, q.rule));
	if (class_ == KODA_ADDR_PUBLIC || q.listed)
		return passed;
	if (!host->is_addr && ask(rules, host, port, bits).listed)
		return passed;
	return verdict(KODA_DENY, KODA_REASON_ADDRESS, koda_span_of(koda_addr_class_name(class_)));
}

/* Applies the rules, then the guard to addr, or to the host itself if it is an address. */
static struct koda_verdict judge(const struct koda_rules *rules, struct koda_span text,
				 uint16_t port, const struct koda_addr *addr)
{
	struct koda_host host;
	struct koda_verdict now;

	if (!rules->has_hosts || port == 0 || koda_host_parse(text, &host, NULL) < 0)
		return plain(KODA_DENY, KODA_REASON_INVALID);
	now = check_host(rules, &host, port);
	if (now.answer == KODA_ALLOW && host.is_addr)
		now = guard(rules, &host, port, &host.addr, now);
	if (now.answer == KODA_ALLOW && addr)
		now = guard(rules, &host, port, addr, now);
	return now;
}

struct koda_verdict koda_rules_connect(const struct koda_rules *rules, const char *host, size_t len,
				       uint16_t port)
{
	return judge(rules, (struct koda_span){ host, len }, port, NULL);
}

struct koda_verdict koda_rules_address(const struct koda_rules *rules, const char *host, size_t len,
				       uint16_t port, const struct koda_addr *addr)
{
	struct koda_addr plain_addr = koda_addr_unmap(addr);

	if (addr->family != 4 && addr->family != 6)
		return plain(KODA_DENY, KODA_REASON_INVALID);
	return judge(rules, (struct koda_span){ host, len }, port, &plain_addr);
}
