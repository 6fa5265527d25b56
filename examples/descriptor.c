/* SPDX-License-Identifier: MIT */
/*
 * Runs one shell command in a sandbox and gets an answer from it that does not mix with its output:
 * what the command writes to descriptor 3.
 *
 *   cc descriptor.c $(pkg-config --cflags --libs koda-sandbox) -o descriptor
 *   ./descriptor 'make && git describe --always >&3'
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <koda/koda.h>
#include <stdio.h>
#include <unistd.h>

#define ANSWER_FD 3

static int fail(const char *what, const struct koda_error *err)
{
	(void)fprintf(stderr, "%s: %s%s%s\n", what, err->field, err->field[0] ? ": " : "",
		      err->message);
	return 125;
}

/* What fits into a pipe can be read when the command has ended. */
static void show_answer(int fd)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	(void)printf("answer: %.*s", n > 0 ? (int)n : 0, text);
}

int main(int argc, char **argv)
{
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .host_env = (const char *const *)environ };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };
	struct koda_descriptor given = { .child_fd = ANSWER_FD };
	struct koda_command_options what = { .size = sizeof(what),
					     .out = { .kind = KODA_STREAM_FD, .fd = 2 },
					     .err = { .kind = KODA_STREAM_INHERIT },
					     .descriptors = &given,
					     .descriptor_count = 1 };
	int status = 125;
	int answer[2];
	int r;

	if (argc != 2 || pipe2(answer, O_CLOEXEC) < 0) {
		(void)fprintf(stderr, "usage: %s 'SHELL COMMAND'\n", argv[0]);
		return 125;
	}
	what.shell = argv[1];
	given.host_fd = answer[1];
	if (koda_sandbox_open(&options, &sandbox, &err) < 0)
		return fail("no sandbox", &err);
	r = koda_sandbox_start(sandbox, &what, &command, &err);
	(void)close(answer[1]); /* the command has its own, so that its end can be read */
	if (r < 0 || koda_command_wait(command, &outcome, &err) < 0)
		status = fail("not run", &err);
	else if (outcome.end == KODA_END_EXITED)
		status = outcome.code;
	show_answer(answer[0]);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	return status;
}
