/* SPDX-License-Identifier: MIT */
/* A project's policy as a Seatbelt profile. */
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "plan/seatbelt_cache.h"
#include "policy/policy.h"
#include "run/project.h"
#include "run/project/mount_alias.h"
#include "run/survey.h"

#include <errno.h>
#include <koda/seatbelt.h>
#include <sys/stat.h>

/* What a profile names has to exist: a rule about a path that was misspelt protects nothing. */
static int check_dir(const char *path, struct koda_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot be examined");
	return S_ISDIR(st.st_mode)
		       ? KODA_OK
		       : koda_fail_at(err, KODA_E_SYS, ENOTDIR, path, "is no directory");
}

/* Returns the temporary directory without links, which is how the kernel names it. */
static int find_tmpdir(const struct koda_site *site, const char *dir, char **ret_dir,
		       struct koda_error *err)
{
	int r = koda_path_resolve(dir, ret_dir, err);

	if (r == KODA_OK)
		r = check_dir(*ret_dir, err);
	return r < 0 ? r : koda_site_check_dir(site, *ret_dir, err);
}

/* Finds the profile of what a survey has found. The rules tell which mounts are further names of
 * protected paths, and these are facts as well. */
static int find_profile(struct koda_seatbelt_cache *cache, const struct koda_seatbelt *request,
			struct koda_site *site, const struct koda_seatbelt_entry **ret_entry,
			struct koda_error *err)
{
	struct koda_place place = koda_site_place(site);
	bool found = false;
	int r = koda_seatbelt_cache_get(cache, request, &place, ret_entry, err);

	if (r == KODA_OK)
		r = koda_mount_alias_note(site, (*ret_entry)->rules, NULL, &found, err);
	if (r < 0 || !found)
		return r;
	place = koda_site_place(site);
	return koda_seatbelt_cache_get(cache, request, &place, ret_entry, err);
}

/* A profile protects what the survey has found, so repositories below the root are looked for, and
 * nothing that an earlier survey has found is used. */
static int print(struct koda_project *project, const struct koda_seatbelt_options *options,
		 struct koda_buf *out, struct koda_error *err)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_free char *tmpdir = NULL;
	const struct koda_seatbelt_entry *entry = NULL;
	int r = koda_project_take(project, &site, &policy, err);

	if (r == KODA_OK)
		r = koda_survey_project(&site, policy, KODA_SURVEY_BUDGET_NS, err);
	if (r == KODA_OK && options->tmpdir)
		r = find_tmpdir(&site, options->tmpdir, &tmpdir, err);
	if (r == KODA_OK) {
		const struct koda_seatbelt request = {
			.policy = policy,
			.net = options->open_network ? KODA_SEATBELT_OPEN
			       : options->proxy_port ? KODA_SEATBELT_PROXIED
						     : KODA_SEATBELT_CLOSED,
			.port = options->proxy_port,
			.tmpdir = tmpdir,
			.tag = options->tag,
		};

		r = find_profile(&project->profiles, &request, &site, &entry, err);
	}
	return r < 0 ? r : koda_seatbelt_entry_print(entry, options->tag, out, err);
}

int koda_project_seatbelt(struct koda_project *project, const struct koda_seatbelt_options *options,
			  char **ret_text, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	struct koda_seatbelt_options known = { .size = sizeof(known) };
	int r = options ? koda_sized_take(&known, sizeof(known), sizeof(known), options,
					  "koda_seatbelt_options", err)
			: KODA_OK;

	if (r == KODA_OK && known.open_network && known.proxy_port)
		r = koda_fail(err, KODA_E_INVALID, 0,
			      "an open network and a proxy exclude each other");
	if (r == KODA_OK && !project->policy)
		r = koda_fail(err, KODA_E_INVALID, 0, "the project has no policy yet");
	if (r == KODA_OK)
		r = check_dir(project->root, err);
	if (r == KODA_OK)
		r = print(project, &known, &text, err);
	if (r < 0)
		return r;
	r = koda_buf_take(&text, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}
