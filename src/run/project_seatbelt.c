/* SPDX-License-Identifier: MIT */
/* Renders a project's policy as a Seatbelt profile. */
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "plan/seatbelt.h"
#include "policy/policy.h"
#include "run/project.h"
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
static int find_tmpdir(const struct koda_project *project, const char *dir, char **ret_dir,
		       struct koda_error *err)
{
	int r = koda_path_resolve(dir, ret_dir, err);

	if (r == KODA_OK)
		r = check_dir(*ret_dir, err);
	return r < 0 ? r : koda_site_check_dir(&project->site, *ret_dir, err);
}

int koda_project_seatbelt(struct koda_project *project, const struct koda_seatbelt_options *options,
			  char **ret_text, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	koda_auto_free char *tmpdir = NULL;
	struct koda_seatbelt_options known = { .size = sizeof(known) };
	struct koda_seatbelt seatbelt = { .net = KODA_SEATBELT_CLOSED };
	struct koda_rules *rules = NULL;
	int r = options ? koda_sized_take(&known, sizeof(known), sizeof(known), options,
					  "koda_seatbelt_options", err)
			: KODA_OK;

	if (r == KODA_OK && known.open_network && known.proxy_port)
		r = koda_fail(err, KODA_E_INVALID, 0,
			      "an open network and a proxy exclude each other");
	if (r == KODA_OK)
		r = check_dir(project->root, err);
	if (r == KODA_OK)
		r = koda_project_rules(project, &rules, err);
	if (r == KODA_OK && known.tmpdir)
		r = find_tmpdir(project, known.tmpdir, &tmpdir, err);
	if (r == KODA_OK) {
		seatbelt.rules = rules;
		seatbelt.policy = project->policy;
		seatbelt.net = known.open_network ? KODA_SEATBELT_OPEN
			       : known.proxy_port ? KODA_SEATBELT_PROXIED
						  : KODA_SEATBELT_CLOSED;
		seatbelt.port = known.proxy_port;
		seatbelt.tmpdir = tmpdir;
		seatbelt.tag = known.tag;
		r = koda_seatbelt_print(&seatbelt, &text, err);
	}
	koda_rules_free(rules);
	if (r < 0)
		return r;
	r = koda_buf_take(&text, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}
