/* SPDX-License-Identifier: MIT */
#include "remark.h"

#include "base/error.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void cli_remark(bool in_line, const char *format, ...)
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
	    cli_output_escape(&line, koda_span_of(text)) == KODA_OK &&
	    koda_buf_add(&line, "\n", 1) == KODA_OK)
		cli_output_warn(line.ptr, line.len);
}

/* Remarks on output that was left out. */
static void remark_dropped(const struct koda_command *command, const struct koda_outcome *outcome,
			   bool in_line)
{
	cli_remark(in_line,
		   "%llu bytes of output were left out; of each stream %llu are kept (see "
		   "--max-output); a file that the command itself writes has no such limit",
		   (unsigned long long)outcome->output_dropped,
		   (unsigned long long)koda_command_limit(command, KODA_LIMIT_OUTPUT));
}

/* Returns whether the command exited with 0. */
static bool is_well(const struct koda_outcome *outcome)
{
	return outcome->end == KODA_END_EXITED && outcome->code == 0;
}

/* Remarks on limits and lost output. Returns whether the command's last line is still unfinished.
 */
static bool remark_end(const struct koda_command *command, enum koda_trust trust,
		       const struct koda_outcome *outcome, bool in_line)
{
	static const char repositories[] =
		"there are so many repositories that their git directories are read-only; to "
		"commit in one, name it with --root";
	static const char *const texts[] = {
		[KODA_LIMIT_WALL_TIME] = "the wall time has passed",
		[KODA_LIMIT_MEMORY] = "the memory limit was reached; everything was ended",
		[KODA_LIMIT_PROCESSES] = "the process limit was reached",
		[KODA_LIMIT_CPU_TIME] = "the limit of processor time was reached",
		[KODA_LIMIT_FILE_SIZE] = "the limit of a file's size was reached",
		[KODA_LIMIT_REPOSITORIES] = repositories,
	};
	/* In a control group fork() fails at the limit, and the other processes go on. */
	bool killed = outcome->end == KODA_END_SIGNAL && outcome->signal == SIGKILL;
	bool late = outcome->output_errno == ETIMEDOUT;
	char clock[192];
	char why[128];

	(void)snprintf(clock, sizeof(clock),
		       " (%llu s) and everything was ended; --wall-time gives up to %llu s; a "
		       "command on a terminal (--tty), and koda-sandbox shell, have no wall time",
		       (unsigned long long)koda_command_limit(command, KODA_LIMIT_WALL_TIME),
		       (unsigned long long)koda_trust_limits(trust).wall_time_ceiling_secs);
	for (size_t i = 0; i < KODA_ARRAY_LEN(texts); i++)
		if (texts[i] && (outcome->limits & 1U << i) &&
		    (i != KODA_LIMIT_REPOSITORIES || !is_well(outcome))) {
			cli_remark(in_line, "%s%s", texts[i],
				   i == KODA_LIMIT_WALL_TIME   ? clock
				   : i != KODA_LIMIT_PROCESSES ? ""
				   : killed                    ? "; everything was ended"
							       : "; starting one more failed");
			in_line = false;
		}
	if (outcome->output_dropped > 0) {
		remark_dropped(command, outcome, in_line);
		in_line = false;
	}
	/* Output that was lost at the end of the wall time needs no remark of its own. */
	if (outcome->output_errno && !(late && outcome->end == KODA_END_WALL_TIME)) {
		cli_remark(in_line, "output was lost, %s%s",
			   late ? "its reader did not take it in time" : "it cannot be written: ",
			   late ? "" : strerror_r(outcome->output_errno, why, sizeof(why)));
		in_line = false;
	}
	return in_line;
}

/* Prints the denials of a command that failed, for the model. */
static void print_violations(const struct koda_command *command, bool in_line)
{
	koda_auto_free char *text = NULL;
	const char *block;

	if (koda_command_violations(command, &text, NULL) < 0 || !text[0])
		return;
	block = text + (!in_line && text[0] == '\n');
	cli_output_warn(block, strlen(block));
}

/* Prints what would allow the denials, for people. */
static void print_explanation(const struct koda_explain *explain)
{
	koda_auto_free char *text = NULL;

	if (explain && koda_explain_count(explain) > 0 &&
	    koda_explain_text(explain, &text, NULL) == KODA_OK)
		cli_output_warn(text, strlen(text));
}

/* Remarks on what host tools would obey the next time that they run there. */
static bool remark_left(const struct koda_command *command, const struct koda_outcome *outcome,
			bool in_line)
{
	static const char *const texts[] = {
		[KODA_LEFT_GIT_DIR] = "is a git directory that the command made",
		[KODA_LEFT_GIT_FILE] = "is a git file that the command made",
		[KODA_LEFT_BARE_GIT_DIR] = "was made into a git directory by the command",
		[KODA_LEFT_GITLINK] =
			"is entered by git, because the command added it to the index",
		[KODA_LEFT_HG_DIR] =
			"is a Mercurial, Sapling or Jujutsu repository that the command made",
		[KODA_LEFT_UNSEEN] =
			"was closed by the command, and may have a git directory in it",
	};
	struct koda_event_left_behind left = { .path = NULL };

	for (size_t i = 0; koda_command_left_behind(command, i, &left); i++) {
		cli_remark(in_line, "left behind: %s %s; host tools that run there obey it",
			   left.path, texts[left.what]);
		in_line = false;
	}
	if (left.more > 0)
		cli_remark(in_line, "left behind: %llu more like these",
			   (unsigned long long)left.more);
	if (outcome->left_behind_unknown)
		cli_remark(in_line, "left behind: the project could not be looked at whole; "
				    "the command may have made a git directory there");
	return in_line && !outcome->left_behind_unknown;
}

void cli_remark_all(const struct koda_command *command, const struct cli_request *request,
		    const struct koda_outcome *outcome)
{
	/* Output through a terminal is one stream. */
	bool in_line = outcome->ends_mid_line[request->tty && isatty(STDERR_FILENO) ? 0 : 1];

	in_line = remark_end(command, request->policy.trust, outcome, in_line);
	in_line = remark_left(command, outcome, in_line);
	if (outcome->end == KODA_END_SIGNAL || outcome->end == KODA_END_WALL_TIME ||
	    (outcome->end == KODA_END_EXITED && outcome->code != 0)) {
		print_violations(command, in_line);
		print_explanation(request->events.explain);
	}
}
