/* SPDX-License-Identifier: MIT */
#include "run/cwd.h"

#include "base/error.h"
#include "base/path.h"

static int find(const char *root, const char *cwd, char **ret_path, struct koda_error *err)
{
	koda_auto_free char *joined = NULL;
	koda_auto_free char *absolute = NULL;
	int r;

	if (!cwd[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	if (cwd[0] == '/')
		return koda_path_absolute(cwd, ret_path, err);
	r = koda_path_join(root, cwd, &joined, err);
	if (r == KODA_OK)
		r = koda_path_absolute(joined, &absolute, err);
	return r < 0 ? r : koda_path_resolve(absolute, ret_path, err);
}

int koda_cwd_take(const char *root, struct koda_command_options *options, char **ret_path,
		  struct koda_error *err)
{
	struct koda_error why = { 0 };
	int r;

	if (!options->cwd)
		return KODA_OK;
	r = find(root, options->cwd, ret_path, &why);
	if (r < 0) {
		(void)koda_fail_at(err, why.code, 0, "cwd", "%s", why.message);
		if (err)
			err->sys_errno = why.sys_errno;
		return r;
	}
	options->cwd = *ret_path;
	return KODA_OK;
}
