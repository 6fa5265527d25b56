/* SPDX-License-Identifier: MIT */
/* koda-sandbox: finds the command, runs it, and reports its failure in one line. */
#include "cli.h"

#include "base/error.h"

#include <signal.h>
#include <unistd.h>

struct command {
	const char *name; /* one word, or a group and a word */
	int (*run)(const struct cli_call *call, struct koda_error *err);
};

/* clang-format off */
static const struct command commands[] = {
	{ "run", cli_cmd_run },
	{ "shell", cli_cmd_shell },
	{ "plan", cli_cmd_plan },
	{ "policy show", cli_cmd_policy_show },
	{ "policy compose", cli_cmd_policy_compose },
	{ "policy check", cli_cmd_policy_check },
	{ "env", cli_cmd_env },
	{ "fs", cli_cmd_fs },
	{ "proxy", cli_cmd_proxy },
	{ "connect", cli_cmd_connect },
	{ "seatbelt", cli_cmd_seatbelt },
	{ "explain", cli_cmd_explain },
	{ "report", cli_cmd_report },
	{ "doctor", cli_cmd_doctor },
	{ "completion", cli_cmd_completion },
};
/* clang-format on */

/* Words that commands have after a group's name ("" for the first word of all), each once. */
static void next_words(const char *group, char words[][32], const char **list)
{
	size_t skip = group[0] ? strlen(group) + 1 : 0;
	size_t count = 0;

	for (size_t i = 0; i < KODA_ARRAY_LEN(commands); i++) {
		const char *name = commands[i].name;
		size_t len;

		if (skip && (strncmp(name, group, skip - 1) != 0 || name[skip - 1] != ' '))
			continue;
		len = strcspn(name + skip, " ");
		memcpy(words[count], name + skip, len);
		words[count][len] = '\0';
		if (count == 0 || strcmp(words[count - 1], words[count]) != 0) {
			list[count] = words[count];
			count++;
		}
	}
	list[count] = NULL;
}

static int unknown_command(const struct cli_call *group, const char *word, struct koda_error *err)
{
	char words[KODA_ARRAY_LEN(commands)][32];
	const char *list[KODA_ARRAY_LEN(commands) + 1];

	for (size_t i = 0; !group->name[0] && i < KODA_ARRAY_LEN(commands); i++) {
		const char *space = strchr(commands[i].name, ' ');

		if (space && strcmp(space + 1, word) == 0)
			return cli_args_fail(group, err, "unknown command '%s': it is '%s'", word,
					     commands[i].name);
	}
	next_words(group->name, words, list);
	return cli_args_fail_unknown(group, "command", word, list, err);
}

static int print_version(struct koda_error *err)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(256);

	if (koda_buf_addf(&line, CLI_PROGRAM " %s\n", koda_version()) < 0)
		return koda_fail_nomem(err);
	return cli_output_print(line.ptr, line.len, err);
}

/* Options ahead of the next word of a command; only the program itself has a version.
 * 1 and optind behind them, 0 if the work is done. */
static int read_group(const struct cli_call *group, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct option program_longs[] = { CLI_HELP_OPTION,
						       { "version", no_argument, NULL, 'V' },
						       { 0 } };
	static const struct cli_syntax syntax = { "+:h", longs };
	static const struct cli_syntax program_syntax = { "+:hV", program_longs };
	int option;
	int r;

	cli_args_start();
	r = cli_args_next(group, group->name[0] ? &syntax : &program_syntax, &option, err);
	if (r < 0)
		return r;
	if (r > 0)
		return option == 'h' ? cli_help_print(group->name, err) : print_version(err);
	return 1;
}

static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < KODA_ARRAY_LEN(commands); i++)
		if (strncmp(commands[i].name, word, len) == 0 && commands[i].name[len] == ' ')
			return true;
	return false;
}

/* The command that is word alone, or word in a group. */
static const struct command *find_command(const char *group, const char *word)
{
	size_t len = strlen(group);

	for (size_t i = 0; i < KODA_ARRAY_LEN(commands); i++) {
		const char *name = commands[i].name;

		if (len > 0 && (strncmp(name, group, len) != 0 || name[len] != ' '))
			continue;
		if (strcmp(name + len + (len > 0), word) == 0 && !strchr(word, ' '))
			return &commands[i];
	}
	return NULL;
}

/* Prints what "COMMAND --help" prints, for "help COMMAND" without further words. */
static int help_for(const struct cli_call *call, const char *name, struct koda_error *err)
{
	if (call->argc > 1)
		return cli_args_fail(call, err, "unexpected argument '%.60s'", call->argv[1]);
	return cli_help_print(name, err);
}

/* Takes words off argv until they are a command, and runs it. */
static int dispatch(int argc, char **argv, struct koda_error *err)
{
	struct cli_call call = {
		.name = "", .argc = argc, .argv = argv, .env = (const char *const *)environ
	};
	bool helping = false;

	for (;;) {
		int r = read_group(&call, err);
		const struct command *command;
		const char *word;

		if (r <= 0)
			return r;
		if (optind >= call.argc)
			return helping ? cli_help_print(call.name, err)
				       : cli_args_fail(&call, err, "needs a command");
		word = call.argv[optind];
		if (!helping && !call.name[0] && strcmp(word, "help") == 0) {
			helping = true;
			call.argc -= optind;
			call.argv += optind;
			continue;
		}
		command = find_command(call.name, word);
		if (!command && (call.name[0] || !is_group(word)))
			return unknown_command(&call, word, err);
		call.argc -= optind;
		call.argv += optind;
		call.name = command ? command->name : word;
		if (command)
			return helping ? help_for(&call, command->name, err)
				       : command->run(&call, err);
	}
}

int main(int argc, char **argv)
{
	struct koda_error err = { 0 };
	int r;

	/* write() past RLIMIT_FSIZE then fails with EFBIG. Commands get the default action. */
	(void)sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	r = dispatch(argc, argv, &err);
	if (r >= 0)
		return r;
	cli_error_print(&err);
	return CLI_EXIT_FAILED;
}
