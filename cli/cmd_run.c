/* SPDX-License-Identifier: MIT */
/* koda-sandbox run, shell and plan: a command in its sandbox, a shell in it, or what would be done.
 */
#include "request.h"

#include "base/diag.h"
#include "base/fd.h"
#include "plan/filter.h"
#include "run/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
	EXIT_OUTPUT_LOST = 1, /* what the command itself would have had to say */
	EXIT_WALL_TIME = 124,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128
};

/* A question longer than this is answered with no. */
#define QUESTION_MAX ((size_t)256 * 1024)

/* One argument, in quotes so that it is seen where it ends. */
static int add_word(struct koda_buf *line, const char *word)
{
	int r = koda_buf_add(line, " '", 2);

	if (r == KODA_OK)
		r = koda_cli_add_escaped(line, koda_span_of(word));
	return r < 0 ? r : koda_buf_add(line, "'", 1);
}

enum answer {
	ANSWER_NONE, /* there was nobody to ask */
	ANSWER_NO,
	ANSWER_YES
};

/* Asks on the terminal; anything but a yes is a no. */
static enum answer ask(const struct request *request)
{
	koda_auto_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(QUESTION_MAX);
	const char *const *arg = request->argv;
	char answer[8];
	ssize_t n;
	int r = koda_buf_addf(&line, "run %s: ",
			      request->grip.no_sandbox ? "WITHOUT a sandbox" : "in the sandbox");

	/* All of it: what is not shown is not approved. */
	if (r == KODA_OK && request->shell)
		r = koda_cli_add_escaped(&line, koda_span_of(request->shell));
	for (; r == KODA_OK && !request->shell && arg && *arg; arg++)
		r = add_word(&line, *arg);
	if (tty < 0 || r < 0 || koda_buf_addf(&line, " ? [y/N] ") < 0 ||
	    koda_fd_write_all(tty, line.ptr, line.len, NULL) < 0)
		return ANSWER_NONE;
	n = read(tty, answer, sizeof(answer));
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y') ? ANSWER_YES : ANSWER_NO;
}

/* The policy's own word: forbid never runs, require needs someone's yes. */
static int check_approval(const struct koda_policy *policy, const struct request *request,
			  struct koda_error *err)
{
	enum answer answer;

	switch (koda_policy_ask(policy)) {
	case KODA_ASK_AUTO:
		return KODA_OK;
	case KODA_ASK_REQUIRE:
		answer = request->yes ? ANSWER_YES : ask(request);
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

/* What the runner itself has to say at the end, one line each. in_line: the command has left one
 * unfinished. */
static void remark(bool in_line, const char *format, ...) KODA_PRINTF(2, 3);
static void remark(bool in_line, const char *format, ...)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len >= 0 &&
	    koda_buf_addf(&line, "%s" CLI_PROGRAM ": ", in_line ? "\n" : "") == KODA_OK &&
	    koda_cli_add_escaped(&line, koda_span_of(text)) == KODA_OK &&
	    koda_buf_add(&line, "\n", 1) == KODA_OK)
		(void)!koda_fd_write_all(STDERR_FILENO, line.ptr, line.len, NULL);
}

/* Whether the line that the command has left is still unfinished. */
static bool remark_end(const struct koda_outcome *outcome, bool in_line)
{
	static const char *const texts[] = {
		[KODA_CEILING_WALL_TIME] =
			"the wall time has passed (see --wall-time); everything was ended",
		[KODA_CEILING_MEMORY] = "the memory limit was reached; everything was ended",
		[KODA_CEILING_PROCESSES] = "the process limit was reached",
		[KODA_CEILING_CPU_TIME] = "the limit of processor time was reached",
		[KODA_CEILING_FILE_SIZE] = "the limit of a file's size was reached",
	};
	/* Where a control group counts them, starting one more has failed, and the rest went on. */
	bool killed = outcome->end == KODA_END_SIGNAL && outcome->signal == SIGKILL;
	char why[128];

	for (size_t i = 0; i < KODA_ARRAY_LEN(texts); i++)
		if (texts[i] && (outcome->limits & 1U << i)) {
			remark(in_line, "%s%s", texts[i],
			       i != KODA_CEILING_PROCESSES ? ""
			       : killed                    ? "; everything was ended"
							   : "; starting one more failed");
			in_line = false;
		}
	if (outcome->output_errno) {
		remark(in_line, "output was lost, it cannot be written: %s",
		       strerror_r(outcome->output_errno, why, sizeof(why)));
		in_line = false;
	}
	return in_line;
}

/* The exit status for an outcome, or an error for what must be told. */
static int conclude(const struct koda_outcome *outcome, const struct request *request,
		    struct koda_error *err)
{
	static const char long_prefix[] = "the sandbox could not be set up, nothing ran: ";
	const char *name = request->shell ? "sh" : request->argv[0];
	char why[128];

	switch (outcome->end) {
	case KODA_END_EXITED:
		return outcome->code == 0 && outcome->output_errno ? EXIT_OUTPUT_LOST
								   : outcome->code;
	case KODA_END_SIGNAL:
		return EXIT_SIGNAL_BASE + outcome->signal;
	case KODA_END_TIMEOUT:
		return EXIT_WALL_TIME;
	case KODA_END_EXEC:
		if (outcome->sys_errno == ENOENT)
			remark(false, "%.4000s: command not found", name);
		else if (outcome->sys_errno == ELIBACC)
			remark(false,
			       "%.4000s: cannot be executed: its interpreter or loader (first "
			       "line, or ldd) was not found",
			       name);
		else
			remark(false, "%.4000s: cannot be executed: %s", name,
			       strerror_r(outcome->sys_errno, why, sizeof(why)));
		return outcome->sys_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	case KODA_END_SETUP:
		break;
	}
	*err = outcome->setup;
	/* Of a launcher that died nobody knows how far it came. */
	if (err->code != KODA_E_CHILD)
		koda_error_prefix(err,
				  strlen(err->message) + sizeof(long_prefix) < sizeof(err->message)
					  ? long_prefix
					  : "nothing ran: ");
	return err->code;
}

/* After a command that failed, what it was denied; the model reads it. */
static void print_violations(const struct koda_command *command, bool in_line)
{
	koda_auto_free char *text = NULL;
	const char *block;

	if (koda_command_violations(command, &text, NULL) < 0 || !text[0])
		return;
	block = text + (!in_line && text[0] == '\n');
	(void)!koda_fd_write_all(STDERR_FILENO, block, strlen(block), NULL);
}

/* The block comes last, so that whoever looks for it finds it there. */
static void tell_end(const struct koda_command *command, const struct request *request,
		     const struct koda_outcome *outcome)
{
	/* What goes through a terminal is one stream. */
	const struct koda_relay *errors =
		&command->output[request->tty && isatty(STDERR_FILENO) ? 0 : 1];
	bool in_line = remark_end(outcome, errors->total > 0 && errors->last != '\n');

	if (outcome->end == KODA_END_SIGNAL || outcome->end == KODA_END_TIMEOUT ||
	    (outcome->end == KODA_END_EXITED && outcome->code != 0))
		print_violations(command, in_line);
}

static int run_command(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       const struct request *request, struct koda_error *err)
{
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	int r = koda_sandbox_start(sandbox, options, &command, err);

	if (r < 0)
		return r;
	koda_cli_catch_signals(command);
	r = koda_command_wait(command, &outcome, err);
	koda_cli_release_signals();
	if (r == KODA_OK)
		tell_end(command, request, &outcome);
	koda_command_free(command);
	return r < 0 ? r : conclude(&outcome, request, err);
}

static int print_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		      const struct request *request, struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = request->json    ? koda_sandbox_plan_json(sandbox, options, &text, err)
		: request->bwrap ? koda_sandbox_plan_bwrap(sandbox, options, &text, err)
				 : koda_sandbox_plan(sandbox, options, &text, err);

	return r < 0 ? r : koda_cli_print(text, strlen(text), err);
}

static int open_fd(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF ? fd : -1;
}

static int act(const struct cli_call *call, struct request *request, struct koda_error *err)
{
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct koda_sandbox_parts parts = { .spare = KODA_LAUNCHER_INIT };
	struct koda_sandbox *sandbox = NULL;
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = request->shape.trust,
						.host_env = call->env,
						.backend = request->backend };
	struct koda_command_options command = {
		.size = sizeof(command),
		.shell = request->shell,
		.argv = request->argv,
		.stdio = { open_fd(0), open_fd(1), open_fd(2) },
		.terminal = request->tty,
		.approved = true, /* checked below, before anything else is looked at */
	};
	const struct koda_backend *early = koda_backend_of(
		request->backend == KODA_BACKEND_AUTO ? KODA_BACKEND_NATIVE : request->backend);
	int r = KODA_OK;

	/* It gets ready while we find out what it is to do. */
	if (request->purpose != TO_SHOW && !request->grip.no_sandbox && early && early->prepare)
		r = koda_launcher_prepare(&parts.spare, early, err);
	if (r == KODA_OK)
		r = koda_cli_shape_apply(&request->shape, call->env, &setup, err);
	if (r == KODA_OK && request->purpose != TO_SHOW)
		r = check_approval(setup.policy, request, err);
	if (r < 0) {
		koda_launcher_clear(&parts.spare);
		return r;
	}
	parts.site = setup.site;
	setup.site = (struct koda_site)KODA_SITE_INIT;
	parts.policy = KODA_TAKE(setup.policy);
	koda_cli_grip_apply(&request->grip, &options);
	koda_cli_grip_warn(&request->grip);
	options.opaque = (const char *const *)request->opaque.items;
	if (request->events.fd >= 0) {
		options.on_event = koda_cli_write_event;
		options.event_ctx = &request->events;
	}
	command.cwd = setup.cwd;
	command.max_processes = setup.max_processes;
	r = koda_sandbox_assemble(&options, &parts, &sandbox, err);
	if (r == KODA_OK)
		r = request->purpose == TO_SHOW ? print_plan(sandbox, &command, request, err)
						: run_command(sandbox, &command, request, err);
	koda_sandbox_close(sandbox);
	return r;
}

static int serve(const struct cli_call *call, enum purpose purpose, struct koda_error *err)
{
	struct request request = CLI_REQUEST_INIT(purpose);
	int r = koda_cli_request_read(call, &request, err);

	if (r > 0 && request.seccomp)
		r = koda_cli_print(koda_filter_listing(), strlen(koda_filter_listing()), err);
	else if (r > 0)
		r = act(call, &request, err);
	if (r < 0)
		koda_cli_events_refused(&request.events, r);
	koda_cli_request_clear(&request);
	return r;
}

int koda_cli_run(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, TO_RUN, err);
}

int koda_cli_plan(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, TO_SHOW, err);
}

int koda_cli_shell(const struct cli_call *call, struct koda_error *err)
{
	return serve(call, TO_SHELL, err);
}
