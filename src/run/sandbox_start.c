/* SPDX-License-Identifier: MIT */
/*
 * koda_sandbox_start: launches a command, with the next backend if the first does not work here,
 * and emits its start event.
 */
#include "base/clock.h"
#include "base/error.h"
#include "run/cwd.h"
#include "run/event.h"
#include "run/fallback.h"
#include "run/in_use.h"
#include "run/outcome.h"
#include "run/stream/passed_fds.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

static void emit_start(struct koda_command *command, const struct koda_sandbox *sandbox)
{
	struct koda_event event = { .type = KODA_EVENT_START };
	struct koda_findings findings;

	command->announced = true;
	if (!command->on_event)
		return;
	koda_sandbox_findings(sandbox, &findings);
	if (sandbox->backend->is_sandbox)
		koda_admit_forgo(command->unneeded, &findings);
	event.data.start =
		(struct koda_event_start){ .backend = sandbox->backend->name,
					   .trust = sandbox->trust,
					   .findings = &findings,
					   .limits = command->limits,
					   .tls = koda_sandbox_tls(sandbox),
					   .denials = command->unreported ? KODA_SOURCE_STDERR
									  : KODA_SOURCE_KERNEL,
					   .denials_why = command->unreported,
					   .command = command->text };
	koda_command_emit(command, event);
}

/* The descriptors in options are our own, which no other thread can close. */
static int start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		 struct koda_command **ret_command, struct koda_error *err)
{
	struct koda_command *command = NULL;
	struct koda_error why = { .code = KODA_OK };
	int r;

	if (atomic_exchange(&sandbox->backend_suspect, false))
		koda_fallback_forget(sandbox);
	r = koda_fallback_start_retrying(sandbox, options, &command, &why);
	if (r > 0) {
		r = koda_fallback_descend(sandbox, options, &why, err);
		if (r == KODA_OK)
			r = koda_fallback_start_retrying(sandbox, options, &command, err);
	} else if (r < 0 && err) {
		*err = why;
	}
	sandbox->survey_ns = 0;
	if (r < 0)
		return r;
	if (!command)
		return koda_fail(err, KODA_E_INTERNAL, 0, "no backend follows the last one");
	emit_start(command, sandbox);
	if (sandbox->site.git_closed.len > 0)
		koda_outcome_reach(command, KODA_LIMIT_REPOSITORIES);
	*ret_command = command;
	return KODA_OK;
}

/* Emits the one event of a command that was never started. */
static void emit_refused(const struct koda_sandbox *sandbox,
			 const struct koda_command_options *options, const struct koda_error *why)
{
	char message[KODA_OUTCOME_MESSAGE_MAX];
	struct koda_event event = { .type = KODA_EVENT_EXIT,
				    .time = koda_event_now(),
				    .id = options->id,
				    .user = options->user };

	if (!sandbox->on_event)
		return;
	event.data.exit = (struct koda_event_exit){ .code = KODA_OUTCOME_NOTHING_RAN,
						    .end = koda_outcome_end_of(why->code),
						    .message = message };
	koda_outcome_message(why, message);
	sandbox->on_event(sandbox->event_ctx, &event);
}

/* Writes an id that no other command has. */
static void make_id(char id[17])
{
	static atomic_uint_least64_t count;
	uint64_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = koda_clock_now() ^ (uint64_t)getpid() << 40 ^ atomic_fetch_add(&count, 1);
	(void)snprintf(id, 17, "%016llx", (unsigned long long)number);
}

static int take_and_start(struct koda_sandbox *sandbox, struct koda_command_options *known,
			  struct koda_command **ret_command, struct koda_error *err)
{
	koda_auto_passed_fds_offer struct koda_passed_fds_offer offer = KODA_PASSED_FDS_OFFER_INIT;
	koda_auto_free char *cwd = NULL;
	int r = koda_command_options_check(known, err);

	if (r == KODA_OK)
		r = koda_cwd_take(sandbox->site.root, known, &cwd, err);
	if (r == KODA_OK)
		r = koda_passed_fds_offer_take(&offer, known, err);
	if (r == KODA_OK) {
		known->descriptors = offer.list;
		r = start(sandbox, known, ret_command, err);
	}
	known->descriptors = NULL;
	return r;
}

int koda_sandbox_start_helper(struct koda_sandbox *sandbox, const char *program,
			      const struct koda_command_options *options,
			      struct koda_command **ret_command, struct koda_error *err)
{
	struct koda_command_options known;
	struct koda_error why = { .code = KODA_OK };
	char id[17];
	int r = koda_command_options_take(&known, options, err);

	if (r == KODA_OK)
		r = koda_in_use_begin(&sandbox->in_use, "sandbox", err);
	if (r < 0)
		return r;
	(void)koda_sandbox_share(sandbox); /* on_event may close it */
	if (!known.id) {
		make_id(id);
		known.id = id;
	}
	sandbox->helper = program;
	r = take_and_start(sandbox, &known, ret_command, &why);
	sandbox->helper = NULL;
	if (r < 0) {
		emit_refused(sandbox, &known, &why);
		if (err)
			*err = why;
	}
	(void)koda_in_use_end(&sandbox->in_use); /* koda_sandbox_close counts references */
	koda_sandbox_close(sandbox);
	return r;
}

int koda_sandbox_start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       struct koda_command **ret_command, struct koda_error *err)
{
	return koda_sandbox_start_helper(sandbox, NULL, options, ret_command, err);
}
