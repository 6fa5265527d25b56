/* SPDX-License-Identifier: MIT */
/*
 * What the commands share. A command gives back an exit status, or a negative enum koda_code with
 * the error filled in; only main prints errors, as one line "koda-sandbox: place: message".
 */
#ifndef KODA_CLI_CLI_H
#define KODA_CLI_CLI_H

#include "base/buf.h"
#include "base/macros.h"

#include <getopt.h>
#include <koda/error.h>
#include <stdbool.h>

struct koda_policy;

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

int koda_cli_run(const struct cli_call *call, struct koda_error *err);
int koda_cli_shell(const struct cli_call *call, struct koda_error *err);
int koda_cli_connect(const struct cli_call *call, struct koda_error *err);
int koda_cli_proxy(const struct cli_call *call, struct koda_error *err);
int koda_cli_plan(const struct cli_call *call, struct koda_error *err);
int koda_cli_policy_show(const struct cli_call *call, struct koda_error *err);
int koda_cli_policy_compose(const struct cli_call *call, struct koda_error *err);
int koda_cli_policy_check(const struct cli_call *call, struct koda_error *err);
int koda_cli_env(const struct cli_call *call, struct koda_error *err);
int koda_cli_doctor(const struct cli_call *call, struct koda_error *err);
int koda_cli_completion(const struct cli_call *call, struct koda_error *err);

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

/* Starts over; call it before the first koda_cli_next_option of a command. */
void koda_cli_start_options(void);
/* 1 and *ret_option for an option (optarg holds its argument), 0 at the end (optind is the first
 * operand). Option names have to be written in full. Fails: INVALID. */
KODA_CHECK int koda_cli_next_option(const struct cli_call *call, const struct cli_syntax *syntax,
				    int *ret_option, struct koda_error *err);
/* Fails: INVALID unless exactly count operands are left; names says which they are. */
KODA_CHECK int koda_cli_need_operands(const struct cli_call *call, int count, const char *names,
				      struct koda_error *err);
/* Fails: INVALID unless there is either shell text (not NULL) or at least one operand. */
KODA_CHECK int koda_cli_need_command(const struct cli_call *call, const char *shell,
				     struct koda_error *err);
/* A usage error of a command, with a pointer to its help. Returns KODA_E_INVALID. */
int koda_cli_usage(const struct cli_call *call, struct koda_error *err, const char *format, ...)
	KODA_PRINTF(3, 4);
/* A usage error for a word that is none of the candidates (NULL-terminated list); names the one
 * that it is most likely a slip of. what: "command". Returns KODA_E_INVALID. */
int koda_cli_unknown(const struct cli_call *call, const char *what, const char *word,
		     const char *const *candidates, struct koda_error *err);

/* --- output.c: what is printed --- */

/* Everything to standard output, or an error. Fails: SYS. */
KODA_CHECK int koda_cli_print(const char *bytes, size_t len, struct koda_error *err);
/* Appends text with the bytes that could forge a line or drive a terminal as \xNN. */
KODA_CHECK int koda_cli_add_escaped(struct koda_buf *out, struct koda_span text);
/* Names the outer place of an error: what was its field moves in front of the message. */
void koda_cli_blame(struct koda_error *err, const char *format, ...) KODA_PRINTF(2, 3);
/* Adds what helps to the end of the message, if it fits whole. */
void koda_cli_advise(struct koda_error *err, const char *advice);

/* --- input.c: policies from outside --- */

/* Reads the text of a policy to the end of a descriptor. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_cli_read_text(int fd, struct koda_buf *text, struct koda_error *err);
/* Decodes it. Errors name the option and its argument, which may be NULL. Fails: POLICY, LIMIT,
 * NOMEM. */
KODA_CHECK int koda_cli_decode(const struct koda_buf *text, const char *option, const char *arg,
			       struct koda_policy **ret_policy, struct koda_error *err);
/* Both, from a file, which errors name. "-" is standard input; /dev/fd/N is descriptor N itself, so
 * that a shell's <(...) works; nothing else but a regular file is accepted. */
KODA_CHECK int koda_cli_load_policy(const char *path, struct koda_policy **ret_policy,
				    struct koda_error *err);

/* --- help.c: texts made from the manual pages --- */

/* Prints the help of a command ("" for the program). Returns an exit status or fails: SYS. */
KODA_CHECK int koda_cli_help(const char *name, struct koda_error *err);
/* Borrowed; NULL if there is none for that shell. */
const char *koda_cli_completion_script(const char *shell);

#endif
