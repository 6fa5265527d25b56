/* SPDX-License-Identifier: MIT */
/*
 * Runs one shell command in a sandbox around the working directory and says how it ended.
 *
 *   cc run.c $(pkg-config --cflags --libs koda-sandbox) -o run
 *   ./run 'echo hello; touch /etc/no'
 */
#include <koda/koda.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

static int fail(const char *what, const struct koda_error *err)
{
	(void)fprintf(stderr, "%s: %s%s%s\n", what, err->field, err->field[0] ? ": " : "",
		      err->message);
	return 125;
}

static int tell(const struct koda_outcome *outcome)
{
	switch (outcome->end) {
	case KODA_END_EXEC:
		(void)fprintf(stderr, "the command could not be executed\n");
		return 126;
	case KODA_END_EXITED:
		(void)fprintf(stderr, "exited with %d after %llu bytes of output\n", outcome->code,
			      (unsigned long long)outcome->output_bytes);
		return outcome->code;
	case KODA_END_SIGNAL:
		(void)fprintf(stderr, "ended by signal %d\n", outcome->signal);
		return 128 + outcome->signal;
	case KODA_END_WALL_TIME:
		(void)fprintf(stderr, "took too long, and was ended\n");
		return 124;
	default: /* koda_command_wait has failed */
		return 125;
	}
}

int main(int argc, char **argv)
{
	/* The project is the working directory, the policy what the trust mode gives for it. */
	const struct koda_sandbox_options options = {
		.size = sizeof(options),
		.trust = KODA_TRUST_AUTO,
		.host_env = (const char *const *)environ,
	};
	struct koda_command_options what = { .size = sizeof(what),
					     .in = { .kind = KODA_STREAM_INHERIT },
					     .out = { .kind = KODA_STREAM_INHERIT },
					     .err = { .kind = KODA_STREAM_INHERIT } };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	int status;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: %s 'SHELL COMMAND'\n", argv[0]);
		return 125;
	}
	what.shell = argv[1];
	if (koda_sandbox_open(&options, &sandbox, &err) < 0)
		return fail("no sandbox", &err);
	/* A sandbox can start any number of commands, also several at once: see agent.c. */
	if (koda_sandbox_start(sandbox, &what, &command, &err) < 0 ||
	    koda_command_wait(command, &outcome, &err) < 0)
		status = fail("not run", &err);
	else
		status = tell(&outcome);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	return status;
}
