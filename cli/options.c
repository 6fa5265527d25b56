/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "base/diag.h"
#include "base/path.h"

#include <errno.h>
#include <koda/policy.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* With less no program starts. */
#define MEMORY_MIN ((uint64_t)1 << 20)

void koda_cli_shape_clear(struct cli_shape *shape)
{
	koda_buf_clear(&shape->host.bytes);
	for (size_t i = 0; i < shape->narrow_count; i++)
		koda_buf_clear(&shape->narrow[i].bytes);
	free(KODA_TAKE(shape->narrow));
	shape->narrow_count = 0;
	koda_strv_clear(&shape->deny_read);
	koda_strv_clear(&shape->deny_write);
	koda_strv_clear(&shape->deny_domain);
}

void koda_cli_setup_clear(struct cli_setup *setup)
{
	koda_site_clear(&setup->site);
	koda_policy_free(KODA_TAKE(setup->policy));
	free(KODA_TAKE(setup->cwd));
}

/* --- taking options in --- */

typedef int number_parser(const char *text, uint64_t max, uint64_t *ret_value,
			  struct koda_error *err);

/* A number that is given again only counts if it is less. min is 0, 1 or MEMORY_MIN. */
static int take_number(struct cli_number *number, number_parser *parse, uint64_t min, uint64_t max,
		       const char *arg, struct koda_error *err)
{
	uint64_t value;
	int r = parse(arg, max, &value, err);

	if (r == KODA_OK && value < min)
		r = koda_fail(err, KODA_E_INVALID, 0, "must be at least 1%s",
			      min == MEMORY_MIN ? "M" : "");
	if (r < 0)
		return r;
	if (!number->given || value < number->value)
		*number = (struct cli_number){ .given = true, .value = value };
	return KODA_OK;
}

static int take_once(bool given, struct koda_error *err)
{
	return given ? koda_fail(err, KODA_E_INVALID, 0, "can be given only once") : KODA_OK;
}

/* At once: later the number may be one of our own descriptors. */
static int take_text(struct cli_text *text, const char *arg, struct koda_error *err)
{
	struct cli_number fd = { 0 };
	int r = take_number(&fd, koda_parse_u64, 0, INT_MAX, arg, err);

	text->arg = arg;
	return r < 0 ? r : koda_cli_read_text((int)fd.value, &text->bytes, err);
}

static int take_policy_fd(struct cli_shape *shape, const char *arg, struct koda_error *err)
{
	int r = take_once(shape->host.arg, err);

	return r < 0 ? r : take_text(&shape->host, arg, err);
}

static int take_narrow_fd(struct cli_shape *shape, const char *arg, struct koda_error *err)
{
	struct cli_text *list = reallocarray(shape->narrow, shape->narrow_count + 1, sizeof(*list));

	if (!list)
		return koda_fail_nomem(err);
	shape->narrow = list;
	list += shape->narrow_count++;
	*list = (struct cli_text)CLI_TEXT_INIT;
	return take_text(list, arg, err);
}

static int take_trust(struct cli_shape *shape, const char *arg, struct koda_error *err)
{
	int r = take_once(shape->trust_given, err);

	if (r == KODA_OK)
		r = koda_trust_parse(arg, &shape->trust, err);
	if (r == KODA_OK)
		shape->trust_given = true;
	return r;
}

static int take_dir(const char **slot, const char *arg, struct koda_error *err)
{
	int r = take_once(*slot, err);

	if (r < 0)
		return r;
	if (!arg[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	*slot = arg;
	return KODA_OK;
}

static int take(struct cli_shape *shape, enum cli_option option, const char *arg,
		struct koda_error *err)
{
	switch (option) {
	case CLI_OPT_TRUST:
		return take_trust(shape, arg, err);
	case CLI_OPT_ROOT:
		return take_dir(&shape->root, arg, err);
	case CLI_OPT_CWD:
		return take_dir(&shape->cwd, arg, err);
	case CLI_OPT_POLICY_FD:
		return take_policy_fd(shape, arg, err);
	case CLI_OPT_NARROW_FD:
		return take_narrow_fd(shape, arg, err);
	case CLI_OPT_DENY_READ:
		return koda_strv_add(&shape->deny_read, arg, err);
	case CLI_OPT_DENY_WRITE:
		return koda_strv_add(&shape->deny_write, arg, err);
	case CLI_OPT_DENY_DOMAIN:
		return koda_strv_add(&shape->deny_domain, arg, err);
	case CLI_OPT_NO_NETWORK:
		shape->no_network = true;
		return KODA_OK;
	case CLI_OPT_READ_ONLY:
		shape->read_only = true;
		return KODA_OK;
	case CLI_OPT_WALL_TIME:
		return take_number(&shape->wall_time_secs, koda_parse_u64, 1, KODA_LIMIT_MAX, arg,
				   err);
	case CLI_OPT_MEMORY:
		return take_number(&shape->memory_bytes, koda_parse_size, MEMORY_MIN,
				   KODA_LIMIT_MAX, arg, err);
	case CLI_OPT_MAX_OUTPUT:
		return take_number(&shape->output_bytes, koda_parse_size, 0, KODA_LIMIT_MAX, arg,
				   err);
	case CLI_OPT_MAX_PROCS:
		return take_number(&shape->processes, koda_parse_u64, 1, KODA_LIMIT_MAX, arg, err);
	case CLI_OPT_ACCEPT:
	case CLI_OPT_NO_SANDBOX:
	case CLI_OPT_OPAQUE:
	case CLI_OPT_OWN:
		break;
	}
	return koda_fail(err, KODA_E_INTERNAL, 0, "option %d has no handler", (int)option);
}

int koda_cli_shape_take(struct cli_shape *shape, int option, const char *arg,
			struct koda_error *err)
{
	static const struct option table[] = { CLI_SHAPE_OPTIONS, { 0 } };
	int r = take(shape, (enum cli_option)option, arg, err);

	if (r < 0)
		for (const struct option *o = table; o->name; o++)
			if (o->val == option)
				koda_cli_blame(err, "--%s%s%.80s", o->name, arg ? " " : "",
					       arg ? arg : "");
	return r;
}

int koda_cli_shape_one_source(const struct cli_shape *shape, const struct cli_call *call,
			      struct koda_error *err)
{
	if (shape->trust_given && shape->host.arg)
		return koda_cli_usage(call, err, "--trust and --policy-fd exclude each other");
	return KODA_OK;
}

/* --- applying them --- */

static int base_policy(const struct cli_shape *shape, struct cli_setup *setup,
		       struct koda_error *err)
{
	int r;

	if (shape->host.arg)
		return koda_cli_decode(&shape->host.bytes, "--policy-fd", shape->host.arg,
				       &setup->policy, err);
	r = koda_policy_for_trust(shape->trust, setup->site.root, &setup->policy, err);
	if (r == KODA_OK && shape->untimed)
		koda_policy_unset_limit(setup->policy, KODA_LIMIT_WALL_TIME_SECS);
	return r;
}

/* Wall time is the one limit that may go up: to the mode's ceiling, or to what the policy itself
 * states if that is more. */
static int set_wall_time(const struct cli_shape *shape, struct koda_policy *policy,
			 struct koda_error *err)
{
	uint64_t ceiling = koda_trust_limits(shape->trust).wall_time_ceiling_secs;
	uint64_t stated;

	if (!shape->wall_time_secs.given)
		return KODA_OK;
	if (koda_policy_limit(policy, KODA_LIMIT_WALL_TIME_SECS, &stated) && stated > ceiling)
		ceiling = stated;
	if (shape->wall_time_secs.value > ceiling)
		return koda_fail_at(err, KODA_E_LIMIT, 0, "--wall-time",
				    "%llu is more than %llu seconds",
				    (unsigned long long)shape->wall_time_secs.value,
				    (unsigned long long)ceiling);
	return koda_policy_set_limit(policy, KODA_LIMIT_WALL_TIME_SECS, shape->wall_time_secs.value,
				     err);
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

/* Paths on a command line are relative to where it was typed. Past a link, "up" leads elsewhere
 * than the spelling says, and the caller may mean either: both places are denied, and what the
 * spelling leads to. */
static int deny_path(const char *path, enum koda_list list, struct koda_policy *policy,
		     struct koda_error *err)
{
	koda_auto_free char *absolute = NULL;
	koda_auto_free char *there = NULL;
	koda_auto_free char *resolved = NULL;
	int r;

	if (!path[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	r = koda_path_absolute(path, &absolute, err);
	if (r == KODA_OK)
		r = koda_path_resolve(absolute, &there, err);
	if (r == KODA_OK)
		r = koda_path_resolve(path, &resolved, err);
	if (r == KODA_OK)
		r = koda_site_check_seen(there, NULL, err);
	if (r == KODA_OK)
		r = koda_site_check_seen(resolved, NULL, err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, absolute, strlen(absolute), err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, there, strlen(there), err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, resolved, strlen(resolved), err);
	return r;
}

static int deny_paths(const struct koda_strv *paths, const char *option, enum koda_list list,
		      struct koda_policy *policy, struct koda_error *err)
{
	for (size_t i = 0; i < paths->len; i++) {
		int r = deny_path(paths->items[i], list, policy, err);

		if (r < 0) {
			koda_cli_blame(err, "%s %.80s", option, paths->items[i]);
			return r;
		}
	}
	return KODA_OK;
}

static int deny_domains(const struct cli_shape *shape, struct koda_policy *policy,
			struct koda_error *err)
{
	for (size_t i = 0; i < shape->deny_domain.len; i++) {
		const char *pattern = shape->deny_domain.items[i];
		int r = koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, pattern, strlen(pattern),
					err);

		if (r < 0) {
			koda_cli_blame(err, "--deny-domain %.80s", pattern);
			return r;
		}
	}
	if (shape->no_network)
		return koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, err);
	return KODA_OK;
}

/* Every step here adds a deny, empties an allow list or lowers a number. */
static int narrow(const struct cli_shape *shape, struct koda_policy *policy, struct koda_error *err)
{
	int r = deny_paths(&shape->deny_read, "--deny-read", KODA_LIST_DENY_READ, policy, err);

	if (r == KODA_OK)
		r = deny_paths(&shape->deny_write, "--deny-write",
			       KODA_LIST_DENY_WRITE_WITHIN_ALLOW, policy, err);
	if (r == KODA_OK)
		r = deny_domains(shape, policy, err);
	if (r == KODA_OK)
		r = lower_limit(&shape->memory_bytes, KODA_LIMIT_MAX_RSS_BYTES, policy, err);
	if (r == KODA_OK)
		r = lower_limit(&shape->output_bytes, KODA_LIMIT_MAX_OUTPUT_BYTES, policy, err);
	if (r == KODA_OK && shape->read_only) {
		koda_policy_state_allow_write(policy, false);
		koda_policy_state_allow_write(policy, true);
	}
	return r;
}

/* One child after another onto the policy, never one with another: a parent also stands for its
 * defaults, and a child must not speak for those. */
static int compose_narrow(const struct cli_shape *shape, struct cli_setup *setup,
			  struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < shape->narrow_count && r == KODA_OK; i++) {
		struct koda_policy *child = NULL;
		struct koda_policy *both = NULL;

		r = koda_cli_decode(&shape->narrow[i].bytes, "--narrow-fd", shape->narrow[i].arg,
				    &child, err);
		if (r == KODA_OK)
			r = koda_site_resolve_policy(&setup->site, child, err);
		if (r == KODA_OK)
			r = koda_policy_compose(setup->policy, child, &both, err);
		if (r == KODA_OK) {
			koda_policy_free(setup->policy);
			setup->policy = both;
		}
		koda_policy_free(child);
	}
	return r;
}

/* The directory inside, as named and as it resolves, has to lie at or below the root. */
static int find_cwd(const struct cli_shape *shape, struct cli_setup *setup, struct koda_error *err)
{
	koda_auto_free char *joined = NULL;
	koda_auto_free char *absolute = NULL;
	koda_auto_free char *resolved = NULL;
	const char *cwd = shape->cwd ? shape->cwd : setup->site.root;
	struct stat st;
	int r = KODA_OK;

	if (cwd[0] != '/') {
		r = koda_path_join(setup->site.root, cwd, &joined, err);
		cwd = joined;
	}
	if (r == KODA_OK)
		r = koda_path_absolute(cwd, &absolute, err);
	if (r == KODA_OK)
		r = koda_path_resolve(absolute, &resolved, err);
	if (r == KODA_OK &&
	    !koda_path_covers(koda_span_of(setup->site.root), koda_span_of(resolved)))
		r = koda_fail(err, KODA_E_DENIED, 0,
			      "is outside the project root; name a directory below it, or another "
			      "--root");
	if (r == KODA_OK && shape->cwd && stat(resolved, &st) < 0)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot be entered");
	else if (r == KODA_OK && shape->cwd && !S_ISDIR(st.st_mode))
		r = koda_fail(err, KODA_E_INVALID, 0, "is not a directory");
	if (r < 0) {
		if (shape->cwd)
			koda_cli_blame(err, "--cwd %.80s", shape->cwd);
		return r;
	}
	setup->cwd = KODA_TAKE(resolved);
	return KODA_OK;
}

int koda_cli_shape_apply(const struct cli_shape *shape, const char *const *env,
			 struct cli_setup *setup, struct koda_error *err)
{
	int r = koda_site_load(&setup->site, shape->root, env, err);

	if (r < 0) {
		if (shape->root && !err->field[0])
			koda_cli_blame(err, "--root %.80s", shape->root);
		return r;
	}
	setup->max_processes = koda_trust_limits(shape->trust).max_processes;
	if (shape->processes.given && shape->processes.value < setup->max_processes)
		setup->max_processes = shape->processes.value;
	r = find_cwd(shape, setup, err);
	if (r == KODA_OK)
		r = base_policy(shape, setup, err);
	if (r == KODA_OK)
		r = koda_site_resolve_policy(&setup->site, setup->policy, err);
	if (r == KODA_OK)
		r = set_wall_time(shape, setup->policy, err);
	if (r == KODA_OK)
		r = compose_narrow(shape, setup, err);
	return r < 0 ? r : narrow(shape, setup->policy, err);
}
