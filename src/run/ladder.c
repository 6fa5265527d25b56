/* SPDX-License-Identifier: MIT */
/*
 * T-48. The ladder: native, bwrap, landlock, and then nothing runs. The first rung is simply tried;
 * its launcher says that the namespaces are there before it has the plan, so whoever waits for that
 * word waits for nothing that would not be waited for anyway. Only what means that this machine has
 * no namespaces for us leads down a rung, and only after the launcher has ended and tidied up:
 * every other failure is the command's own.
 *
 * The other rungs are tried with the plan as it would be and a program that does nothing. Which one
 * works is remembered as long as it does.
 */
#include "run/sandbox.h"

#include "base/diag.h"
#include "run/remedy.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define PROBE_NS 10000000000ULL

/* What only fails so where there are no namespaces, or no rights in them. The launcher's words. */
static const struct {
	const char *step;
	bool any_error;
} obstacles[] = {
	{ "create namespaces", true },
	{ "create a network namespace", true },
	{ "write", false },
	{ "make a file system", false },
	{ "create a file system for", false },
	{ "mount a file system for", false },
	{ "change the view as a whole", false },
	{ "clone a device", false },
	{ "make a mount read-only", false },
	{ "bring the loopback up", false },
	{ "set the host name", false },
};

static bool is_obstacle(const struct koda_report *report)
{
	const bool denied = report->sys_errno == EPERM || report->sys_errno == EACCES ||
			    report->sys_errno == ENOSYS;

	/* Too little of something today says nothing about the machine. */
	if (report->kind != KODA_REPORT_SETUP_FAILED || report->sys_errno == ENOMEM ||
	    report->sys_errno == EAGAIN)
		return false;
	for (size_t i = 0; i < KODA_ARRAY_LEN(obstacles); i++)
		if (strncmp(report->step, obstacles[i].step, sizeof(report->step)) == 0)
			return denied || obstacles[i].any_error;
	return false;
}

/* Something changed while the view was being made. */
static bool is_passing(const struct koda_report *report)
{
	return report->kind == KODA_REPORT_SETUP_FAILED && report->sys_errno == EAGAIN;
}

/* The launcher's first word, left where it is. False if it says nothing before the deadline. */
static bool hear(const struct koda_command *command, struct koda_report *ret_report)
{
	struct pollfd polled = { .fd = command->launcher.ends.status[0], .events = POLLIN };
	int n = 0;

	while (koda_clock_now() < command->deadline_ns) {
		n = poll(&polled, 1, koda_clock_left_ms(command->deadline_ns));
		if (n > 0 || (n < 0 && errno != EINTR))
			break;
	}
	if (n <= 0 || recv(polled.fd, ret_report, sizeof(*ret_report), MSG_PEEK | MSG_DONTWAIT) !=
			      (ssize_t)sizeof(*ret_report))
		return false;
	ret_report->step[sizeof(ret_report->step) - 1] = '\0';
	ret_report->path[sizeof(ret_report->path) - 1] = '\0';
	return true;
}

bool koda_ladder_awaits(const struct koda_sandbox *sandbox)
{
	return sandbox->backend == &koda_backend_bwrap ||
	       (sandbox->backend == &koda_backend_native && sandbox->wanted == KODA_BACKEND_AUTO &&
		!sandbox->proven);
}

int koda_ladder_await(struct koda_command **command, struct koda_error *err)
{
	struct koda_sandbox *sandbox = (*command)->sandbox;
	struct koda_report report = { .kind = 0 };
	bool obstacle;

	if (!hear(*command, &report))
		return KODA_OK; /* whoever waits for the command finds out */
	if (report.kind == KODA_REPORT_READY) {
		sandbox->proven = true;
		sandbox->open_view = report.status == KODA_REPORT_READY_OPEN;
	}
	obstacle = is_obstacle(&report) && sandbox->wanted == KODA_BACKEND_AUTO &&
		   sandbox->backend == &koda_backend_native;
	if (!obstacle && !is_passing(&report))
		return KODA_OK;
	koda_command_free(*command); /* and with it goes whatever the launcher had made */
	*command = NULL;
	(void)koda_fail_at(err, KODA_E_SYS, report.sys_errno, report.path, "%s", report.step);
	koda_remedy_add(err);
	return obstacle ? 1 : KODA_E_SYS;
}

void koda_ladder_forget(struct koda_sandbox *sandbox)
{
	if (!sandbox)
		return;
	sandbox->proven = sandbox->open_view = false;
	if (sandbox->wanted == KODA_BACKEND_AUTO && sandbox->backend != &koda_backend_none)
		sandbox->backend = koda_backend_of(KODA_BACKEND_NATIVE);
}

int koda_ladder_learn(const struct koda_outcome *outcome, struct koda_error *err)
{
	if (outcome->end == KODA_END_SETUP) {
		*err = outcome->setup;
		return err->code;
	}
	if (outcome->end != KODA_END_EXITED || outcome->code != 0)
		return koda_fail(err, KODA_E_CHILD, outcome->sys_errno,
				 "sh -c true does not succeed in the sandbox");
	return KODA_OK;
}

/* Runs the plan on the sandbox's backend with a program that does nothing; nobody is told. */
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
	nothing.stdio[0] = nothing.stdio[1] = nothing.stdio[2] = -1;
	sandbox->on_event = NULL;
	r = koda_command_settle(sandbox, &nothing, &command, err);
	sandbox->on_event = on_event;
	if (r < 0)
		return r;
	if (command->deadline_ns > deadline)
		command->deadline_ns = deadline;
	r = koda_command_wait(command, &outcome, err);
	koda_command_free(command);
	return r < 0 ? r : koda_ladder_learn(&outcome, err);
}

/* Another reason, if it fits whole. */
static void append(struct koda_error *err, const char *name, const char *field, const char *message)
{
	size_t used = strlen(err->message);
	size_t room = sizeof(err->message) - used;
	int len = snprintf(err->message + used, room, "; %s: %s%s%s", name, field,
			   field[0] ? ": " : "", message);

	if (len < 0 || (size_t)len >= room)
		err->message[used] = '\0';
}

/* It would have worked, but for a clause that the policy asks for. */
static bool is_about_clause(const struct koda_error *reason)
{
	enum koda_clause clause;

	return reason->code == KODA_E_UNSUPPORTED &&
	       koda_clause_parse(reason->field, &clause, NULL) == KODA_OK;
}

/* One line: the layer, what it would have held, what to do, and why nothing stands in for it. */
static int refuse(enum koda_trust trust, const struct koda_error *why,
		  const struct koda_error *reasons, struct koda_error *err)
{
	struct koda_machine machine;
	struct koda_findings findings;
	struct koda_error line = { .code = KODA_OK };
	int told = KODA_BACKEND_NATIVE;
	bool unexplained;

	koda_machine_look(&machine);
	unexplained = koda_backend_native.judge(&machine, &findings);
	if (unexplained)
		(void)koda_fail_at(&line, KODA_E_UNSUPPORTED, 0, "user namespaces",
				   "nothing ran; they hold files, processes and network: "
				   "%.40s%s%.150s",
				   why->field, why->field[0] ? ": " : "", why->message);
	else
		(void)koda_fail_at(&line, KODA_E_UNSUPPORTED, 0, "user namespaces",
				   "nothing ran; they hold files, processes and network: %s; %s",
				   findings.of[0].why, findings.of[0].remedy);
	/* The best that there is says best what is missing. Landlock alone never holds everything:
	 * that is news only to who may accept it. */
	for (int kind = KODA_BACKEND_COUNT - 1; kind > KODA_BACKEND_NATIVE; kind--)
		if (is_about_clause(&reasons[kind]) &&
		    (kind != KODA_BACKEND_LANDLOCK || trust != KODA_TRUST_AUTO))
			told = kind;
	if (told != KODA_BACKEND_NATIVE) {
		line = reasons[told];
		append(&line, koda_backend_name(KODA_BACKEND_NATIVE), "",
		       unexplained ? why->message : findings.of[0].why);
	}
	for (int kind = KODA_BACKEND_NATIVE + 1; kind < KODA_BACKEND_COUNT; kind++)
		if (reasons[kind].code != KODA_OK && kind != told)
			append(&line, koda_backend_name((enum koda_backend_kind)kind),
			       reasons[kind].field, reasons[kind].message);
	if (err)
		*err = line;
	return KODA_E_UNSUPPORTED;
}

int koda_ladder_descend(struct koda_sandbox *sandbox, const struct koda_command_options *options,
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
			sandbox->proven = true;
			/* What was found out about the rungs above is no doubt about this one. */
			atomic_store(&sandbox->in_doubt, false);
			return KODA_OK;
		}
	}
	koda_ladder_forget(sandbox);
	return refuse(sandbox->trust, why, reasons, err);
}
