/* SPDX-License-Identifier: MIT */
/*
 * koda_sandbox_start: launches a command, with the next backend if the first does not work here,
 * and emits its start event.
 */
#include "base/error.h"
#include "run/cwd.h"
#include "run/fallback.h"
#include "run/outcome.h"
#include "run/stream/passed_fds.h"

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
	event.data.start = (struct koda_event_start){ .backend = sandbox->backend->name,
						      .trust = sandbox->trust,
						      .findings = &findings,
						      .limits = command->ceilings,
						      .tls = koda_sandbox_tls(sandbox) };
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
		koda_outcome_reach(command, KODA_CEILING_REPOSITORIES);
	*ret_command = command;
	return KODA_OK;
}

int koda_sandbox_start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       struct koda_command **ret_command, struct koda_error *err)
{
	koda_auto_passed_fds_offer struct koda_passed_fds_offer offer = KODA_PASSED_FDS_OFFER_INIT;
	koda_auto_free char *cwd = NULL;
	struct koda_command_options known;
	int r = koda_command_options_take(&known, options, err);

	if (r == KODA_OK)
		r = koda_cwd_take(sandbox->site.root, &known, &cwd, err);
	if (r == KODA_OK)
		r = koda_passed_fds_offer_take(&offer, &known, err);
	known.descriptors = offer.list;
	return r < 0 ? r : start(sandbox, &known, ret_command, err);
}
