/* SPDX-License-Identifier: MIT */
#include "narrow.h"

/* Composes one child after another onto the policy, never one with another: a parent also stands
 * for its defaults, and a child must not speak for those. */
static int narrow_by_texts(const struct cli_policy_options *options, struct koda_project *project,
			   struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < options->narrow_count && r == KODA_OK; i++) {
		cli_auto_policy struct koda_policy *child = NULL;

		r = cli_input_decode(&options->narrow[i].bytes, "--narrow-fd",
				     options->narrow[i].arg, &child, err);
		if (r == KODA_OK)
			r = koda_project_narrow(project, child, err);
	}
	return r;
}

static int deny_each(const struct koda_strv *entries, const char *option, enum koda_list list,
		     struct koda_project *project, struct koda_error *err)
{
	for (size_t i = 0; i < entries->len; i++) {
		int r = koda_project_deny(project, list, entries->items[i], err);

		if (r < 0) {
			cli_error_place(err, "%s %.80s", option, entries->items[i]);
			return r;
		}
	}
	return KODA_OK;
}

static int add_denies(const struct cli_policy_options *options, struct koda_project *project,
		      struct koda_error *err)
{
	int r = deny_each(&options->deny_read, "--deny-read", KODA_LIST_DENY_READ, project, err);

	if (r == KODA_OK)
		r = deny_each(&options->deny_write, "--deny-write",
			      KODA_LIST_DENY_WRITE_WITHIN_ALLOW, project, err);
	if (r == KODA_OK)
		r = deny_each(&options->deny_domain, "--deny-domain", KODA_LIST_DENIED_DOMAINS,
			      project, err);
	if (r == KODA_OK && options->no_network)
		r = koda_project_deny(project, KODA_LIST_DENIED_DOMAINS, "*", err);
	return r;
}

/* Composes with a policy whose fs.allow_write is stated and empty. */
static int make_read_only(struct koda_project *project, struct koda_error *err)
{
	cli_auto_policy struct koda_policy *child = NULL;
	int r = koda_policy_new(&child, err);

	if (r < 0)
		return r;
	koda_policy_state_allow_write(child, true);
	return koda_project_narrow(project, child, err);
}

int cli_narrow_apply(const struct cli_policy_options *options, struct koda_project *project,
		     struct koda_error *err)
{
	int r = narrow_by_texts(options, project, err);

	if (r == KODA_OK && options->hide_credentials) {
		r = koda_project_hide_credentials(project, err);
		if (r < 0)
			cli_error_place(err, "--hide-credentials");
	}
	if (r == KODA_OK)
		r = add_denies(options, project, err);
	return r < 0 || !options->read_only ? r : make_read_only(project, err);
}
