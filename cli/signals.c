/* SPDX-License-Identifier: MIT */
/* Signals of the runner are the command's: they are passed on while one runs. */
#include "runner.h"

#include "base/macros.h"
#include "run/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

/* How long a command may go on after its terminal was closed. */
#define HANGUP_SECS 5

/* What a handler needs; set while a command is waited for. */
static struct koda_command *volatile running;

/* As if it had never been caught; it strikes when the handler returns. */
static void strike(int number)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	if (running)
		koda_command_suspend(running); /* the terminal is left as it was found */
	(void)sigaction(number, &by_default, NULL);
	(void)raise(number);
}

/* Once the command has ended a signal can only mean the runner, which may still wait for a reader
 * of its output. */
static void pass_on(int number)
{
	int saved = errno;

	if (!running || koda_command_signal(running, number, NULL) < 0)
		strike(number);
	errno = saved;
}

/* The first of the streams that is one; -1: none is. */
static int terminal = -1;

static void find_terminal(void)
{
	terminal = STDERR_FILENO;
	while (terminal >= 0 && !isatty(terminal))
		terminal--;
}

/* A signal alone may mean something else to the command; a terminal that is gone does not. */
static void end_without_terminal(int number)
{
	int saved = errno;
	struct termios ignored;

	(void)number;
	if (running && terminal >= 0 && tcgetattr(terminal, &ignored) < 0 && errno == EIO)
		koda_command_kill(running);
	errno = saved;
}

/* Where there is no wall time, who sits at the terminal ends what takes too long. The alarm is
 * caught only from here on, because one that comes earlier was set by whoever started us. */
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

/* Stopped from outside: the terminal belongs to somebody else until we go on. */
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

void koda_cli_catch_signals(struct koda_command *command)
{
	bool endless = command->deadline_ns == KODA_DEADLINE_NEVER;
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

		/* Whoever started us has them ignored, as nohup does: so they stay. */
		if (sigaction(table[i].number, NULL, &before) < 0 || before.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(table[i].number, &action, NULL);
	}
}

void koda_cli_release_signals(void)
{
	running = NULL;
}
