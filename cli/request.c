/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "base/error.h"

#include <unistd.h>

static int take_backend(struct cli_request *request, const char *name, struct koda_error *err)
{
	int r = request->backend_given ? koda_fail(err, KODA_E_INVALID, 0, "can be given only once")
				       : koda_backend_parse(name, &request->backend, err);

	request->backend_given = true;
	if (r < 0)
		cli_error_place(err, "--backend");
	return r;
}

/* Opens the event stream; env starts nothing and has none. */
static int take_events(struct cli_request *request, int option, const char *arg,
		       struct koda_error *err)
{
	int r;

	if (request->purpose == CLI_TO_LIST)
		return KODA_OK;
	if (option != CLI_REQUEST_EVENTS)
		return cli_events_open_fd(&request->events, arg, err);
	r = cli_events_open_file(&request->events, arg, err);
	/* The file may lie in the project, where the command could change it. */
	return r < 0 ? r : koda_strv_add(&request->policy.deny_write, arg, err);
}

int cli_request_take(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	struct cli_request *request = ctx;
	int r;

	switch (option) {
	case 'c':
		if (request->shell)
			return cli_args_fail(call, err, "-c can be given only once");
		request->shell = optarg;
		return KODA_OK;
	case '0':
		request->null = true;
		return KODA_OK;
	case CLI_REQUEST_YES:
		request->yes = true;
		return KODA_OK;
	case CLI_REQUEST_EXPLAIN:
		request->explain = true;
		return KODA_OK;
	case CLI_REQUEST_TTY:
		request->tty = true;
		return KODA_OK;
	case CLI_REQUEST_NO_TTY:
		request->no_tty = true;
		return KODA_OK;
	case CLI_REQUEST_REPORT:
		request->report = true;
		return KODA_OK;
	case CLI_REQUEST_NO_REPORT:
		request->no_report = true;
		return KODA_OK;
	case CLI_REQUEST_JSON:
		request->json = true;
		return KODA_OK;
	case CLI_REQUEST_BWRAP:
		request->bwrap = true;
		return KODA_OK;
	case CLI_REQUEST_SEATBELT:
		request->seatbelt = true;
		return KODA_OK;
	case CLI_REQUEST_SECCOMP:
		request->seccomp = true;
		return KODA_OK;
	case CLI_REQUEST_BACKEND:
		return take_backend(request, optarg, err);
	case CLI_OPT_ACCEPT:
	case CLI_OPT_NO_SANDBOX:
		return cli_waivers_take(&request->waivers, option, optarg, err);
	case CLI_OPT_OPAQUE:
		return koda_strv_add(&request->opaque, optarg, err);
	case CLI_OPT_ENV:
	case CLI_OPT_ENV_SECRET:
		return cli_variables_take(&request->variables, call, option, optarg, err);
	case CLI_REQUEST_EVENTS:
	case CLI_REQUEST_EVENTS_FD:
		return take_events(request, option, optarg, err);
	case CLI_OPT_POLICY:
		/* T-96: nor may the command change the policy file, by any name. */
		r = koda_strv_add(&request->policy.deny_write, optarg, err);
		return r < 0 ? r : cli_policy_options_take(&request->policy, option, optarg, err);
	default:
		return cli_policy_options_take(&request->policy, option, optarg, err);
	}
}

/* Chooses $SHELL, or /bin/sh. */
static void choose_shell(const struct cli_call *call, struct cli_request *request)
{
	request->interactive[0] = "/bin/sh";
	for (const char *const *env = call->env; *env; env++)
		if (strncmp(*env, "SHELL=/", 7) == 0)
			request->interactive[0] = *env + 6;
	request->argv = request->interactive;
}

/* Gives the command a terminal if stdin and stdout are terminals, unless --no-tty says otherwise. A
 * person then ends it, so there is no wall time but a given one. With --tty alone the wall time
 * applies. */
static int settle_terminal(const struct cli_call *call, struct cli_request *request,
			   struct koda_error *err)
{
	if (request->tty && request->no_tty)
		return cli_args_fail(call, err, "--tty and --no-tty exclude each other");
	if (request->report && request->no_report)
		return cli_args_fail(call, err, "--report and --no-report exclude each other");
	if (!request->no_tty && !request->waivers.no_sandbox && isatty(0) && isatty(1))
		request->tty = true;
	if (request->purpose == CLI_TO_SHELL || (request->tty && isatty(0) && isatty(1)))
		request->policy.untimed = true;
	return KODA_OK;
}

/* Refuses --no-sandbox with plan, shell, --tty and --backend. */
static int check_bare(const struct cli_call *call, const struct cli_request *request,
		      struct koda_error *err)
{
	if (!request->waivers.no_sandbox)
		return KODA_OK;
	if (request->purpose == CLI_TO_SHOW)
		return cli_args_fail(call, err, "there is no plan with --no-sandbox");
	if (request->purpose == CLI_TO_SHELL)
		return cli_args_fail(call, err, "--no-sandbox would be the shell you are in");
	if (request->backend != KODA_BACKEND_AUTO || request->tty)
		return cli_args_fail(call, err, "--no-sandbox and --%s exclude each other",
				     request->tty ? "tty" : "backend");
	return KODA_OK;
}

/* Checks the operands. --seccomp needs no command: all commands have the same filter. */
static int check_operands(const struct cli_call *call, const struct cli_request *request,
			  struct koda_error *err)
{
	if (request->purpose == CLI_TO_SHELL)
		return cli_args_need_operands(call, 0, "", err);
	if (request->seccomp + request->seatbelt + request->json + request->bwrap > 1)
		return cli_args_fail(call, err, "%s and --%s exclude each other",
				     request->json    ? "--json"
				     : request->bwrap ? "--bwrap"
						      : "--seatbelt",
				     request->seccomp                   ? "seccomp"
				     : request->json && !request->bwrap ? "seatbelt"
				     : request->json                    ? "bwrap"
									: "seatbelt");
	if (request->bwrap && request->backend == KODA_BACKEND_LANDLOCK)
		return cli_args_fail(call, err,
				     "--bwrap and --backend landlock exclude each other");
	if (request->seccomp && !request->shell && optind >= call->argc)
		return KODA_OK;
	return cli_args_need_command(call, request->shell, err);
}

static const struct option run_options[] = { CLI_REQUEST_OPTIONS, { 0 } };
static const struct option plan_options[] = { CLI_REQUEST_OPTIONS,
					      { "json", no_argument, NULL, CLI_REQUEST_JSON },
					      { "bwrap", no_argument, NULL, CLI_REQUEST_BWRAP },
					      { "seatbelt", no_argument, NULL,
						CLI_REQUEST_SEATBELT },
					      { "seccomp", no_argument, NULL, CLI_REQUEST_SECCOMP },
					      { 0 } };
static const struct option env_options[] = { CLI_REQUEST_OPTIONS,
					     { "null", no_argument, NULL, '0' },
					     { 0 } };
static const struct cli_syntax syntaxes[] = {
	[CLI_TO_RUN] = { "+:c:h", run_options },
	[CLI_TO_SHOW] = { "+:c:h", plan_options },
	[CLI_TO_SHELL] = { "+:h", run_options },
	[CLI_TO_LIST] = { "+:c:0h", env_options },
};

int cli_request_read(const struct cli_call *call, struct cli_request *request,
		     struct koda_error *err)
{
	int r = cli_args_read(call, &syntaxes[request->purpose], cli_request_take, request, err);

	if (r <= 0)
		return r;
	r = check_operands(call, request, err);
	if (r == KODA_OK)
		r = cli_waivers_check(&request->waivers, &request->policy, call, err);
	if (r == KODA_OK)
		r = check_bare(call, request, err);
	if (r == KODA_OK)
		r = settle_terminal(call, request, err);
	if (r < 0)
		return r;
	if (!request->shell)
		request->argv = (const char *const *)call->argv + optind;
	if (request->purpose == CLI_TO_SHELL)
		choose_shell(call, request);
	return 1;
}

void cli_request_clear(struct cli_request *request)
{
	koda_strv_clear(&request->opaque);
	koda_strv_clear(&request->variables);
	cli_events_clear(&request->events);
	cli_policy_options_clear(&request->policy);
}
