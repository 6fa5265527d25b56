/* SPDX-License-Identifier: MIT */
/* koda-sandbox run and koda-sandbox plan: a command in its sandbox, or what would be done. */
#include "options.h"

#include "base/diag.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <koda/run.h>
#include <signal.h>
#include <unistd.h>

enum {
	OPT_BACKEND = CLI_OPT_OWN,
	OPT_YES
};

enum {
	EXIT_WALL_TIME = 124,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128
};

struct request {
	struct cli_shape shape;
	const char *shell;       /* borrowed from argv; NULL: argv */
	const char *const *argv; /* borrowed */
	bool yes;
};

/* What a signal handler needs; set while a command runs. */
static struct koda_command *volatile running;

static void pass_on(int number)
{
	int saved = errno;

	if (running)
		(void)!koda_command_signal(running, number, NULL);
	errno = saved;
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = pass_on };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < KODA_ARRAY_LEN(numbers); i++)
		(void)sigaction(numbers[i], &action, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL); /* a reader that goes away is not our end */
}

static int check_backend(const struct cli_call *call, const char *name, struct koda_error *err)
{
	if (name && (strcmp(name, "auto") == 0 || strcmp(name, "native") == 0))
		return KODA_OK;
	return koda_cli_usage(call, err, "--backend: '%.40s' is not available", name ? name : "");
}

static int read_request(const struct cli_call *call, struct request *request,
			struct koda_error *err)
{
	static const struct option longs[] = { CLI_SHAPE_OPTIONS,
					       { "backend", required_argument, NULL, OPT_BACKEND },
					       { "yes", no_argument, NULL, OPT_YES },
					       CLI_HELP_OPTION,
					       { 0 } };
	static const struct cli_syntax syntax = { "+:c:h", longs };
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		if (option == 'c' && request->shell)
			return koda_cli_usage(call, err, "-c can be given only once");
		if (option == 'c')
			request->shell = optarg;
		else if (option == OPT_YES)
			request->yes = true;
		else if (option == OPT_BACKEND)
			r = check_backend(call, optarg, err);
		else
			r = koda_cli_shape_take(&request->shape, option, optarg, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	r = koda_cli_need_command(call, request->shell, err);
	if (r < 0)
		return r;
	request->argv = (const char *const *)call->argv + optind;
	return 1;
}

/* Asks on the terminal; anything but a yes is a no. */
static bool approve(const char *what)
{
	koda_auto_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);
	char answer[8];
	ssize_t n;

	if (tty < 0 || koda_buf_addf(&line, "run in the sandbox: ") < 0 ||
	    koda_cli_add_escaped(&line, (struct koda_span){ what, strnlen(what, 1000) }) < 0 ||
	    koda_buf_addf(&line, " ? [y/N] ") < 0 ||
	    koda_fd_write_all(tty, line.ptr, line.len, NULL) < 0)
		return false;
	n = read(tty, answer, sizeof(answer));
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The policy's own word: forbid never runs, require needs someone's yes. */
static int check_approval(const struct koda_policy *policy, const struct request *request,
			  struct koda_error *err)
{
	switch (koda_policy_ask(policy)) {
	case KODA_ASK_AUTO:
		return KODA_OK;
	case KODA_ASK_REQUIRE:
		if (request->yes || approve(request->shell ? request->shell : request->argv[0]))
			return KODA_OK;
		return koda_fail(err, KODA_E_DENIED, 0,
				 "needs an approval: answer yes on a terminal, or give --yes");
	case KODA_ASK_FORBID:
		break;
	}
	return koda_fail(err, KODA_E_DENIED, 0, "the policy forbids running commands");
}

/* The exit status for an outcome, or an error for what must be told. */
static int conclude(const struct koda_outcome *outcome, const struct request *request,
		    struct koda_error *err)
{
	static const char late[] = "koda-sandbox: the wall time has passed; everything was ended\n";
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(8192);

	switch (outcome->end) {
	case KODA_END_EXITED:
		return outcome->code;
	case KODA_END_SIGNAL:
		return EXIT_SIGNAL_BASE + outcome->signal;
	case KODA_END_TIMEOUT:
		(void)!koda_fd_write_all(STDERR_FILENO, late, sizeof(late) - 1, NULL);
		return EXIT_WALL_TIME;
	case KODA_END_EXEC:
		if (koda_buf_addf(&line, "koda-sandbox: ") == KODA_OK &&
		    koda_cli_add_escaped(&line,
					 koda_span_of(request->shell ? "sh" : request->argv[0])) ==
			    KODA_OK &&
		    koda_buf_addf(&line, ": %s\n",
				  outcome->sys_errno == ENOENT ? "command not found"
							       : "cannot be executed") == KODA_OK)
			(void)!koda_fd_write_all(STDERR_FILENO, line.ptr, line.len, NULL);
		return outcome->sys_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	case KODA_END_SETUP:
		break;
	}
	*err = outcome->setup;
	/* Of a launcher that died nobody knows how far it came. */
	if (err->code != KODA_E_CHILD)
		koda_error_prefix(err, "the sandbox could not be set up, nothing ran: ");
	return err->code;
}

static int run_command(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       const struct request *request, struct koda_error *err)
{
	struct koda_command *command = NULL;
	struct koda_outcome outcome;
	int r = koda_sandbox_start(sandbox, options, &command, err);

	if (r < 0)
		return r;
	running = command;
	catch_signals();
	r = koda_command_wait(command, &outcome, err);
	running = NULL;
	koda_command_free(command);
	return r < 0 ? r : conclude(&outcome, request, err);
}

static int print_plan(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		      struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = koda_sandbox_plan(sandbox, options, &text, err);

	return r < 0 ? r : koda_cli_print(text, strlen(text), err);
}

static int open_fd(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 ? fd : -1;
}

static int act(const struct cli_call *call, const struct request *request, bool only_plan,
	       struct koda_error *err)
{
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct koda_sandbox *sandbox = NULL;
	struct koda_sandbox_options options = { .trust = request->shape.trust,
						.host_env = call->env };
	struct koda_command_options command = {
		.shell = request->shell,
		.argv = request->argv,
		.stdio = { open_fd(0), open_fd(1), open_fd(2) },
	};
	int r = koda_cli_shape_apply(&request->shape, call->env, &setup, err);

	if (r == KODA_OK && !only_plan)
		r = check_approval(setup.policy, request, err);
	if (r < 0)
		return r;
	options.root = setup.site.root;
	options.policy = setup.policy;
	command.cwd = setup.cwd;
	command.max_processes = setup.max_processes;
	r = koda_sandbox_open(&options, &sandbox, err);
	if (r == KODA_OK)
		r = only_plan ? print_plan(sandbox, &command, err)
			      : run_command(sandbox, &command, request, err);
	koda_sandbox_close(sandbox);
	return r;
}

static int run_or_plan(const struct cli_call *call, bool only_plan, struct koda_error *err)
{
	struct request request = { .shape = CLI_SHAPE_INIT };
	int r = read_request(call, &request, err);

	if (r > 0)
		r = act(call, &request, only_plan, err);
	koda_cli_shape_clear(&request.shape);
	return r;
}

int koda_cli_run(const struct cli_call *call, struct koda_error *err)
{
	return run_or_plan(call, false, err);
}

int koda_cli_plan(const struct cli_call *call, struct koda_error *err)
{
	return run_or_plan(call, true, err);
}
