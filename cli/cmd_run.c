/* SPDX-License-Identifier: MIT */
/* koda-sandbox run, shell and plan. */
#include "remark.h"
#include "setup.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
	EXIT_OUTPUT_LOST = 1, /* like a command whose own write() failed */
	EXIT_WALL_TIME = 124,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128
};

/* A question longer than this is answered with no. */
#define QUESTION_MAX ((size_t)256 * 1024)

/* Appends one argument in quotes, which show where it ends. */
static int add_word(struct koda_buf *line, const char *word, bool first)
{
	int r = koda_buf_addf(line, first ? "'" : " '");

	if (r == KODA_OK)
		r = cli_output_escape(line, koda_span_of(word));
	return r < 0 ? r : koda_buf_add(line, "'", 1);
}

enum answer {
	ANSWER_NONE, /* there is no terminal */
	ANSWER_NO,
	ANSWER_YES
};

/* Asks on the terminal; anything but a yes is a no. */
static enum answer ask(const struct cli_request *request)
{
	koda_auto_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(QUESTION_MAX);
	const char *const *arg = request->argv;
	char answer[8];
	ssize_t n;
	int r = koda_buf_addf(&line, "run %s:\n    ",
			      request->waivers.no_sandbox ? "WITHOUT a sandbox" : "in the sandbox");

	/* The whole command, on a line of its own: a person approves what is shown. */
	if (r == KODA_OK && request->shell)
		r = cli_output_escape(&line, koda_span_of(request->shell));
	for (; r == KODA_OK && !request->shell && arg && *arg; arg++)
		r = add_word(&line, *arg, arg == request->argv);
	if (tty < 0 || r < 0 || koda_buf_addf(&line, "\nrun it? [y/N] ") < 0 ||
	    koda_fd_write_all(tty, line.ptr, line.len, NULL) < 0)
		return ANSWER_NONE;
	n = read(tty, answer, sizeof(answer));
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y') ? ANSWER_YES : ANSWER_NO;
}

/* Starts the launcher while the plan is still to be made; nothing where no launcher is needed. */
static int prestart(const struct cli_request *request, struct koda_prestart **ret_prestart,
		    struct koda_error *err)
{
	if (request->purpose == CLI_TO_SHOW || request->waivers.no_sandbox)
		return KODA_OK;
	return koda_prestart(request->backend, ret_prestart, err);
}

/* Ends the launcher before the question is asked, so that a signal may end the runner there. */
static enum answer ask_alone(const struct cli_request *request, struct koda_prestart **prestarted,
			     struct koda_error *err)
{
	enum answer answer;

	koda_prestart_free(KODA_TAKE(*prestarted));
	cli_signals_release();
	answer = ask(request);
	cli_signals_hold();
	/* If it cannot be started now, koda_sandbox_start tries again. */
	if (answer == ANSWER_YES)
		(void)!prestart(request, prestarted, err);
	return answer;
}

/* Asks for an approval if the policy's "trust" field is "require", and for every command without a
 * sandbox. Fails: DENIED if there is none, and for "forbid". */
static int check_approval(const struct koda_policy *policy, const struct cli_request *request,
			  struct koda_prestart **prestarted, struct koda_error *err)
{
	enum koda_ask word = koda_policy_ask(policy);
	enum answer answer;

	if (word == KODA_ASK_AUTO && request->waivers.no_sandbox)
		word = KODA_ASK_REQUIRE;
	switch (word) {
	case KODA_ASK_AUTO:
		return KODA_OK;
	case KODA_ASK_REQUIRE:
		answer = request->yes ? ANSWER_YES : ask_alone(request, prestarted, err);
		if (answer == ANSWER_YES)
			return KODA_OK;
		if (answer == ANSWER_NO)
			return koda_fail(err, KODA_E_DENIED, 0, "not approved");
		return koda_fail(err, KODA_E_DENIED, 0,
				 "needs an approval: answer yes on a terminal, or give --yes");
	case KODA_ASK_FORBID:
		break;
	}
	return koda_fail(err, KODA_E_DENIED, 0, "the policy forbids running commands");
}

/* Tells that nothing ran, unless the launcher died, which may have started the command. */
static int fail_setup(int code, struct koda_error *err)
{
	static const char long_prefix[] = "the sandbox could not be set up, nothing ran: ";

	if (code != KODA_E_CHILD)
		koda_error_prefix(err,
				  strlen(err->message) + sizeof(long_prefix) < sizeof(err->message)
					  ? long_prefix
					  : "nothing ran: ");
	return code;
}

/* Returns the exit status for an outcome. */
static int conclude(const struct koda_outcome *outcome, const struct cli_request *request)
{
	const char *name = request->shell ? "sh" : request->argv[0];
	char why[128];

	switch (outcome->end) {
	case KODA_END_EXITED:
		return outcome->code == 0 && outcome->output_errno ? EXIT_OUTPUT_LOST
								   : outcome->code;
	case KODA_END_SIGNAL:
		return EXIT_SIGNAL_BASE + outcome->signal;
	case KODA_END_WALL_TIME:
		return EXIT_WALL_TIME;
	case KODA_END_EXEC:
		if (outcome->sys_errno == ENOENT)
			cli_remark(false, "%.4000s: command not found", name);
		else if (outcome->sys_errno == ELIBACC)
			cli_remark(false,
				   "%.4000s: cannot be executed: its interpreter or loader (first "
				   "line, or ldd) was not found",
				   name);
		else
			cli_remark(false, "%.4000s: cannot be executed: %s", name,
				   strerror_r(outcome->sys_errno, why, sizeof(why)));
		return outcome->sys_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	case KODA_END_SETUP:
	case KODA_END_REFUSED:
	case KODA_END_COUNT:
		break;
	}
	return CLI_EXIT_FAILED;
}

static int run_command(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       const struct cli_request *request, struct koda_error *err)
{
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	int r = koda_sandbox_start(sandbox, options, &command, err);

	if (r < 0)
		return r;
	cli_signals_forward(command);
	r = koda_command_wait(command, &outcome, err);
	cli_signals_stop_forwarding();
	cli_remark_all(command, request, &outcome);
	koda_command_free(command);
	return r < 0 ? fail_setup(r, err) : conclude(&outcome, request);
}

static int print_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		      const struct cli_request *request, struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = request->json    ? koda_sandbox_plan_json(sandbox, options, &text, err)
		: request->bwrap ? koda_sandbox_plan_bwrap(sandbox, options, &text, err)
				 : koda_sandbox_plan(sandbox, options, &text, err);

	return r < 0 ? r : cli_output_print(text, strlen(text), err);
}

/* Returns the runner's own stream, or none if it is closed. To be asked before anything opens a
 * descriptor, which may get its number. */
static struct koda_stream own_stream(int fd)
{
	bool is_open = fcntl(fd, F_GETFD) >= 0 || errno != EBADF;

	return (struct koda_stream){ .kind = is_open ? KODA_STREAM_INHERIT : KODA_STREAM_NULL };
}

/* Opens the sandbox with the project of setup, then runs the command or prints its plan. */
static int use_sandbox(const struct koda_command_options *command, struct cli_request *request,
		       const struct cli_setup *setup, struct koda_prestart *prestarted,
		       struct koda_error *err)
{
	struct koda_sandbox *sandbox = NULL;
	struct koda_sandbox_options options = {
		.size = sizeof(options),
		.trust = request->policy.trust,
		.backend = request->backend,
		.tls_passthrough = (const char *const *)request->opaque.items,
		.project = setup->project,
		.prestart = prestarted,
	};
	int r;

	cli_waivers_apply(&request->waivers, &options);
	cli_waivers_warn(&request->waivers);
	if (request->explain && request->purpose != CLI_TO_SHOW) {
		r = koda_explain_new(&request->events.explain, err);
		if (r < 0)
			return r;
	}
	if (request->events.fd >= 0 || request->events.explain) {
		options.on_event = cli_events_write;
		options.event_ctx = &request->events;
	}
	r = koda_sandbox_open(&options, &sandbox, err);
	if (r == KODA_OK)
		r = request->purpose == CLI_TO_SHOW ? print_plan(sandbox, command, request, err)
						    : run_command(sandbox, command, request, err);
	koda_sandbox_close(sandbox);
	return r;
}

static int act(const struct cli_call *call, struct cli_request *request, struct koda_error *err)
{
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct koda_command_options command = {
		.size = sizeof(command),
		.shell = request->shell,
		.argv = request->argv,
		.in = own_stream(0),
		.out = own_stream(1),
		.err = own_stream(2),
		.terminal = request->tty,
		.untimed = request->policy.untimed,
		.report = request->report,
		.env = (const char *const *)request->variables.items,
		.approved = true, /* check_approval has asked */
	};
	struct koda_prestart *prestarted = NULL;
	bool runs = request->purpose != CLI_TO_SHOW;
	int r;

	if (runs) {
		cli_signals_hold();
		cli_orphans_adopt();
	}
	r = prestart(request, &prestarted, err);
	if (r == KODA_OK)
		r = cli_setup_make(&request->policy, call->env, &setup, err);
	if (r == KODA_OK && request->seatbelt)
		return cli_seatbelt_print(&setup, NULL, err);
	if (r == KODA_OK && runs)
		r = check_approval(koda_project_policy(setup.project), request, &prestarted, err);
	if (r < 0) {
		koda_prestart_free(prestarted);
		return r;
	}
	command.cwd = setup.cwd;
	command.max_processes = setup.max_processes;
	r = use_sandbox(&command, request, &setup, prestarted, err);
	koda_prestart_free(prestarted);
	if (runs)
		cli_orphans_reap();
	return r;
}

static int serve(const struct cli_call *call, enum cli_purpose purpose, struct koda_error *err)
{
	struct cli_request request = CLI_REQUEST_INIT(purpose);
	int r = cli_request_read(call, &request, err);

	if (r > 0 && request.seccomp)
		r = cli_output_print(koda_filter_listing(), strlen(koda_filter_listing()), err);
	else if (r > 0)
		r = act(call, &request, err);
	if (r < 0)
		cli_events_refused(&request.events, err);
	cli_request_clear(&request);
	cli_signals_end();
	return r;
}

int cli_cmd_run(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, CLI_TO_RUN, err);
}

int cli_cmd_plan(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, CLI_TO_SHOW, err);
}

int cli_cmd_shell(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, CLI_TO_SHELL, err);
}
