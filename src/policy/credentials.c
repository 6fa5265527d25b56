/* SPDX-License-Identifier: MIT */
#include "policy/credentials.h"

#include "base/path.h"
#include "policy/floor.h"

#include <koda/policy.h>

/* Further credential stores, from the documentation of their tools. They are hidden and no part of
 * the floor, so a policy may make them writable. */
static const char *const further_home[] = {
	".cargo/credentials.toml", /* cargo: tokens of registries */
	".cargo/credentials",      /* cargo before 1.39, and still read */
	".pgpass",                 /* PostgreSQL: passwords */
	".my.cnf",                 /* MySQL, MariaDB: passwords among options */
	".mylogin.cnf",            /* MySQL: passwords, obfuscated */
	".gem/credentials",        /* RubyGems: API keys */
	".composer/auth.json",     /* Composer: tokens of registries */
	NULL
};

static const char *const further_config[] = {
	"git/credentials",      /* git-credential-store(1) */
	"containers/auth.json", /* podman, skopeo, buildah: registries */
	"composer/auth.json",   /* Composer */
	"glab-cli",             /* GitLab's command line */
	NULL
};

static int hide_all(struct koda_policy *policy, const char *dir, const char *const *names,
		    struct koda_error *err)
{
	int r = KODA_OK;

	for (; dir && *names && r == KODA_OK; names++) {
		koda_auto_free char *path = NULL;

		r = koda_path_join(dir, *names, &path, err);
		if (r == KODA_OK)
			r = koda_policy_add(policy, KODA_LIST_DENY_READ, path, strlen(path), err);
	}
	return r;
}

static int hide_in_config(struct koda_policy *policy, const char *dir, struct koda_error *err)
{
	int r = hide_all(policy, dir, koda_floor_config_dirs, err);

	return r < 0 ? r : hide_all(policy, dir, further_config, err);
}

int koda_credentials_hide(struct koda_policy *policy, const char *home, const char *config_home,
			  struct koda_error *err)
{
	koda_auto_free char *config = NULL;
	int r = home ? koda_path_join(home, ".config", &config, err) : KODA_OK;

	if (r == KODA_OK)
		r = hide_all(policy, home, koda_floor_home_dirs, err);
	if (r == KODA_OK)
		r = hide_all(policy, home, koda_floor_home_files, err);
	if (r == KODA_OK)
		r = hide_all(policy, home, further_home, err);
	if (r == KODA_OK)
		r = hide_in_config(policy, config, err);
	return r < 0 ? r : hide_in_config(policy, config_home, err);
}
