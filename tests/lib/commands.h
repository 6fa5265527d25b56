/* SPDX-License-Identifier: MIT */
/* Sandboxes and commands as a host uses them: shorthands that must succeed, and events counted. */
#ifndef KODA_TEST_COMMANDS_H
#define KODA_TEST_COMMANDS_H

#include "scratch.h"

#include <koda/koda.h>
#include <stdatomic.h>

/* Nothing takes so long, even with `make soak`; who does is ended by SIGALRM. */
#define KODA_TOO_LONG_SECS 580

/* A home without package caches, whose copies would be kept in the developer's own. */
static const char *const koda_test_env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

/* What a sandbox has told. */
struct koda_told {
	atomic_uint starts;
	atomic_uint exits;
	atomic_uint others;
	unsigned int strange; /* events without the id or user that is expected */
	const char *id;       /* expected; NULL: any, but one */
	void *user;           /* expected, if id is */
	struct koda_event_exit last;
	char message[512]; /* of the last exit; "" if it has none */
	char last_id[256]; /* of the last event */
};

static inline void koda_tell(void *ctx, const struct koda_event *event)
{
	struct koda_told *told = ctx;

	told->starts += event->type == KODA_EVENT_START;
	told->exits += event->type == KODA_EVENT_EXIT;
	told->others += event->type != KODA_EVENT_START && event->type != KODA_EVENT_EXIT;
	if (!event->id || !event->id[0] ||
	    (told->id && (strcmp(event->id, told->id) != 0 || event->user != told->user)))
		told->strange++;
	(void)snprintf(told->last_id, sizeof(told->last_id), "%s", event->id ? event->id : "");
	if (event->type != KODA_EVENT_EXIT)
		return;
	told->last = event->data.exit;
	told->last.message = NULL; /* borrowed */
	(void)snprintf(told->message, sizeof(told->message), "%s",
		       event->data.exit.message ? event->data.exit.message : "");
}

static inline struct koda_sandbox *koda_test_open(const char *root, koda_event_fn *on_event,
						  void *ctx)
{
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .host_env = koda_test_env,
						      .on_event = on_event,
						      .event_ctx = ctx };
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	return sandbox;
}

static inline struct koda_command *koda_test_start(struct koda_sandbox *sandbox,
						   const struct koda_command_options *options)
{
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_start(sandbox, options, &command, &err), err);
	assert_non_null(command);
	return command;
}

/* The options of a shell command whose output is captured; more may be set. */
#define KODA_SHELL(text, ...)                                                                      \
	((const struct koda_command_options){ .size = sizeof(struct koda_command_options),         \
					      .shell = (text),                                     \
					      .err = { .kind = KODA_STREAM_CAPTURE },              \
					      .out = { .kind = KODA_STREAM_CAPTURE },              \
					      __VA_ARGS__ })
/* The same with another standard output. */
#define KODA_SHELL_TO(stream, text, ...)                                                           \
	((const struct koda_command_options){ .size = sizeof(struct koda_command_options),         \
					      .shell = (text),                                     \
					      .err = { .kind = KODA_STREAM_CAPTURE },              \
					      .out = (stream),                                     \
					      __VA_ARGS__ })
#define KODA_TO_FD(number) ((struct koda_stream){ .kind = KODA_STREAM_FD, .fd = (number) })

static inline struct koda_outcome koda_test_wait(struct koda_command *command)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	return outcome;
}

/* Runs it to its end, which must be an exit with this code. */
static inline struct koda_command *
koda_test_run(struct koda_sandbox *sandbox, const struct koda_command_options *options, int code)
{
	struct koda_command *command = koda_test_start(sandbox, options);
	struct koda_outcome outcome = koda_test_wait(command);

	if (outcome.end != KODA_END_EXITED || outcome.code != code)
		fail_msg("%s: end %d, code %d, stderr %s", options->shell, (int)outcome.end,
			 outcome.code, koda_command_output(command, 2).ptr);
	return command;
}

/* Starting must fail with this code for the option of this name. */
#define KODA_TEST_REFUSED(sandbox, options, expected, name)                                        \
	do {                                                                                       \
		struct koda_command *koda_c_ = NULL;                                               \
		struct koda_error koda_e_ = { 0 };                                                 \
		KODA_ASSERT_FAILS((expected),                                                      \
				  koda_sandbox_start((sandbox), (options), &koda_c_, &koda_e_),    \
				  koda_e_);                                                        \
		assert_null(koda_c_);                                                              \
		assert_string_equal(koda_e_.field, (name));                                        \
	} while (0)

#endif
