/* SPDX-License-Identifier: MIT */
/* Signals of the runner, which are forwarded to the command while one runs. */
#include "runner.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* How long a command may go on after its terminal was closed. */
#define HANGUP_SECS 5

/* The command that handlers signal; set while it is waited for. */
static struct koda_command *volatile running;

/* The signal that ends the runner once everything that it started has ended; 0: none. */
static volatile sig_atomic_t ends_by;

/* Raises the signal with its default action. In a handler it is delivered when that returns. */
static void end_by(int number)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	(void)sigaction(number, &by_default, NULL);
	(void)raise(number);
}

/* Replaces standard output and error by /dev/null, so that the runner's own messages wait for no
 * reader: write() fails with EINTR, and what is written next goes there. */
static bool drop_output(void)
{
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	bool dropped = nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
		       dup2(nothing, STDERR_FILENO) >= 0;

	if (nothing >= 0)
		(void)close(nothing);
	return dropped;
}

/* T-99. Ends the runner by the signal, but after the proxy that it started: a proxy that outlives
 * it would be left to a process that may never reap it. A second signal ends the runner at once. */
static void strike(int number)
{
	if (running) {
		koda_command_suspend(running); /* the terminal is left as it was found */
		koda_command_kill(running);    /* no reader of its output is waited for */
	}
	if (ends_by || !drop_output())
		end_by(number);
	ends_by = number;
}

/* Forwards a signal. After the command has ended it ends the runner, which may still wait for a
 * reader of its output. */
static void pass_on(int number)
{
	int saved = errno;

	if (!running || koda_command_signal(running, number, NULL) < 0)
		strike(number);
	errno = saved;
}

/* The last of stdin, stdout and stderr that is a terminal; -1: none is. */
static int terminal = -1;

static void find_terminal(void)
{
	terminal = STDERR_FILENO;
	while (terminal >= 0 && !isatty(terminal))
		terminal--;
}

/* Kills the command if its terminal is gone (EIO). The command may have handled SIGHUP otherwise.
 */
static void end_without_terminal(int number)
{
	int saved = errno;
	struct termios ignored;

	(void)number;
	if (running && terminal >= 0 && tcgetattr(terminal, &ignored) < 0 && errno == EIO)
		koda_command_kill(running);
	errno = saved;
}

/* Forwards SIGHUP to a command without a wall time, and looks for the terminal HANGUP_SECS later.
 * SIGALRM is caught only from here on: an earlier alarm was set by the parent process. */
static void hang_up(int number)
{
	const struct sigaction action = { .sa_handler = end_without_terminal };

	pass_on(number);
	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(HANGUP_SECS);
}

static void resize(int number)
{
	int saved = errno;

	(void)number;
	if (running)
		koda_command_resize(running);
	errno = saved;
}

/* Gives the terminal back before the runner stops, and takes it again at SIGCONT. */
static void stop(int number)
{
	int saved = errno;

	(void)number;
	if (running)
		koda_command_suspend(running);
	(void)kill(getpid(), SIGSTOP);
	if (running)
		koda_command_resume(running);
	errno = saved;
}

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
static sigset_t mask_before;
static bool is_held;

void cli_signals_hold(void)
{
	sigset_t held;

	(void)sigemptyset(&held);
	for (size_t i = 0; i < KODA_ARRAY_LEN(passed_on); i++)
		(void)sigaddset(&held, passed_on[i]);
	is_held = pthread_sigmask(SIG_BLOCK, &held, &mask_before) == 0;
}

void cli_signals_release(void)
{
	if (is_held)
		(void)pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	is_held = false;
}

void cli_signals_forward(struct koda_command *command)
{
	/* UINT32_MAX seconds, over a hundred years, count as no limit. */
	bool endless = koda_command_limit(command, KODA_LIMIT_WALL_TIME) >= UINT32_MAX;
	const struct {
		int number;
		void (*handler)(int);
	} table[] = {
		{ SIGHUP, endless ? hang_up : pass_on },
		{ SIGINT, pass_on },
		{ SIGQUIT, pass_on },
		{ SIGTERM, pass_on },
		{ SIGUSR1, pass_on },
		{ SIGUSR2, pass_on },
		{ SIGWINCH, resize },
		{ SIGTSTP, stop },
		{ SIGPIPE, SIG_IGN }, /* a reader that goes away is not our end */
	};

	running = command;
	find_terminal();
	for (size_t i = 0; i < KODA_ARRAY_LEN(table); i++) {
		struct sigaction action = { .sa_handler = table[i].handler };
		struct sigaction before;

		/* Ignored by the parent process, as nohup does: so they stay. */
		if (sigaction(table[i].number, NULL, &before) < 0 || before.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(table[i].number, &action, NULL);
	}
	cli_signals_release();
}

void cli_signals_stop_forwarding(void)
{
	running = NULL;
}

void cli_signals_end(void)
{
	cli_signals_release();
	if (ends_by)
		end_by(ends_by);
}
