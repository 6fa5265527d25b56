/* SPDX-License-Identifier: MIT */
#include "policy/root.h"

#include "base/error.h"
#include "base/path.h"

/* T-09. Directories below which projects may lie, but which are no project. */
static const char *const shared_dirs[] = { "/",
					   "/home",
					   "/root",
					   "/Users",
					   "/mnt",
					   "/media",
					   "/opt",
					   "/srv",
					   "/tmp",
					   "/usr",
					   "/usr/local",
					   "/usr/src",
					   "/var",
					   "/var/tmp",
					   "/run",
					   "/private",
					   "/var/lib",
					   "/var/log",
					   "/var/cache",
					   "/var/spool",
					   "/usr/local/etc",
					   "/usr/games",
					   "/Volumes",
					   "/private/tmp",
					   "/usr/local/src" };

/* No project lies below these. */
static const char *const system_trees[] = { "/bin",
					    "/boot",
					    "/dev",
					    "/etc",
					    "/lib",
					    "/lib32",
					    "/lib64",
					    "/libx32",
					    "/proc",
					    "/sbin",
					    "/sys",
					    "/usr/bin",
					    "/usr/include",
					    "/usr/lib",
					    "/usr/lib32",
					    "/usr/lib64",
					    "/usr/libexec",
					    "/usr/libx32",
					    "/usr/sbin",
					    "/usr/share",
					    "/usr/local/bin",
					    "/usr/local/lib",
					    "/usr/local/sbin",
					    "/System",
					    "/Library" };

static int refuse(const struct koda_place *place, struct koda_error *err, const char *why)
{
	return koda_fail_at(err, KODA_E_DENIED, 0, place->root, "refused as project root: %s", why);
}

/* Refuses if root contains dir/name; an unknown dir is contained nowhere. */
static int refuse_containing(const struct koda_place *place, const char *dir, const char *name,
			     const char *why, struct koda_error *err)
{
	koda_auto_buf struct koda_buf joined = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r;

	if (!dir)
		return KODA_OK;
	r = koda_buf_addf(&joined, "%s/%s", dir, name);
	if (r == KODA_OK)
		r = koda_path_normalise(koda_buf_span(&joined), &path, NULL);
	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	/* A path that cannot be compared might lie inside. */
	if (r < 0 || koda_path_covers(koda_span_of(place->root), koda_buf_span(&path)))
		return refuse(place, err, why);
	return KODA_OK;
}

int koda_root_check(const struct koda_place *place, struct koda_error *err)
{
	static const char own[] = "it contains koda's own state; use another directory";
	struct koda_span root = koda_span_of(place->root);
	int r;

	if (root.len == 0 || root.ptr[0] != '/')
		return koda_fail_at(err, KODA_E_POLICY, 0, place->root, "the root is not absolute");
	for (size_t i = 0; i < KODA_ARRAY_LEN(shared_dirs); i++)
		if (koda_span_is(root, shared_dirs[i]))
			return refuse(place, err, "a shared or system directory; use one below it");
	for (size_t i = 0; i < KODA_ARRAY_LEN(system_trees); i++)
		if (koda_path_covers(koda_span_of(system_trees[i]), root))
			return refuse(place, err,
				      "it belongs to the system; use a directory of your own");
	r = refuse_containing(place, place->home, "",
			      "it is or contains the home directory; use one below it", err);
	if (r == KODA_OK)
		r = refuse_containing(place, place->config_home, "koda/db", own, err);
	if (r == KODA_OK)
		r = refuse_containing(place, place->state_home, "koda", own, err);
	if (r == KODA_OK)
		r = refuse_containing(place, place->runtime_dir, "koda", own, err);
	if (r == KODA_OK)
		r = refuse_containing(place, place->home, ".config/koda/db", own, err);
	if (r == KODA_OK)
		r = refuse_containing(place, place->home, ".local/state/koda", own, err);
	return r;
}
