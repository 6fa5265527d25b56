/* SPDX-License-Identifier: MIT */
/*
 * T-29. A terminal of the command's own, from the sandbox's own devpts. Its controlling side goes
 * to the runner, which carries the bytes; the host's terminal is never inside, so nothing can be
 * pushed into its input.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"
#include "wire/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static bool is_own;  /* there is one */
static bool is_held; /* the runner has stopped the command */

/* As the runner's terminal was. */
static void set_state(int tty, const struct koda_terminal_state *state)
{
	struct winsize size = { .ws_row = state->rows, .ws_col = state->columns };
	struct termios mode;

	if (tcgetattr(tty, &mode) < 0)
		koda_stage2_fail("look at the terminal", "", errno);
	mode.c_iflag = state->input;
	mode.c_oflag = state->output;
	mode.c_cflag = state->control;
	mode.c_lflag = state->local;
	memcpy(mode.c_cc, state->chars, sizeof(state->chars));
	if (tcsetattr(tty, TCSANOW, &mode) < 0 || ioctl(tty, TIOCSWINSZ, &size) < 0)
		koda_stage2_fail("set up the terminal", "", errno);
}

static void open_terminal(const struct koda_terminal_state *state)
{
	int ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int locked = 0;
	int theirs;

	if (ours < 0 || ioctl(ours, TIOCSPTLCK, &locked) < 0)
		koda_stage2_fail("make a terminal", "/dev/ptmx", errno);
	theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0)
		koda_stage2_fail("open the terminal", "", errno);
	set_state(theirs, state);
	if (!koda_report_give(KODA_REPORT_TERMINAL, ours, ""))
		koda_stage2_fail("hand the terminal out", "", errno);
	for (int fd = 0; fd <= 2; fd++)
		if ((state->streams & 1U << fd) && dup2(theirs, fd) < 0)
			koda_stage2_fail("take the terminal", "", errno);
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
			koda_stage2_fail("the plan has no such terminal", "", 0);
		memcpy(ret_state, op.text1.ptr, sizeof(*ret_state));
		return true;
	}
	return false;
}

void koda_terminal_open(const struct plan *plan)
{
	struct koda_terminal_state state;

	is_own = find_state(plan, &state);
	if (is_own)
		open_terminal(&state);
}

void koda_terminal_pass(pid_t command, int number)
{
	if (number == SIGSTOP || number == SIGCONT)
		is_held = number == SIGSTOP;
	(void)kill(-command, number);
}

bool koda_terminal_continue(pid_t command, int *ret_status)
{
	/* Nobody else's stops are asked for: there could be any number of them. */
	if (!is_own || is_held || waitpid(command, ret_status, WNOHANG | WUNTRACED) != command)
		return false;
	if (!WIFSTOPPED(*ret_status))
		return true;
	(void)kill(-command, SIGCONT);
	return false;
}

void koda_terminal_control(const struct plan *plan)
{
	struct koda_terminal_state state;

	if (find_state(plan, &state) && (state.streams & 1U) && ioctl(0, TIOCSCTTY, 0) < 0)
		koda_stage2_fail("take control of the terminal", "", errno);
}
