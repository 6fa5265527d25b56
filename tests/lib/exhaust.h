/* SPDX-License-Identifier: MIT */
/*
 * Runs one entry point with its first allocation failing, then its second, and so on until none
 * is left to fail. Each time it must say NOMEM and write no result; under LeakSanitizer it must
 * also leak nothing. Some libraries can do without an allocation (they only wanted to give memory
 * back): then the result must be the one of an undisturbed run.
 */
#ifndef KODA_TEST_EXHAUST_H
#define KODA_TEST_EXHAUST_H

#include "../unit/koda_test.h"
#include "failing_malloc.h"

/* More than any of them makes; past it the loop would not end by itself. */
#define KODA_EXHAUST_MAX 100000

struct koda_exhaust {
	const char *name;
	/* Writes *ret on success only. No assertions inside: they would allocate, and fail. */
	int (*run)(void **ret, struct koda_error *err);
	bool (*same)(const void *ret, const void *undisturbed);
	void (*release)(void *ret);
	bool only_dry; /* leave out the runs in which memory comes back */
};

/* One run with allocation n failing; false if there was none to fail. */
static inline bool koda_exhaust_once(const struct koda_exhaust *entry, size_t n,
				     enum koda_alloc_mode mode, const void *undisturbed)
{
	struct koda_error err = { 0 };
	void *untouched = &err;
	void *ret = untouched;
	bool failed;
	int r;

	koda_alloc_arm(n, mode);
	r = entry->run(&ret, &err);
	failed = koda_alloc_disarm();
	if (r == KODA_OK) {
		if (!entry->same(ret, undisturbed))
			fail_msg("%s: allocation %zu failed, and the result is wrong", entry->name,
				 n);
		entry->release(ret);
	} else if (!failed || r != KODA_E_NOMEM || err.code != r || !err.message[0]) {
		fail_msg("%s: allocation %zu failed%s, and it returned %s (%s \"%s\")", entry->name,
			 n, mode == KODA_ALLOC_DRY ? " and all after" : "", koda_code_name(r),
			 koda_code_name(err.code), err.message);
	} else if (ret != untouched) {
		fail_msg("%s: allocation %zu failed, but there is a result", entry->name, n);
	}
	return failed;
}

static inline void koda_exhaust(const struct koda_exhaust *entry)
{
	struct koda_error err = { 0 };
	void *undisturbed = NULL;
	size_t n = 1;

	if (entry->run(&undisturbed, &err) < 0)
		fail_msg("%s: %s", entry->name, err.message);
	while (n < KODA_EXHAUST_MAX && koda_exhaust_once(entry, n, KODA_ALLOC_DRY, undisturbed)) {
		if (!entry->only_dry)
			(void)koda_exhaust_once(entry, n, KODA_ALLOC_ONCE, undisturbed);
		n++;
	}
	KODA_EXPECT(entry->name, n > 1 && n < KODA_EXHAUST_MAX);
	entry->release(undisturbed);
}

/* As a cmocka test: KODA_EXHAUST_TEST(&entries[0]). */
static inline void koda_exhaust_test_(void **state)
{
	koda_exhaust(*state);
}

#define KODA_EXHAUST_TEST(entry)                                                                   \
	(struct CMUnitTest)                                                                        \
	{                                                                                          \
		.name = (entry)->name, .test_func = koda_exhaust_test_,                            \
		.initial_state = (void *)(uintptr_t)(entry)                                        \
	}

#endif
