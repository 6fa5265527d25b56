/* SPDX-License-Identifier: MIT */
/* What verdicts and decoding cost with many rules. */
#include "bench.h"

#include <koda/koda.h>
#include <string.h>

#define PATH_RULES   10000
#define HOST_RULES   100000
#define ROUNDS       400
#define BATCH        64
#define PARSE_ROUNDS 60

static void must(int r, const struct koda_error *err)
{
	if (r < 0) {
		fprintf(stderr, "bench: %s: %s\n", err->field, err->message);
		_Exit(1);
	}
}

static struct koda_policy *path_policy(void)
{
	static const enum koda_list lists[] = { KODA_LIST_DENY_READ,
						KODA_LIST_ALLOW_READ_WITHIN_DENY,
						KODA_LIST_ALLOW_WRITE,
						KODA_LIST_DENY_WRITE_WITHIN_ALLOW };
	struct koda_policy *policy;
	struct koda_error err = { 0 };
	char path[128];

	must(koda_policy_new(&policy, &err), &err);
	for (int i = 0; i < PATH_RULES; i++) {
		int n = snprintf(path, sizeof(path), "/home/user/code/d%d/src/module%d", i % 100,
				 i);

		must(koda_policy_add(policy, lists[i % 4], path, (size_t)n, &err), &err);
	}
	return policy;
}

static struct koda_policy *host_policy(void)
{
	struct koda_policy *policy;
	struct koda_error err = { 0 };
	char host[128];

	must(koda_policy_new(&policy, &err), &err);
	for (int i = 0; i < HOST_RULES; i++) {
		int n = snprintf(host, sizeof(host), "%shost%d.zone%d.example.com%s",
				 i % 3 ? "" : "*.", i, i % 1000, i % 2 ? ":443" : "");

		must(koda_policy_add(policy,
				     i % 10 ? KODA_LIST_ALLOWED_DOMAINS : KODA_LIST_DENIED_DOMAINS,
				     host, (size_t)n, &err),
		     &err);
	}
	return policy;
}

/* Each sample is the mean of a batch over different queries, so that the clock does not count. */
static void bench_paths(const struct koda_rules *rules)
{
	static double samples[ROUNDS];
	char paths[BATCH][128];
	unsigned int allowed = 0;

	for (int i = 0; i < BATCH; i++)
		(void)snprintf(paths[i], sizeof(paths[i]),
			       "/home/user/code/d%d/src/module%d/deep/er/file.c", (i * 157) % 100,
			       (i * 157) % PATH_RULES);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = bench_now();

		for (int i = 0; i < BATCH; i++)
			allowed += koda_rules_write(rules, paths[i], strlen(paths[i])).answer;
		samples[round] = (double)(bench_now() - start) / BATCH / 1000;
	}
	/* Used, or the compiler would leave the questions out. */
	printf("# %u of %d writes allowed\n", allowed, ROUNDS * BATCH);
	bench_print("write verdict, 10,000 path rules", bench_percentiles(samples, ROUNDS), "us");
}

static void bench_hosts(const struct koda_rules *rules)
{
	static double samples[ROUNDS];
	char hosts[BATCH][128];
	unsigned int allowed = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start;

		for (int i = 0; i < BATCH; i++) {
			int n = (round * BATCH + i) * 7919 % HOST_RULES;

			(void)snprintf(hosts[i], sizeof(hosts[i]), "%shost%d.zone%d.example.com",
				       i % 2 ? "www." : "", n, n % 1000);
		}
		start = bench_now();
		for (int i = 0; i < BATCH; i++)
			allowed +=
				koda_rules_connect(rules, hosts[i], strlen(hosts[i]), 443).answer;
		samples[round] = (double)(bench_now() - start) / BATCH / 1000;
	}
	printf("# %u of %d connections allowed\n", allowed, ROUNDS * BATCH);
	bench_print("connect verdict, 100,000 domain rules", bench_percentiles(samples, ROUNDS),
		    "us");
}

/* A policy text of just under 1 MiB. */
static char *large_text(size_t *ret_len)
{
	char *text = malloc(KODA_POLICY_TEXT_MAX + 1);
	size_t used;

	if (!text)
		_Exit(1);
	used = (size_t)sprintf(text, "{\"net\":{\"allowed_domains\":[\"a.example\"");
	for (int i = 0; used < KODA_POLICY_TEXT_MAX - 64; i++)
		used += (size_t)sprintf(text + used, ",\"host%d.zone%d.example.com:443\"", i,
					i % 100);
	used += (size_t)sprintf(text + used, "]}}");
	*ret_len = used;
	return text;
}

static void bench_parse(void)
{
	static double samples[PARSE_ROUNDS];
	size_t len;
	char *text = large_text(&len);

	for (int round = 0; round < PARSE_ROUNDS; round++) {
		struct koda_policy *policy;
		struct koda_error err = { 0 };
		uint64_t start = bench_now();

		must(koda_policy_parse(text, len, &policy, &err), &err);
		samples[round] = (double)(bench_now() - start) / 1e6;
		koda_policy_free(policy);
	}
	bench_print("decode a policy of 1 MiB", bench_percentiles(samples, PARSE_ROUNDS), "ms");
	free(text);
}

static void bench_compile_and_compose(const struct koda_policy *policy)
{
	static double compile[PARSE_ROUNDS / 4];
	static double compose[PARSE_ROUNDS / 4];
	const struct koda_place nowhere = { .size = sizeof(nowhere) };

	for (int round = 0; round < PARSE_ROUNDS / 4; round++) {
		struct koda_policy *meet;
		struct koda_rules *rules;
		struct koda_error err = { 0 };
		uint64_t start = bench_now();

		must(koda_rules_new(policy, &nowhere, &rules, &err), &err);
		compile[round] = (double)(bench_now() - start) / 1e6;
		koda_rules_free(rules);
		start = bench_now();
		must(koda_policy_compose(policy, policy, &meet, &err), &err);
		compose[round] = (double)(bench_now() - start) / 1e6;
		koda_policy_free(meet);
	}
	bench_print("compile 100,000 domain rules", bench_percentiles(compile, PARSE_ROUNDS / 4),
		    "ms");
	bench_print("compose 100,000 domain rules", bench_percentiles(compose, PARSE_ROUNDS / 4),
		    "ms");
}

int main(void)
{
	const struct koda_place nowhere = { .size = sizeof(nowhere) };
	struct koda_policy *paths = path_policy();
	struct koda_policy *hosts = host_policy();
	struct koda_rules *path_rules;
	struct koda_rules *host_rules;
	struct koda_error err = { 0 };

	must(koda_rules_new(paths, &nowhere, &path_rules, &err), &err);
	must(koda_rules_new(hosts, &nowhere, &host_rules, &err), &err);
	bench_paths(path_rules);
	bench_hosts(host_rules);
	bench_parse();
	bench_compile_and_compose(hosts);
	koda_rules_free(path_rules);
	koda_rules_free(host_rules);
	koda_policy_free(paths);
	koda_policy_free(hosts);
	return 0;
}
