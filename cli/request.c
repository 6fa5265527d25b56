/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "base/diag.h"

#include <unistd.h>

enum {
	OPT_BACKEND = CLI_OPT_OWN,
	OPT_EVENTS,
	OPT_EVENTS_FD,
	OPT_TTY,
	OPT_NO_TTY,
	OPT_YES,
	OPT_JSON, /* of plan only */
	OPT_BWRAP,
	OPT_SECCOMP
};

static int take_backend(struct request *request, const char *name, struct koda_error *err)
{
	int r = request->backend_given ? koda_fail(err, KODA_E_INVALID, 0, "can be given only once")
				       : koda_backend_parse(name, &request->backend, err);

	request->backend_given = true;
	if (r < 0)
		koda_cli_blame(err, "--backend");
	return r;
}

/* Where nothing starts, nothing is told either. */
static int take_events(struct request *request, int option, const char *arg, struct koda_error *err)
{
	int r;

	if (request->purpose == TO_LIST)
		return KODA_OK;
	if (option != OPT_EVENTS)
		return koda_cli_events_fd(&request->events, arg, err);
	r = koda_cli_events_file(&request->events, arg, err);
	/* It may be in the project, and what is told of a command is not the command's to change.
	 */
	return r < 0 ? r : koda_strv_add(&request->shape.deny_write, arg, err);
}

static int take_option(const struct cli_call *call, struct request *request, int option,
		       struct koda_error *err)
{
	switch (option) {
	case 'c':
		if (request->shell)
			return koda_cli_usage(call, err, "-c can be given only once");
		request->shell = optarg;
		return KODA_OK;
	case '0':
		request->null = true;
		return KODA_OK;
	case OPT_YES:
		request->yes = true;
		return KODA_OK;
	case OPT_TTY:
		request->tty = true;
		return KODA_OK;
	case OPT_NO_TTY:
		request->no_tty = true;
		return KODA_OK;
	case OPT_JSON:
		request->json = true;
		return KODA_OK;
	case OPT_BWRAP:
		request->bwrap = true;
		return KODA_OK;
	case OPT_SECCOMP:
		request->seccomp = true;
		return KODA_OK;
	case OPT_BACKEND:
		return take_backend(request, optarg, err);
	case CLI_OPT_ACCEPT:
	case CLI_OPT_NO_SANDBOX:
		return koda_cli_grip_take(&request->grip, option, optarg, err);
	case CLI_OPT_OPAQUE:
		return koda_strv_add(&request->opaque, optarg, err);
	case OPT_EVENTS:
	case OPT_EVENTS_FD:
		return take_events(request, option, optarg, err);
	default:
		return koda_cli_shape_take(&request->shape, option, optarg, err);
	}
}

/* The user's shell, or the system's. */
static void choose_shell(const struct cli_call *call, struct request *request)
{
	request->interactive[0] = "/bin/sh";
	for (const char *const *env = call->env; *env; env++)
		if (strncmp(*env, "SHELL=/", 7) == 0)
			request->interactive[0] = *env + 6;
	request->argv = request->interactive;
}

/* With a terminal at both ends the command gets one too, unless told otherwise. Nobody waits for a
 * person by the clock: then there is no wall time but a given one. Where nobody sits at both ends
 * the clock goes on. */
static int settle_terminal(const struct cli_call *call, struct request *request,
			   struct koda_error *err)
{
	if (request->tty && request->no_tty)
		return koda_cli_usage(call, err, "--tty and --no-tty exclude each other");
	if (!request->no_tty && !request->grip.no_sandbox && isatty(0) && isatty(1))
		request->tty = true;
	if (request->purpose == TO_SHELL || (request->tty && isatty(0) && isatty(1)))
		request->shape.untimed = true;
	return KODA_OK;
}

/* What can be meant without a sandbox: no plan of it, no terminal in it, no other shell. */
static int check_bare(const struct cli_call *call, const struct request *request,
		      struct koda_error *err)
{
	if (!request->grip.no_sandbox)
		return KODA_OK;
	if (request->purpose == TO_SHOW)
		return koda_cli_usage(call, err, "there is no plan with --no-sandbox");
	if (request->purpose == TO_SHELL)
		return koda_cli_usage(call, err, "--no-sandbox would be the shell you are in");
	if (request->backend != KODA_BACKEND_AUTO || request->tty)
		return koda_cli_usage(call, err, "--no-sandbox and --%s exclude each other",
				      request->tty ? "tty" : "backend");
	return KODA_OK;
}

/* What is left of the line after the options. The filter is the same for every command. */
static int check_operands(const struct cli_call *call, const struct request *request,
			  struct koda_error *err)
{
	if (request->purpose == TO_SHELL)
		return koda_cli_need_operands(call, 0, "", err);
	if (request->seccomp + request->json + request->bwrap > 1)
		return koda_cli_usage(call, err, "%s and --%s exclude each other",
				      request->json ? "--json" : "--bwrap",
				      request->seccomp ? "seccomp" : "bwrap");
	if (request->bwrap && request->backend == KODA_BACKEND_LANDLOCK)
		return koda_cli_usage(call, err,
				      "--bwrap and --backend landlock exclude each other");
	if (request->seccomp && !request->shell && optind >= call->argc)
		return KODA_OK;
	return koda_cli_need_command(call, request->shell, err);
}

/* clang-format off */
#define COMMON_OPTIONS                                                                             \
	CLI_SHAPE_OPTIONS,                                                                         \
	CLI_GRIP_OPTIONS,                                                                          \
	{ "backend", required_argument, NULL, OPT_BACKEND },                                       \
	{ "events", required_argument, NULL, OPT_EVENTS },                                         \
	{ "events-fd", required_argument, NULL, OPT_EVENTS_FD },                                   \
	{ "tty", no_argument, NULL, OPT_TTY },                                                     \
	{ "no-tty", no_argument, NULL, OPT_NO_TTY },                                               \
	{ "yes", no_argument, NULL, OPT_YES },                                                     \
	{ "opaque", required_argument, NULL, CLI_OPT_OPAQUE },                                     \
	CLI_HELP_OPTION
/* clang-format on */

static const struct option run_options[] = { COMMON_OPTIONS, { 0 } };
static const struct option plan_options[] = { COMMON_OPTIONS,
					      { "json", no_argument, NULL, OPT_JSON },
					      { "bwrap", no_argument, NULL, OPT_BWRAP },
					      { "seccomp", no_argument, NULL, OPT_SECCOMP },
					      { 0 } };
static const struct option env_options[] = { COMMON_OPTIONS,
					     { "null", no_argument, NULL, '0' },
					     { 0 } };
static const struct cli_syntax syntaxes[] = {
	[TO_RUN] = { "+:c:h", run_options },
	[TO_SHOW] = { "+:c:h", plan_options },
	[TO_SHELL] = { "+:h", run_options },
	[TO_LIST] = { "+:c:0h", env_options },
};

int koda_cli_request_read(const struct cli_call *call, struct request *request,
			  struct koda_error *err)
{
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntaxes[request->purpose], &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		r = take_option(call, request, option, err);
		if (r < 0)
			return r;
	}
	if (r == KODA_OK)
		r = check_operands(call, request, err);
	if (r == KODA_OK)
		r = koda_cli_grip_check(&request->grip, &request->shape, call, err);
	if (r == KODA_OK)
		r = check_bare(call, request, err);
	if (r == KODA_OK)
		r = settle_terminal(call, request, err);
	if (r < 0)
		return r;
	request->argv = (const char *const *)call->argv + optind;
	if (request->purpose == TO_SHELL)
		choose_shell(call, request);
	return 1;
}

void koda_cli_request_clear(struct request *request)
{
	koda_strv_clear(&request->opaque);
	koda_cli_events_clear(&request->events);
	koda_cli_shape_clear(&request->shape);
}
