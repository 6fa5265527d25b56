/* SPDX-License-Identifier: MIT */
/*
 * What the commands share. A command returns an exit status, or a negative enum koda_code with the
 * error filled in. main prints errors, as one line "koda-sandbox: place: message".
 */
#ifndef KODA_CLI_CLI_H
#define KODA_CLI_CLI_H

#include "base/buf.h"
#include "base/macros.h"

#include <getopt.h>
#include <koda/error.h>
#include <koda/policy.h>
#include <stdbool.h>

#define CLI_PROGRAM "koda-sandbox"

enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_DENIED = 1,  /* policy check, doctor: the answer is no */
	CLI_EXIT_FAILED = 125 /* nothing was done */
};

/* One invocation of a command; all borrowed. */
struct cli_call {
	const char *name; /* "policy show" */
	int argc;
	char **argv; /* argv[0] is the command's last word */
	const char *const *env;
};

int cli_cmd_run(const struct cli_call *call, struct koda_error *err);
int cli_cmd_shell(const struct cli_call *call, struct koda_error *err);
int cli_cmd_connect(const struct cli_call *call, struct koda_error *err);
int cli_cmd_proxy(const struct cli_call *call, struct koda_error *err);
int cli_cmd_plan(const struct cli_call *call, struct koda_error *err);
int cli_cmd_policy_show(const struct cli_call *call, struct koda_error *err);
int cli_cmd_policy_compose(const struct cli_call *call, struct koda_error *err);
int cli_cmd_policy_check(const struct cli_call *call, struct koda_error *err);
int cli_cmd_seatbelt(const struct cli_call *call, struct koda_error *err);
int cli_cmd_env(const struct cli_call *call, struct koda_error *err);
int cli_cmd_explain(const struct cli_call *call, struct koda_error *err);
int cli_cmd_report(const struct cli_call *call, struct koda_error *err);
int cli_cmd_fs(const struct cli_call *call, struct koda_error *err);
int cli_cmd_doctor(const struct cli_call *call, struct koda_error *err);
int cli_cmd_completion(const struct cli_call *call, struct koda_error *err);

/* --- args.c: reading the command line --- */

/* What a command accepts, as getopt_long wants it. longs ends with an all-zero row; shorts begins
 * with ":", or with "+:" if options end at the first operand. */
struct cli_syntax {
	const char *shorts;
	const struct option *longs;
};

#define CLI_HELP_OPTION                                                                            \
	{                                                                                          \
		"help", no_argument, NULL, 'h'                                                     \
	}

/* Resets getopt; call it before the first cli_args_next of a command. */
void cli_args_start(void);
/* Returns 1 and *ret_option for an option (optarg holds its argument), 0 at the end (optind is the
 * first operand). Option names have to be written in full. Fails: INVALID. */
KODA_CHECK int cli_args_next(const struct cli_call *call, const struct cli_syntax *syntax,
			     int *ret_option, struct koda_error *err);
/* Takes an option of a command; optarg holds its argument. Fails: as its parser does. */
typedef int cli_option_fn(const struct cli_call *call, void *ctx, int option,
			  struct koda_error *err);
/* Reads all options of a command, and prints its help for --help. take may be NULL if --help is the
 * only one. Returns 1, or 0 if help was printed. Fails: INVALID, as take. */
KODA_CHECK int cli_args_read(const struct cli_call *call, const struct cli_syntax *syntax,
			     cli_option_fn *take, void *ctx, struct koda_error *err);
/* Fails: INVALID unless exactly count operands are left; names says which they are. */
KODA_CHECK int cli_args_need_operands(const struct cli_call *call, int count, const char *names,
				      struct koda_error *err);
/* Fails: INVALID unless there is either shell text (not NULL) or at least one operand. */
KODA_CHECK int cli_args_need_command(const struct cli_call *call, const char *shell,
				     struct koda_error *err);
/* Fills in a usage error of a command, with a pointer to its help. Returns KODA_E_INVALID. */
int cli_args_fail(const struct cli_call *call, struct koda_error *err, const char *format, ...)
	KODA_PRINTF(3, 4);
/* Fills in a usage error for a word that is none of the candidates (NULL-terminated list), and
 * names the most similar one. what: "command". Returns KODA_E_INVALID. */
int cli_args_fail_unknown(const struct cli_call *call, const char *what, const char *word,
			  const char *const *candidates, struct koda_error *err);

/* --- output.c: standard output and error --- */

/* Writes all bytes to standard output. Fails: SYS. */
KODA_CHECK int cli_output_print(const char *bytes, size_t len, struct koda_error *err);
/* Writes to standard error. Gives up after the program has waited two seconds in all, because a
 * full pipe that no process reads must not keep it from ending. */
void cli_output_warn(const char *bytes, size_t len);
/* Appends text with the bytes that could forge a line or drive a terminal as \xNN. */
KODA_CHECK int cli_output_escape(struct koda_buf *out, struct koda_span text);
/* --- error_print.c --- */

/* Prints an error as one line. */
void cli_error_print(const struct koda_error *err);

/* --- error.c: messages --- */

/* Names the outer place of an error. The inner place moves in front of the message. */
void cli_error_place(struct koda_error *err, const char *format, ...) KODA_PRINTF(2, 3);
/* Appends advice to the message, if it fits whole. */
void cli_error_advise(struct koda_error *err, const char *advice);

/* --- input.c: policies from outside --- */

/* Reads the text of a policy to the end of a descriptor. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int cli_input_read(int fd, struct koda_buf *text, struct koda_error *err);
/* Decodes the text of a policy. Errors name the option and its argument, which may be NULL. Fails:
 * POLICY, LIMIT, NOMEM. */
KODA_CHECK int cli_input_decode(const struct koda_buf *text, const char *option, const char *arg,
				struct koda_policy **ret_policy, struct koda_error *err);
/* Reads and decodes a file, which errors name. "-" is standard input; /dev/fd/N is descriptor N
 * itself, so that a shell's <(...) works; nothing else but a regular file is accepted. */
KODA_CHECK int cli_input_load(const char *path, struct koda_policy **ret_policy,
			      struct koda_error *err);

static inline void cli_policy_free_ptr(struct koda_policy **policy)
{
	koda_policy_free(*policy);
}
#define cli_auto_policy __attribute__((cleanup(cli_policy_free_ptr)))

/* --- help.c: texts made from the manual pages --- */

/* Prints the help of a command ("" for the program). Returns an exit status or fails: SYS. */
KODA_CHECK int cli_help_print(const char *name, struct koda_error *err);
/* Returns the completion script for a shell, borrowed; NULL if there is none. */
const char *cli_help_completion(const char *shell);

#endif
