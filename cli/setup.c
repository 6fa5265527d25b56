/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "narrow.h"
#include "widen.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <sys/stat.h>

void cli_setup_clear(struct cli_setup *setup)
{
	koda_project_close(KODA_TAKE(setup->project));
	free(KODA_TAKE(setup->cwd));
}

/* Refuses a working directory whose resolved path does not lie at or below the root. */
static int find_cwd(const struct cli_policy_options *options, struct cli_setup *setup,
		    struct koda_error *err)
{
	koda_auto_free char *joined = NULL;
	koda_auto_free char *absolute = NULL;
	koda_auto_free char *resolved = NULL;
	const char *root = koda_project_root(setup->project);
	const char *cwd = options->cwd ? options->cwd : root;
	struct stat st;
	int r = KODA_OK;

	if (cwd[0] != '/') {
		r = koda_path_join(root, cwd, &joined, err);
		cwd = joined;
	}
	if (r == KODA_OK)
		r = koda_path_absolute(cwd, &absolute, err);
	if (r == KODA_OK)
		r = koda_path_resolve(absolute, &resolved, err);
	if (r == KODA_OK && !koda_path_covers(koda_span_of(root), koda_span_of(resolved)))
		r = koda_fail(err, KODA_E_DENIED, 0,
			      "is outside the project root; name a directory below it, or another "
			      "--root");
	if (r == KODA_OK && options->cwd && stat(resolved, &st) < 0)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot be entered");
	else if (r == KODA_OK && options->cwd && !S_ISDIR(st.st_mode))
		r = koda_fail(err, KODA_E_INVALID, 0, "is not a directory");
	if (r < 0) {
		if (options->cwd)
			cli_error_place(err, "--cwd %.80s", options->cwd);
		return r;
	}
	setup->cwd = KODA_TAKE(resolved);
	return KODA_OK;
}

static int lower_limit(const struct cli_number *number, enum koda_limit limit,
		       struct koda_policy *policy, struct koda_error *err)
{
	uint64_t stated;

	if (!number->given)
		return KODA_OK;
	if (koda_policy_limit(policy, limit, &stated) && stated <= number->value)
		return KODA_OK;
	return koda_policy_set_limit(policy, limit, number->value, err);
}

/* Sets the limits of the options. Composition takes the smaller of two limits, so it does not
 * matter that --narrow-fd comes later. Wall time alone may rise, up to the mode's ceiling, which
 * check_wall_time holds. */
static int set_limits(const struct cli_policy_options *options, struct koda_policy *policy,
		      struct koda_error *err)
{
	int r = lower_limit(&options->memory_bytes, KODA_LIMIT_MEMORY, policy, err);

	if (r == KODA_OK)
		r = lower_limit(&options->output_bytes, KODA_LIMIT_OUTPUT, policy, err);
	if (r == KODA_OK && options->untimed)
		koda_policy_unset_limit(policy, KODA_LIMIT_WALL_TIME);
	if (r == KODA_OK && options->wall_time_secs.given)
		r = koda_policy_set_limit(policy, KODA_LIMIT_WALL_TIME,
					  options->wall_time_secs.value, err);
	return r;
}

static int check_wall_time(const struct cli_policy_options *options, struct koda_error *err)
{
	uint64_t ceiling = koda_trust_limits(options->trust).wall_time_ceiling_secs;

	if (!options->wall_time_secs.given || options->wall_time_secs.value <= ceiling)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_LIMIT, 0, "--wall-time",
			    "%llu is more than %llu seconds; a command on a terminal (--tty), and "
			    "koda-sandbox shell, have no wall time",
			    (unsigned long long)options->wall_time_secs.value,
			    (unsigned long long)ceiling);
}

/* Makes the policy that --narrow-fd and the denies narrow: that of --policy, --policy-fd or the
 * trust mode. */
static int set_base_policy(const struct cli_policy_options *options, struct cli_setup *setup,
			   struct koda_error *err)
{
	cli_auto_policy struct koda_policy *policy = NULL;
	int r;

	if (options->host.arg)
		r = cli_input_decode(&options->host.bytes, options->host_option, options->host.arg,
				     &policy, err);
	else
		r = koda_policy_for_trust(options->trust, koda_project_root(setup->project),
					  &policy, err);
	if (r == KODA_OK)
		r = cli_widen_apply(&options->widen, setup->project, policy, err);
	if (r == KODA_OK)
		r = set_limits(options, policy, err);
	return r < 0 ? r : koda_project_set_policy(setup->project, policy, err);
}

int cli_setup_make(const struct cli_policy_options *options, const char *const *env,
		   struct cli_setup *setup, struct koda_error *err)
{
	int r = koda_project_open(options->root, env, &setup->project, err);

	if (r < 0) {
		if (options->root && !err->field[0])
			cli_error_place(err, "--root %.80s", options->root);
		return r;
	}
	setup->max_processes = koda_trust_limits(options->trust).max_processes;
	if (options->processes.given && options->processes.value < setup->max_processes)
		setup->max_processes = options->processes.value;
	r = find_cwd(options, setup, err);
	if (r == KODA_OK)
		r = set_base_policy(options, setup, err);
	if (r == KODA_OK && options->file.arg)
		r = cli_policy_file_check(&options->file, setup->project, err);
	if (r == KODA_OK)
		r = check_wall_time(options, err);
	return r < 0 ? r : cli_narrow_apply(options, setup->project, err);
}
