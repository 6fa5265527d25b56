/* SPDX-License-Identifier: MIT */
/*
 * T-48. Only a failure that means "no namespaces here" leads to the next backend, and only after
 * the launcher has ended and cleaned up. Every other failure is the command's own. The backend that
 * works is remembered until a launch fails.
 */
#include "run/fallback.h"

#include "base/clock.h"
#include "base/error.h"
#include "run/project/remedy.h"
#include "wire/launch_step.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define PROBE_NS 10000000000ULL

/* How often a command is launched again because the project has changed meanwhile. */
#define START_TRIES 40

/* Returns true if the step fails so only where there are no namespaces, or no rights in them. */
static bool is_obstacle(const struct koda_report *report)
{
	const bool denied = report->sys_errno == EPERM || report->sys_errno == EACCES ||
			    report->sys_errno == ENOSYS;

	/* A lack of memory or processes today says nothing about the machine. */
	if (report->kind != KODA_REPORT_SETUP_FAILED || report->sys_errno == ENOMEM ||
	    report->sys_errno == EAGAIN)
		return false;
	switch (koda_launch_step_meaning(report->step)) {
	case KODA_LAUNCH_MEANS_NO_NAMESPACES:
		return true;
	case KODA_LAUNCH_MEANS_IF_DENIED:
		return denied;
	case KODA_LAUNCH_MEANS_UNRELATED:
		break;
	}
	return false;
}

/* Returns true if a file changed while the view was made (EAGAIN): another try may succeed. */
static bool is_passing(const struct koda_report *report)
{
	return report->kind == KODA_REPORT_SETUP_FAILED && report->sys_errno == EAGAIN;
}

/* Peeks at the launcher's first report (MSG_PEEK). False if none comes before the deadline. */
static bool peek_report(const struct koda_command *command, struct koda_report *ret_report)
{
	struct pollfd polled = { .fd = command->launcher.channels.status[0], .events = POLLIN };
	int n = 0;

	while (koda_clock_now() < command->deadline_ns) {
		n = poll(&polled, 1, koda_clock_left_ms(command->deadline_ns));
		if (n > 0 || (n < 0 && errno != EINTR))
			break;
	}
	if (n <= 0 || recv(polled.fd, ret_report, sizeof(*ret_report), MSG_PEEK | MSG_DONTWAIT) !=
			      (ssize_t)sizeof(*ret_report))
		return false;
	ret_report->path[sizeof(ret_report->path) - 1] = '\0';
	return true;
}

bool koda_fallback_awaits(const struct koda_sandbox *sandbox)
{
	return sandbox->backend->awaits_each_launch ||
	       (sandbox->backend->has_fallback && sandbox->wanted == KODA_BACKEND_AUTO &&
		!sandbox->backend_verified);
}

int koda_fallback_await(struct koda_command **command, struct koda_error *err)
{
	struct koda_sandbox *sandbox = (*command)->sandbox;
	struct koda_report report = { .kind = 0 };
	bool obstacle;

	if (!peek_report(*command, &report))
		return KODA_OK; /* koda_command_wait finds out */
	if (report.kind == KODA_REPORT_READY) {
		sandbox->backend_verified = true;
		sandbox->open_view = report.status == KODA_REPORT_READY_OPEN;
	}
	obstacle = is_obstacle(&report) && sandbox->wanted == KODA_BACKEND_AUTO &&
		   sandbox->backend->has_fallback;
	if (!obstacle && !is_passing(&report))
		return KODA_OK;
	koda_command_free(*command); /* waits until the launcher has cleaned up */
	*command = NULL;
	(void)koda_fail_at(err, KODA_E_SYS, report.sys_errno, report.path, "%s",
			   koda_launch_step_text(report.step));
	koda_remedy_add_for_step(err, report.step);
	return obstacle ? 1 : KODA_E_SYS;
}

int koda_fallback_start_retrying(struct koda_sandbox *sandbox,
				 const struct koda_command_options *options,
				 struct koda_command **ret_command, struct koda_error *err)
{
	int r = KODA_E_SYS;

	for (int i = 0; i < START_TRIES && r == KODA_E_SYS; i++) {
		r = koda_command_launch(sandbox, options, ret_command, err);
		if (r < 0)
			return r;
		if (koda_fallback_awaits(sandbox))
			r = koda_fallback_await(ret_command, err);
	}
	return r;
}

void koda_fallback_forget(struct koda_sandbox *sandbox)
{
	if (!sandbox)
		return;
	sandbox->backend_verified = sandbox->open_view = false;
	if (sandbox->wanted == KODA_BACKEND_AUTO && sandbox->backend->is_sandbox)
		sandbox->backend = koda_backend_of(KODA_BACKEND_NATIVE);
}

int koda_fallback_learn(const struct koda_outcome *outcome, struct koda_error *err)
{
	if (outcome->end != KODA_END_EXITED || outcome->code != 0)
		return koda_fail(err, KODA_E_CHILD, outcome->sys_errno,
				 "sh -c true does not succeed in the sandbox");
	return KODA_OK;
}

/* Runs the plan on the sandbox's backend with `true`; emits no events. */
static int probe(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		 struct koda_error *err)
{
	struct koda_command_options nothing = *options;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_command *command = NULL;
	koda_event_fn *on_event = sandbox->on_event;
	uint64_t deadline = koda_clock_now() + PROBE_NS;
	int r;

	nothing.shell = "true";
	nothing.argv = NULL;
	nothing.terminal = false;
	nothing.descriptors = NULL;
	nothing.descriptor_count = 0;
	nothing.in = nothing.out = nothing.err = (struct koda_stream){ .kind = KODA_STREAM_NULL };
	nothing.env = NULL;
	sandbox->on_event = NULL;
	r = koda_fallback_start_retrying(sandbox, &nothing, &command, err);
	sandbox->on_event = on_event;
	if (r < 0)
		return r;
	/* Only the first backend fails so that the next one is tried. */
	if (!command)
		return koda_fail(err, KODA_E_INTERNAL, 0, "no command to try the backend with");
	if (command->deadline_ns > deadline)
		command->deadline_ns = deadline;
	r = koda_command_wait(command, &outcome, err);
	koda_command_free(command);
	return r < 0 ? r : koda_fallback_learn(&outcome, err);
}

/* Appends another reason, if it fits whole. */
static void append(struct koda_error *err, const char *name, const char *field, const char *message)
{
	size_t used = strlen(err->message);
	size_t room = sizeof(err->message) - used;
	int len = snprintf(err->message + used, room, "; %s: %s%s%s", name, field,
			   field[0] ? ": " : "", message);

	if (len < 0 || (size_t)len >= room)
		err->message[used] = '\0';
}

/* Tells whether the backend works, but does not enforce a clause that the policy asks for. */
static bool is_about_clause(const struct koda_error *reason)
{
	enum koda_clause clause;

	return reason->code == KODA_E_UNSUPPORTED &&
	       koda_clause_parse(reason->field, &clause, NULL) == KODA_OK;
}

/* Fails with one line: what is missing, what to do about it, and why each backend is refused. */
static int refuse(enum koda_trust trust, const struct koda_error *why,
		  const struct koda_error *reasons, struct koda_error *err)
{
	struct koda_machine machine;
	struct koda_findings findings;
	struct koda_error line = { .code = KODA_OK };
	int told = KODA_BACKEND_NATIVE;
	bool unexplained;

	koda_machine_probe_full(&machine);
	unexplained = koda_backend_of(KODA_BACKEND_NATIVE)->judge(&machine, &findings);
	if (unexplained)
		(void)koda_fail_at(&line, KODA_E_UNSUPPORTED, 0, "user namespaces",
				   "nothing ran; files, processes and network need them: "
				   "%.40s%s%.150s",
				   why->field, why->field[0] ? ": " : "", why->message);
	else
		(void)koda_fail_at(&line, KODA_E_UNSUPPORTED, 0, "user namespaces",
				   "nothing ran; files, processes and network need them: %s; %s",
				   findings.clause[0].reason, findings.clause[0].remedy);
	/* The first backend that only lacks a clause says best what is missing. Landlock always
	 * lacks some, which helps only in trust modes that may accept them. */
	for (int kind = KODA_BACKEND_COUNT - 1; kind > KODA_BACKEND_NATIVE; kind--)
		if (is_about_clause(&reasons[kind]) &&
		    (koda_backend_of((enum koda_backend_kind)kind)->has_view ||
		     trust != KODA_TRUST_AUTO))
			told = kind;
	if (told != KODA_BACKEND_NATIVE) {
		line = reasons[told];
		append(&line, koda_backend_name(KODA_BACKEND_NATIVE), "",
		       unexplained ? why->message : findings.clause[0].reason);
	}
	for (int kind = KODA_BACKEND_NATIVE + 1; kind < KODA_BACKEND_COUNT; kind++)
		if (reasons[kind].code != KODA_OK && kind != told)
			append(&line, koda_backend_name((enum koda_backend_kind)kind),
			       reasons[kind].field, reasons[kind].message);
	if (err)
		*err = line;
	return KODA_E_UNSUPPORTED;
}

int koda_fallback_descend(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			  const struct koda_error *why, struct koda_error *err)
{
	struct koda_error reasons[KODA_BACKEND_COUNT] = { { .code = KODA_OK } };

	for (int kind = KODA_BACKEND_NATIVE + 1; kind < KODA_BACKEND_COUNT; kind++) {
		const struct koda_backend *backend = koda_backend_of((enum koda_backend_kind)kind);

		if (!backend)
			continue;
		sandbox->backend = backend;
		if (probe(sandbox, options, &reasons[kind]) == KODA_OK) {
			sandbox->backend = backend;
			sandbox->backend_verified = true;
			/* Failures of the backends before it do not count against this one. */
			atomic_store(&sandbox->backend_suspect, false);
			return KODA_OK;
		}
	}
	koda_fallback_forget(sandbox);
	return refuse(sandbox->trust, why, reasons, err);
}
