/* SPDX-License-Identifier: MIT */
#include "run/stream/terminal.h"

#include "base/fd.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The settings of a new terminal, as after `stty sane`. */
static void usual(struct termios *mode)
{
	memset(mode, 0, sizeof(*mode));
	mode->c_iflag = ICRNL | IXON;
	mode->c_oflag = OPOST | ONLCR;
	mode->c_cflag = B38400 | CS8 | CREAD;
	mode->c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
	mode->c_cc[VINTR] = 3;
	mode->c_cc[VQUIT] = 28;
	mode->c_cc[VERASE] = 127;
	mode->c_cc[VKILL] = 21;
	mode->c_cc[VEOF] = 4;
	mode->c_cc[VMIN] = 1;
	mode->c_cc[VSTART] = 17;
	mode->c_cc[VSTOP] = 19;
	mode->c_cc[VSUSP] = 26;
	mode->c_cc[VREPRINT] = 18;
	mode->c_cc[VDISCARD] = 15;
	mode->c_cc[VWERASE] = 23;
	mode->c_cc[VLNEXT] = 22;
}

void koda_terminal_describe(const int stdio[3], bool has_err, struct koda_terminal_state *ret_state)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct termios mode;

	if (stdio[0] < 0 || tcgetattr(stdio[0], &mode) < 0)
		usual(&mode);
	if (stdio[0] < 0 || ioctl(stdio[0], TIOCGWINSZ, &size) < 0)
		(void)ioctl(stdio[1], TIOCGWINSZ, &size);
	*ret_state = (struct koda_terminal_state){
		.input = mode.c_iflag,
		.output = mode.c_oflag,
		.control = mode.c_cflag,
		.local = mode.c_lflag,
		.rows = size.ws_row,
		.columns = size.ws_col,
		.streams = 1U | 1U << 1,
	};
	memcpy(ret_state->chars, mode.c_cc, sizeof(ret_state->chars));
	if (!has_err && (stdio[2] < 0 || isatty(stdio[2])))
		ret_state->streams |= 1U << 2;
}

void koda_terminal_open(struct koda_terminal *terminal, int tty, int control)
{
	koda_fd_close(&terminal->control);
	koda_fd_close(&terminal->tty);
	terminal->control = control;
	if (tty >= 0 && tcgetattr(tty, &terminal->before) == 0)
		terminal->tty = koda_take_fd(&tty);
	koda_fd_close(&tty);
	koda_terminal_raw(terminal);
}

void koda_terminal_close(struct koda_terminal *terminal)
{
	koda_terminal_cooked(terminal);
	koda_fd_close(&terminal->tty);
	koda_fd_close(&terminal->control);
}

void koda_terminal_resize(const struct koda_terminal *terminal)
{
	struct winsize size;

	if (terminal->tty >= 0 && terminal->control >= 0 &&
	    ioctl(terminal->tty, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->control, TIOCSWINSZ, &size);
}

void koda_terminal_raw(struct koda_terminal *terminal)
{
	struct termios raw = terminal->before;

	if (terminal->tty < 0)
		return;
	/* The window size may have changed since the pseudoterminal was made. */
	koda_terminal_resize(terminal);
	cfmakeraw(&raw);
	terminal->is_raw = tcsetattr(terminal->tty, TCSANOW, &raw) == 0;
}

void koda_terminal_cooked(struct koda_terminal *terminal)
{
	/* TCSANOW and not TCSADRAIN, which blocks if the output of the terminal is not read. */
	if (terminal->is_raw)
		(void)tcsetattr(terminal->tty, TCSANOW, &terminal->before);
	terminal->is_raw = false;
}
