/* SPDX-License-Identifier: MIT */
/*
 * T-29. A terminal of the command's own, from the sandbox's own devpts. Its controlling side goes
 * to the runner, which copies the bytes. The host's terminal is never inside, so nothing can be
 * pushed into its input (TIOCSTI).
 */
#include "init/terminal.h"

#include "fail.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"
#include "wire/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static bool is_own;  /* the plan has a terminal */
static bool is_held; /* the runner has stopped the command */

/* Sets modes and size to those of the runner's terminal. */
static void set_state(int tty, const struct koda_terminal_state *state)
{
	struct winsize size = { .ws_row = state->rows, .ws_col = state->columns };
	struct termios mode;

	if (tcgetattr(tty, &mode) < 0)
		stage2_fail(KODA_LAUNCH_TERMINAL_STATE, "", errno);
	mode.c_iflag = state->input;
	mode.c_oflag = state->output;
	mode.c_cflag = state->control;
	mode.c_lflag = state->local;
	memcpy(mode.c_cc, state->chars, sizeof(state->chars));
	if (tcsetattr(tty, TCSANOW, &mode) < 0 || ioctl(tty, TIOCSWINSZ, &size) < 0)
		stage2_fail(KODA_LAUNCH_TERMINAL_SET, "", errno);
}

static void open_terminal(const struct koda_terminal_state *state)
{
	int ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int locked = 0;
	int theirs;

	if (ours < 0 || ioctl(ours, TIOCSPTLCK, &locked) < 0)
		stage2_fail(KODA_LAUNCH_TERMINAL_MAKE, "/dev/ptmx", errno);
	theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0)
		stage2_fail(KODA_LAUNCH_TERMINAL_OPEN, "", errno);
	set_state(theirs, state);
	if (!stage2_report_send_fd(KODA_REPORT_TERMINAL, ours, ""))
		stage2_fail(KODA_LAUNCH_TERMINAL_SEND, "", errno);
	for (int fd = 0; fd <= 2; fd++)
		if ((state->streams & 1U << fd) && dup2(theirs, fd) < 0)
			stage2_fail(KODA_LAUNCH_TERMINAL_TAKE, "", errno);
	(void)close(theirs);
	(void)close(ours);
}

static bool find_state(const struct plan *plan, struct koda_terminal_state *ret_state)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind != KODA_OP_TERMINAL)
			continue;
		if (op.text1.len != sizeof(*ret_state))
			stage2_fail(KODA_LAUNCH_PLAN_TERMINAL, "", 0);
		memcpy(ret_state, op.text1.ptr, sizeof(*ret_state));
		return true;
	}
	return false;
}

void stage2_terminal_open(const struct plan *plan)
{
	struct koda_terminal_state state;

	is_own = find_state(plan, &state);
	if (is_own)
		open_terminal(&state);
}

void stage2_terminal_pass(pid_t command, int number)
{
	if (number == SIGSTOP || number == SIGCONT)
		is_held = number == SIGSTOP;
	(void)kill(-command, number);
}

bool stage2_terminal_continue(pid_t command, int *ret_status)
{
	/* Only the command is asked for: any number of other processes may have stopped. */
	if (!is_own || is_held || waitpid(command, ret_status, WNOHANG | WUNTRACED) != command)
		return false;
	if (!WIFSTOPPED(*ret_status))
		return true;
	(void)kill(-command, SIGCONT);
	return false;
}

void stage2_terminal_control(const struct plan *plan)
{
	struct koda_terminal_state state;

	if (find_state(plan, &state) && (state.streams & 1U) && ioctl(0, TIOCSCTTY, 0) < 0)
		stage2_fail(KODA_LAUNCH_TERMINAL_CONTROL, "", errno);
}
