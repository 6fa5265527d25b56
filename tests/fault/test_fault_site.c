/* SPDX-License-Identifier: MIT */
/* Reading the site when memory runs out: an error, never a root or a rule that was not checked. */
#include "../lib/exhaust.h"

#include "../lib/scratch.h"
#include "base/error.h"
#include "policy/policy.h"
#include "run/project/ca_bundle.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <koda/policy.h>

static void *scratch;
static const char *dir; /* the same, to read */

static char elsewhere[] = "/no/such/project";

static int keep(struct koda_site *site, int r, void **ret, struct koda_error *err)
{
	struct koda_site *kept = r == KODA_OK ? malloc(sizeof(*kept)) : NULL;

	if (kept) {
		*kept = *site;
		*ret = kept;
		return r;
	}
	koda_site_clear(site);
	if (r == KODA_OK) /* our own allocation was the one to fail */
		*err = (struct koda_error){ .code = KODA_E_NOMEM, .message = "out of memory" };
	return r == KODA_OK ? KODA_E_NOMEM : r;
}

static int load(void **ret, struct koda_error *err)
{
	static const char *const env[] = { "HOME=/home/user",
					   "XDG_CONFIG_HOME=/home/user/configuration/of/everything",
					   "XDG_STATE_HOME=/home/user/state",
					   "XDG_RUNTIME_DIR=/run/user/1000",
					   "PATH=/usr/bin:/bin:/no/such/directory:relative",
					   NULL };
	struct koda_site site = KODA_SITE_INIT;

	return keep(&site, koda_site_load(&site, "/code/../code/project", env, err), ret, err);
}

/* Without a root the working directory is asked for, which allocates too. */
static int load_here(void **ret, struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;

	return keep(&site, koda_site_load(&site, NULL, NULL, err), ret, err);
}

static bool same_site(const void *ret, const void *undisturbed)
{
	const struct koda_site *a = ret;
	const struct koda_site *b = undisturbed;
	bool same = strcmp(a->root, b->root) == 0 && a->exec_dirs.len == b->exec_dirs.len;

	for (size_t i = 0; same && i < a->exec_dirs.len; i++)
		same = strcmp(a->exec_dirs.items[i], b->exec_dirs.items[i]) == 0;
	return same;
}

static void release_site(void *ret)
{
	koda_site_clear(ret);
	free(ret);
}

static bool same_text(const void *ret, const void *undisturbed)
{
	return strcmp(ret, undisturbed) == 0;
}

static bool same_policy(const void *ret, const void *undisturbed)
{
	return koda_policy_equal(ret, undisturbed);
}

static int see(void **ret, struct koda_error *err)
{
	struct koda_site site = KODA_SITE_INIT;
	char *lexical = NULL;
	char *resolved = NULL;
	int r = koda_site_see(&site, koda_in(dir, "link/repo/file"), &lexical, &resolved, err);

	koda_site_clear(&site);
	if (r < 0)
		return lexical || resolved ? KODA_E_INTERNAL : r;
	free(lexical);
	*ret = resolved;
	return r;
}

/* Rules through links: a deny, a hole and a place to write, each followed. One that could not be,
 * for want of memory, must not pass for one without links. */
static int resolve_policy(void **ret, struct koda_error *err)
{
	static const enum koda_list lists[] = { KODA_LIST_DENY_READ,
						KODA_LIST_ALLOW_READ_WITHIN_DENY,
						KODA_LIST_ALLOW_WRITE };
	struct koda_policy *policy = NULL;
	int r = koda_policy_new(&policy, err);

	KODA_EACH(list, lists) {
		const char *path = koda_in(dir, "link/a/path/below/it");

		if (r == KODA_OK)
			r = koda_policy_add(policy, *list, path, strlen(path), err);
	}
	if (r == KODA_OK)
		r = koda_policy_links_resolve_now(&(struct koda_site){ .root = elsewhere }, policy,
						  err);
	if (r == KODA_OK)
		*ret = policy;
	else
		koda_policy_free(policy);
	return r;
}

static int authority(struct koda_policy **ret_policy, struct koda_error *err)
{
	const char *path = koda_in(dir, "link/ca.pem");
	int r = koda_policy_new(ret_policy, err);

	return r < 0 ? r : koda_policy_set_ca_bundle(*ret_policy, path, strlen(path), err);
}

static int note_authority(void **ret, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_site site = KODA_SITE_INIT;
	int r = authority(&policy, err);

	if (r == KODA_OK)
		r = koda_ca_bundle_note(&site, policy, err);
	return keep(&site, r, ret, err);
}

static bool hides_the_same(const void *ret, const void *undisturbed)
{
	const struct koda_strv *a = &((const struct koda_site *)ret)->hidden;
	const struct koda_strv *b = &((const struct koda_site *)undisturbed)->hidden;
	bool same = a->len == b->len && a->len > 0;

	for (size_t i = 0; same && i < a->len; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static int bundle(void **ret, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_CA_BUNDLE_MAX);
	char *text = NULL;
	int r = authority(&policy, err);

	if (r == KODA_OK)
		r = koda_ca_bundle_make(policy, &out, err);
	if (r == KODA_OK && koda_buf_take(&out, &text) < 0)
		r = koda_fail_nomem(err);
	if (r == KODA_OK)
		*ret = text;
	return r;
}

static void release_policy(void *ret)
{
	koda_policy_free(ret);
}

static const struct koda_exhaust entries[] = {
	{ "koda_site_load", load, same_site, release_site },
	{ "koda_site_load, here", load_here, same_site, release_site },
	{ "koda_site_see", see, same_text, free },
	{ "koda_policy_links_resolve_now", resolve_policy, same_policy, release_policy },
	{ "koda_ca_bundle_note", note_authority, hides_the_same, release_site },
	{ "koda_ca_bundle_make", bundle, same_text, free },
};

/* The group's own state would take the place of the tests'. */
static int setup(void **state)
{
	(void)state;
	if (koda_scratch_setup(&scratch) < 0)
		return -1;
	dir = scratch;
	(void)koda_make_dir(dir, "real");
	(void)koda_make_dir(dir, "real/repo");
	(void)koda_make_dir(dir, "real/repo/.git");
	(void)koda_make_link(dir, "link", "real");
	(void)koda_make_file(dir, "real/ca.pem",
			     "-----BEGIN CERTIFICATE-----\nMAYwADAAAwA=\n"
			     "-----END CERTIFICATE-----\n");
	return chdir(dir);
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : koda_scratch_teardown(&scratch);
}

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

int main(void)
{
	struct CMUnitTest tests[ENTRIES];

	for (size_t i = 0; i < ENTRIES; i++)
		tests[i] = KODA_EXHAUST_TEST(&entries[i]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
