/* SPDX-License-Identifier: MIT */
/* What Seatbelt profiles cost: of the default policy, at a place like a developer's. */
#include "bench.h"

#include "plan/seatbelt_cache.h"
#include "policy/policy.h"

#include <koda/koda.h>

#define ROUNDS 400
#define BATCH  16

static const char *const exec_dirs[] = { "/usr/local/bin",    "/usr/bin",     "/bin", "/usr/sbin",
					 "/opt/homebrew/bin", "/Users/u/bin", NULL };
static const char *const missing_dirs[] = { "/Users/u/p/.koda", "/Users/u/p/.claude", NULL };
static const char *const caches[] = { "/Users/u/.cargo/registry", "/Users/u/.npm/_cacache", NULL };
static const struct koda_place place = { .size = sizeof(place),
					 .root = "/Users/u/p",
					 .home = "/Users/u",
					 .exec_dirs = exec_dirs,
					 .missing_dirs = missing_dirs,
					 .caches = caches };

static void must(int r, const struct koda_error *err)
{
	if (r < 0) {
		fprintf(stderr, "bench: %s: %s\n", err->field, err->message);
		_Exit(1);
	}
}

/* Prints what one profile costs; misses: the cache is emptied before each. */
static void bench(const char *name, const struct koda_seatbelt *request, bool misses)
{
	static double samples[ROUNDS];
	struct koda_seatbelt_cache cache = { .count = 0 };
	struct koda_error err = { 0 };
	size_t bytes = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = bench_now();

		for (int i = 0; i < BATCH; i++) {
			koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
			const struct koda_seatbelt_entry *entry;

			if (misses)
				koda_seatbelt_cache_clear(&cache);
			must(koda_seatbelt_cache_get(&cache, request, &place, &entry, &err), &err);
			must(koda_seatbelt_entry_print(entry, request->tag, &out, &err), &err);
			bytes = out.len;
		}
		samples[round] = (double)(bench_now() - start) / BATCH / 1000;
	}
	koda_seatbelt_cache_clear(&cache);
	bench_print(name, bench_percentiles(samples, ROUNDS), "us");
	printf("# %zu bytes\n", bytes);
}

int main(void)
{
	struct koda_seatbelt request = { .net = KODA_SEATBELT_PROXIED,
					 .port = 3128,
					 .tmpdir = "/private/var/folders/x/T/koda" };
	struct koda_policy *policy;
	struct koda_error err = { 0 };

	must(koda_policy_for_trust(KODA_TRUST_AUTO, place.root, &policy, &err), &err);
	request.policy = policy;
	bench("Seatbelt profile, rules and text", &request, true);
	bench("Seatbelt profile, from the cache", &request, false);
	request.tag = "koda-0123456789abcdef";
	bench("Seatbelt profile, from the cache, a tag", &request, false);
	koda_policy_free(policy);
	return 0;
}
