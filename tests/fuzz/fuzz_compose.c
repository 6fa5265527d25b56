/* SPDX-License-Identifier: MIT */
/*
 * The laws of composition on arbitrary pairs of policies: what the result allows, both sides
 * allow; a policy composed with itself or with the default is itself.
 *
 * Input that begins with "{" is one or two policies as JSON, split at the first NUL. Anything else
 * is a program that builds two policies out of a small world, where rules meet often.
 */
#include "target.h"

#include "policy/hostrule.h"
#include "policy/policy.h"

#include <koda/rules.h>

#define ENTRIES_MAX 12 /* of each list, so that a run stays short */
#define ADDRS_MAX   64
#define PORTS_MAX   4

static const struct koda_place place = { .size = sizeof(place), .root = "/p" };

/* Accesses to try, drawn from the rules of both sides. */
struct probes {
	struct koda_set paths;
	struct koda_set hosts;
	struct koda_addr addrs[ADDRS_MAX];
	size_t addr_count;
	uint16_t ports[PORTS_MAX];
	size_t port_count;
};

static void add(struct koda_set *set, const char *before, struct koda_span text, const char *after)
{
	koda_auto_buf struct koda_buf joined = KODA_BUF_INIT(SIZE_MAX / 2);

	CHECK(koda_buf_addf(&joined, "%s%.*s%s", before, (int)text.len, text.ptr, after) ==
	      KODA_OK);
	CHECK(koda_set_add(set, koda_buf_span(&joined), NULL) == KODA_OK);
}

/* The path, one below it, and the directory it is in. */
static void add_path(struct probes *probes, struct koda_span path)
{
	size_t parent = path.len;

	while (parent > 1 && path.ptr[parent - 1] != '/')
		parent--;
	add(&probes->paths, "", path, "");
	add(&probes->paths, "", path, "/x");
	add(&probes->paths, "", (struct koda_span){ path.ptr, parent }, "");
}

static void add_addr(struct probes *probes, const struct koda_addr *addr)
{
	size_t before = probes->hosts.count;
	char text[KODA_ADDR_TEXT];

	koda_addr_format(addr, text);
	add(&probes->hosts, "", koda_span_of(text), "");
	if (probes->hosts.count > before && probes->addr_count < ADDRS_MAX)
		probes->addrs[probes->addr_count++] = *addr;
}

/* The first and last address of a net, and the second one. */
static void add_net(struct probes *probes, const struct koda_hostrule *rule)
{
	struct koda_addr addr = rule->host.addr;
	size_t size = koda_addr_bits(&addr) / 8;

	add_addr(probes, &addr);
	if (rule->prefix == koda_addr_bits(&addr))
		return;
	addr.bytes[size - 1] |= 1;
	add_addr(probes, &addr);
	for (size_t bit = rule->prefix; bit < 8 * size; bit++)
		addr.bytes[bit / 8] |= (uint8_t)(0x80U >> (bit % 8));
	add_addr(probes, &addr);
}

static void add_port(struct probes *probes, uint16_t port)
{
	for (size_t i = 0; i < probes->port_count; i++)
		if (probes->ports[i] == port)
			return;
	if (port && probes->port_count < PORTS_MAX)
		probes->ports[probes->port_count++] = port;
}

static void add_pattern(struct probes *probes, struct koda_span pattern)
{
	struct koda_hostrule rule;

	CHECK(koda_hostrule_parse(pattern, &rule, NULL) == KODA_OK);
	add_port(probes, rule.port);
	if (rule.kind == KODA_HOSTRULE_NET)
		add_net(probes, &rule);
	if (rule.host.len > 0) {
		add(&probes->hosts, "", koda_span_of(rule.host.name), "");
		add(&probes->hosts, "x.", koda_span_of(rule.host.name), "");
	}
}

static void draw(struct probes *probes, const struct koda_policy *policy)
{
	for (int i = 0; i < KODA_LIST_COUNT; i++) {
		enum koda_list list = (enum koda_list)i;

		for (size_t k = 0; k < koda_policy_count(policy, list) && k < ENTRIES_MAX; k++) {
			if (koda_list_is_paths(list))
				add_path(probes, koda_policy_get(policy, list, k));
			else
				add_pattern(probes, koda_policy_get(policy, list, k));
		}
	}
}

static void draw_usual(struct probes *probes)
{
	static const char *const paths[] = { "/", "/p/.git/config", "/p/.git/hooks", "/p/.envrc" };
	static const char *const hosts[] = {
		"example.org:443",
		"8.8.8.8",
		"10.0.0.1",
		"127.0.0.1",
		"::1",
		"169.254.169.254:81",
		"169.254.1.1",
		"64:ff9b::a9fe:a9fe",
		"2606:4700::1",
		"::8.8.8.8",
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(paths); i++)
		add_path(probes, koda_span_of(paths[i]));
	for (size_t i = 0; i < KODA_ARRAY_LEN(hosts); i++)
		add_pattern(probes, koda_span_of(hosts[i]));
}

/* The three policies of one composition, compiled. */
struct trio {
	const struct koda_policy *policy[2]; /* parent, child */
	struct koda_rules *side[2];
	struct koda_rules *both;
};

static bool is_allowed(const struct koda_rules *rules, bool write, struct koda_span path)
{
	struct koda_verdict v = write ? koda_rules_write(rules, path.ptr, path.len)
				      : koda_rules_read(rules, path.ptr, path.len);

	return v.answer == KODA_ALLOW;
}

/* For files the result is the exact meet: neither wider nor narrower. */
static void check_path(const struct trio *trio, struct koda_span path)
{
	for (int write = 0; write < 2; write++)
		CHECK(is_allowed(trio->both, write, path) ==
		      (is_allowed(trio->side[0], write, path) &&
		       is_allowed(trio->side[1], write, path)));
}

/* A side objects to a connection. A child without allowed_domains says nothing: only what it
 * denies by name or address counts. */
static bool objects_to(const struct trio *trio, size_t s, struct koda_verdict v)
{
	bool silent = s == 1 && koda_policy_count(trio->policy[1], KODA_LIST_ALLOWED_DOMAINS) == 0;

	return v.answer == KODA_DENY && (!silent || v.reason == KODA_REASON_HOST_DENIED);
}

static void check_host(const struct trio *trio, struct koda_span host, uint16_t port,
		       const struct probes *probes)
{
	struct koda_verdict both = koda_rules_connect(trio->both, host.ptr, host.len, port);
	bool is_addr = memchr(host.ptr, ':', host.len) || host.ptr[0] <= '9';

	for (size_t s = 0; s < 2; s++)
		if (objects_to(trio, s,
			       koda_rules_connect(trio->side[s], host.ptr, host.len, port)))
			CHECK(both.answer == KODA_DENY);
	/* An address has been judged already; a name still has to be, for where it leads. */
	if (both.answer == KODA_DENY || is_addr)
		return;
	for (size_t i = 0; i < probes->addr_count; i++) {
		const struct koda_addr *addr = &probes->addrs[i];
		struct koda_verdict there =
			koda_rules_address(trio->both, host.ptr, host.len, port, addr);

		if (there.answer == KODA_DENY)
			continue;
		for (size_t s = 0; s < 2; s++)
			CHECK(!objects_to(
				trio, s,
				koda_rules_address(trio->side[s], host.ptr, host.len, port, addr)));
	}
}

static void check_scalars(const struct koda_policy *parent, const struct koda_policy *child,
			  const struct koda_policy *both)
{
	const struct koda_policy *sides[] = { parent, child };

	for (size_t s = 0; s < 2; s++) {
		for (int i = 0; i < KODA_FLAG_COUNT; i++)
			CHECK(!koda_policy_flag(both, (enum koda_flag)i) ||
			      koda_policy_flag(sides[s], (enum koda_flag)i));
		for (int i = 0; i < KODA_LIMIT_POLICY_COUNT; i++) {
			uint64_t limit, meet;

			if (koda_policy_limit(sides[s], (enum koda_limit)i, &limit))
				CHECK(koda_policy_limit(both, (enum koda_limit)i, &meet) &&
				      meet <= limit);
		}
		CHECK(koda_policy_ask(both) <= koda_policy_ask(sides[s]));
		CHECK(koda_policy_search_depth(both) >= koda_policy_search_depth(sides[s]));
		CHECK(!koda_policy_has_network(both) || koda_policy_has_network(sides[s]));
	}
}

/* What a child means on its own: where it states nothing, the parent decides. */
static struct koda_policy *meaning_of(const struct koda_policy *child,
				      const struct koda_policy *parent)
{
	struct koda_policy *meaning = NULL;

	CHECK(koda_policy_copy(child, &meaning, NULL) == KODA_OK);
	for (int i = 0; i < KODA_FLAG_COUNT; i++)
		if (!child->flags[i].stated)
			koda_policy_set_flag(meaning, (enum koda_flag)i,
					     koda_policy_flag(parent, (enum koda_flag)i));
	if (!child->depth_stated)
		koda_policy_set_search_depth(meaning, koda_policy_search_depth(parent));
	if (!koda_policy_has_allow_write(child))
		CHECK(koda_policy_add(meaning, KODA_LIST_ALLOW_WRITE, "/", 1, NULL) == KODA_OK);
	return meaning;
}

static void check_accesses(const struct koda_policy *parent, const struct koda_policy *child,
			   const struct koda_policy *both)
{
	struct probes probes = { .paths = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
				 .hosts = KODA_SET_INIT(KODA_LIST_BYTES_MAX) };
	struct trio trio = { .policy = { parent, child } };

	draw_usual(&probes);
	draw(&probes, parent);
	draw(&probes, child);
	CHECK(koda_rules_new(parent, &place, &trio.side[0], NULL) == KODA_OK);
	CHECK(koda_rules_new(child, &place, &trio.side[1], NULL) == KODA_OK);
	CHECK(koda_rules_new(both, &place, &trio.both, NULL) == KODA_OK);
	for (size_t i = 0; i < probes.paths.count; i++)
		check_path(&trio, koda_set_get(&probes.paths, i));
	for (size_t i = 0; i < probes.hosts.count; i++)
		for (size_t p = 0; p < probes.port_count; p++)
			check_host(&trio, koda_set_get(&probes.hosts, i), probes.ports[p], &probes);
	koda_rules_free(trio.side[0]);
	koda_rules_free(trio.side[1]);
	koda_rules_free(trio.both);
	koda_set_clear(&probes.paths);
	koda_set_clear(&probes.hosts);
}

/* compose(policy, policy) and compose(policy, default) are policy. */
static void check_identities(const struct koda_policy *policy)
{
	koda_auto_policy struct koda_policy *standard = NULL;
	koda_auto_policy struct koda_policy *same = NULL;
	koda_auto_policy struct koda_policy *kept = NULL;

	CHECK(koda_policy_new(&standard, NULL) == KODA_OK);
	CHECK(koda_policy_compose(policy, policy, &same, NULL) == KODA_OK);
	CHECK(koda_policy_equal(policy, same));
	CHECK(koda_policy_compose(policy, standard, &kept, NULL) == KODA_OK);
	CHECK(koda_policy_equal(policy, kept));
}

static void check_pair(const struct koda_policy *parent, const struct koda_policy *child)
{
	koda_auto_policy struct koda_policy *meaning = meaning_of(child, parent);
	koda_auto_policy struct koda_policy *both = NULL;

	check_identities(parent);
	CHECK(koda_policy_compose(parent, child, &both, NULL) == KODA_OK);
	check_identities(both);
	check_scalars(parent, meaning, both);
	check_accesses(parent, meaning, both);
}

/* One instruction: two bytes that add an entry to, or set a field of, one of the policies. */
static void step(struct koda_policy *policy, unsigned int op, unsigned int arg)
{
	static const char *const names[] = { "a", "b", ".git", "x" };
	static const char *const hosts[] = {
		"a.test",
		"b.a.test",
		"*.a.test",
		"*.test",
		"*.b.a.test",
		"a.test#public",
		"10.0.0.0/8",
		"10.0.0.1",
		"10.0.0.0/7",
		"0.0.0.0/0",
		"169.254.169.254",
		"169.254.0.0/16",
		"169.254.170.2/31",
		"100.100.100.200/29",
		"::/0",
		"::/96",
		"::1",
		"64:ff9b::/96",
		"2002:a00::/24",
		"8.8.8.0/24",
		"8.8.8.8",
		"fd00::/8",
		"192.0.0.192/26",
		"::/104",
	};
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1024);
	unsigned int list = op % (KODA_LIST_COUNT + 2);
	unsigned int which = arg % KODA_ARRAY_LEN(hosts);
	const char *host = hosts[which];

	if (list == KODA_LIST_COUNT) {
		koda_policy_state_allow_write(policy, arg & 1);
		koda_policy_set_flag(policy, (enum koda_flag)(arg >> 1 & 3), arg & 8);
		koda_policy_set_ask(policy, (enum koda_ask)(arg >> 4 & 3));
		return;
	}
	if (list > KODA_LIST_COUNT) {
		(void)!koda_policy_set_limit(policy, (enum koda_limit)(arg % 6), arg, NULL);
		koda_policy_set_search_depth(policy, (uint8_t)arg);
		return;
	}
	if (koda_list_is_paths((enum koda_list)list)) {
		CHECK(koda_buf_addf(&text, "/%s", arg & 0x80 ? "p" : names[arg & 3]) == KODA_OK);
		for (unsigned int depth = arg >> 6 & 1 ? 3 : arg >> 4 & 3; depth > 0; depth--)
			CHECK(koda_buf_addf(&text, "/%s", names[arg >> depth & 3]) == KODA_OK);
	} else if (op & 0x40 && which < 5) {
		CHECK(koda_buf_addf(&text, "%s:%u", host, op & 0x20 ? 443U : 80U) == KODA_OK);
	} else if (list == KODA_LIST_DENIED_DOMAINS && op & 0x80) {
		CHECK(koda_buf_add(&text, "*", 1) == KODA_OK);
	} else {
		CHECK(koda_buf_addf(&text, "%s", host) == KODA_OK);
	}
	(void)!koda_policy_add(policy, (enum koda_list)list, text.ptr, text.len, NULL);
}

static void run_program(const uint8_t *data, size_t size)
{
	koda_auto_policy struct koda_policy *parent = NULL;
	koda_auto_policy struct koda_policy *child = NULL;

	CHECK(koda_policy_new(&parent, NULL) == KODA_OK);
	CHECK(koda_policy_new(&child, NULL) == KODA_OK);
	for (size_t i = 0; i + 1 < size && i < 2 * 4 * ENTRIES_MAX; i += 2)
		step(i / 2 % 2 ? child : parent, data[i], data[i + 1]);
	check_pair(parent, child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	koda_auto_policy struct koda_policy *parent = NULL;
	koda_auto_policy struct koda_policy *child = NULL;
	const char *nul;
	size_t len;

	if (size == 0 || text[0] != '{') {
		run_program(data, size);
		return 0;
	}
	nul = memchr(text, '\0', size);
	len = nul ? (size_t)(nul - text) : size;
	if (koda_policy_parse(text, len, &parent, NULL) < 0)
		return 0;
	if (!nul)
		CHECK(koda_policy_copy(parent, &child, NULL) == KODA_OK);
	else if (koda_policy_parse(nul + 1, size - len - 1, &child, NULL) < 0)
		return 0;
	check_pair(parent, child);
	return 0;
}
