/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "widen.h"

#include "base/error.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/strv.h"

#include <limits.h>

/* With less memory no program starts. */
#define MEMORY_MIN ((uint64_t)1 << 20)

void cli_policy_options_clear(struct cli_policy_options *options)
{
	koda_buf_clear(&options->host.bytes);
	for (size_t i = 0; i < options->narrow_count; i++)
		koda_buf_clear(&options->narrow[i].bytes);
	free(KODA_TAKE(options->narrow));
	options->narrow_count = 0;
	koda_strv_clear(&options->deny_read);
	koda_strv_clear(&options->deny_write);
	koda_strv_clear(&options->deny_domain);
	cli_policy_file_clear(&options->file);
	cli_widen_clear(&options->widen);
}

typedef int number_parser(const char *text, uint64_t max, uint64_t *ret_value,
			  struct koda_error *err);

/* Takes a number; the smallest of repeated ones counts. min is 0, 1 or MEMORY_MIN. */
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

/* Reads the descriptor at once: later its number may be one that the program has opened. */
static int take_text(struct cli_text *text, const char *arg, struct koda_error *err)
{
	struct cli_number fd = { 0 };
	int r = take_number(&fd, koda_parse_u64, 0, INT_MAX, arg, err);

	text->arg = arg;
	return r < 0 ? r : cli_input_read((int)fd.value, &text->bytes, err);
}

/* Takes --policy-fd or --policy. Fails if a policy was given already. */
static int take_policy(struct cli_policy_options *options, enum cli_option option, const char *arg,
		       struct koda_error *err)
{
	if (options->host.arg)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "can be given only once, --policy and --policy-fd together");
	if (!arg[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	options->host_option = option == CLI_OPT_POLICY ? "--policy" : "--policy-fd";
	if (option == CLI_OPT_POLICY_FD)
		return take_text(&options->host, arg, err);
	options->host.arg = arg;
	return cli_policy_file_read(&options->file, arg, &options->host.bytes, err);
}

static int take_narrow_fd(struct cli_policy_options *options, const char *arg,
			  struct koda_error *err)
{
	struct cli_text *list =
		reallocarray(options->narrow, options->narrow_count + 1, sizeof(*list));

	if (!list)
		return koda_fail_nomem(err);
	options->narrow = list;
	list += options->narrow_count++;
	*list = (struct cli_text)CLI_TEXT_INIT;
	return take_text(list, arg, err);
}

static int take_trust(struct cli_policy_options *options, const char *arg, struct koda_error *err)
{
	int r = take_once(options->trust_given, err);

	if (r == KODA_OK)
		r = koda_trust_parse(arg, &options->trust, err);
	if (r == KODA_OK)
		options->trust_given = true;
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

/* Refuses a path that begins with ~. Shells replace ~ only where a word begins, so --deny-read=~/x
 * arrives with it, and would name a file in the working directory. */
static int check_tilde(const char *path, struct koda_error *err)
{
	if (path[0] != '~' || (path[1] != '\0' && path[1] != '/'))
		return KODA_OK;
	return koda_fail(
		err, KODA_E_INVALID, 0,
		"the shell has left ~ as it is: put a blank before it and no quotes around "
		"it, or write $HOME; ./~ is a file of that name");
}

static int take_path(struct koda_strv *list, const char *arg, struct koda_error *err)
{
	int r = check_tilde(arg, err);

	return r < 0 ? r : koda_strv_add(list, arg, err);
}

static int take(struct cli_policy_options *options, enum cli_option option, const char *arg,
		struct koda_error *err)
{
	switch (option) {
	case CLI_OPT_TRUST:
		return take_trust(options, arg, err);
	case CLI_OPT_ROOT:
		return take_dir(&options->root, arg, err);
	case CLI_OPT_CWD:
		return take_dir(&options->cwd, arg, err);
	case CLI_OPT_POLICY:
	case CLI_OPT_POLICY_FD:
		return take_policy(options, option, arg, err);
	case CLI_OPT_NARROW_FD:
		return take_narrow_fd(options, arg, err);
	case CLI_OPT_DENY_READ:
		return take_path(&options->deny_read, arg, err);
	case CLI_OPT_DENY_WRITE:
		return take_path(&options->deny_write, arg, err);
	case CLI_OPT_DENY_DOMAIN:
		return koda_strv_add(&options->deny_domain, arg, err);
	case CLI_OPT_HIDE_CREDENTIALS:
		options->hide_credentials = true;
		return KODA_OK;
	case CLI_OPT_ALLOW_DOMAIN:
	case CLI_OPT_ALLOW_READ:
	case CLI_OPT_ALLOW_WRITE: {
		int r = check_tilde(arg, err);

		return r < 0 ? r : cli_widen_take(&options->widen, option, arg, err);
	}
	case CLI_OPT_NO_NETWORK:
		options->no_network = true;
		return KODA_OK;
	case CLI_OPT_READ_ONLY:
		options->read_only = true;
		return KODA_OK;
	case CLI_OPT_WALL_TIME:
		return take_number(&options->wall_time_secs, koda_parse_u64, 1, KODA_LIMIT_MAX, arg,
				   err);
	case CLI_OPT_MEMORY:
		return take_number(&options->memory_bytes, koda_parse_size, MEMORY_MIN,
				   KODA_LIMIT_MAX, arg, err);
	case CLI_OPT_MAX_OUTPUT:
		return take_number(&options->output_bytes, koda_parse_size, 0, KODA_LIMIT_MAX, arg,
				   err);
	case CLI_OPT_MAX_PROCS:
		return take_number(&options->processes, koda_parse_u64, 1, KODA_LIMIT_MAX, arg,
				   err);
	case CLI_OPT_ACCEPT:
	case CLI_OPT_NO_SANDBOX:
	case CLI_OPT_OPAQUE:
	case CLI_OPT_ENV:
	case CLI_OPT_ENV_SECRET:
	case CLI_OPT_OWN:
		break;
	}
	return koda_fail(err, KODA_E_INTERNAL, 0, "option %d has no handler", (int)option);
}

int cli_policy_options_take(struct cli_policy_options *options, int option, const char *arg,
			    struct koda_error *err)
{
	static const struct option table[] = { CLI_POLICY_OPTIONS, CLI_WIDEN_OPTIONS, { 0 } };
	int r = take(options, (enum cli_option)option, arg, err);

	if (r < 0)
		for (const struct option *o = table; o->name; o++)
			if (o->val == option)
				cli_error_place(err, "--%s%s%.80s", o->name, arg ? " " : "",
						arg ? arg : "");
	return r;
}

int cli_policy_options_check_source(const struct cli_policy_options *options,
				    const struct cli_call *call, struct koda_error *err)
{
	if (options->trust_given && options->host.arg)
		return cli_args_fail(call, err, "--trust and %s exclude each other",
				     options->host_option);
	return KODA_OK;
}
