/* SPDX-License-Identifier: MIT */
/*
 * One command: the launcher is spawned with a sealed plan, three pipes, a socket for its reports
 * and a lifeline. What happens from then on is in wait.c.
 */
#include "run/sandbox.h"

#include "base/diag.h"
#include "base/fd.h"
#include "policy/rules.h"
#include "run/handout.h"
#include "run/sized.h"
#include "run/survey.h"
#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's last; a C library keeps some of them for itself. */
#define SIGNAL_MAX 64

/* How often a sandbox is made anew because something changed under it. */
#define START_TRIES 40

/* Our ends become the command's; input from nowhere is an end of file at once. With a terminal
 * there is nothing to carry yet but what does not go through it. */
static int attach(struct koda_command *command, const struct koda_command_options *options,
		  struct koda_error *err)
{
	struct koda_ends *ends = &command->launcher.ends;
	struct koda_terminal_state state = { .streams = 0 };
	int r = KODA_OK;

	if (options->terminal)
		koda_terminal_describe(options->stdio, &state);
	memcpy(command->stdio, options->stdio, sizeof(command->stdio));
	if (options->stdio[0] >= 0 && !(state.streams & 1U)) {
		int own = fcntl(options->stdio[0], F_DUPFD_CLOEXEC, 3);

		if (own < 0)
			return koda_fail(err, KODA_E_SYS, errno, "standard input");
		r = koda_relay_open(&command->input, own, koda_take_fd(&ends->stream[0][0]), true,
				    UINT64_MAX, err);
	}
	for (unsigned int i = 1; i < 3 && r == KODA_OK; i++)
		if (!(state.streams & 1U << i))
			r = koda_relay_open(&command->output[i - 1],
					    koda_take_fd(&ends->stream[i][0]), options->stdio[i],
					    false, command->ceilings[KODA_CEILING_OUTPUT], err);
	command->output[1].tap = koda_reader_take;
	command->output[1].tap_ctx = &command->reader;
	/* What nobody carries is at its end. */
	for (size_t i = 0; i < 3; i++)
		koda_fd_close(&ends->stream[i][0]);
	return r;
}

/* What applies, for the events that tell of reaching it. */
static void note_ceilings(struct koda_command *command, const struct koda_sandbox *sandbox,
			  const struct koda_command_options *options)
{
	static const struct {
		enum koda_ceiling ceiling;
		enum koda_limit limit;
	} stated[] = {
		{ KODA_CEILING_WALL_TIME, KODA_LIMIT_WALL_TIME_SECS },
		{ KODA_CEILING_OUTPUT, KODA_LIMIT_MAX_OUTPUT_BYTES },
		{ KODA_CEILING_MEMORY, KODA_LIMIT_MAX_RSS_BYTES },
		{ KODA_CEILING_CPU_TIME, KODA_LIMIT_CPU_TIME_SECS },
	};
	struct koda_trust_limits table = koda_trust_limits(sandbox->trust);

	for (size_t i = 0; i < KODA_CEILING_COUNT; i++)
		command->ceilings[i] = UINT64_MAX;
	for (size_t i = 0; i < KODA_ARRAY_LEN(stated); i++)
		(void)koda_policy_limit(sandbox->policy, stated[i].limit,
					&command->ceilings[stated[i].ceiling]);
	command->ceilings[KODA_CEILING_PROCESSES] =
		options->max_processes ? options->max_processes : table.max_processes;
	command->ceilings[KODA_CEILING_FILE_SIZE] = table.max_file_bytes;
}

static uint32_t wall_seconds(const struct koda_command *command)
{
	uint64_t seconds = command->ceilings[KODA_CEILING_WALL_TIME];

	return seconds > UINT32_MAX ? KODA_LIFE_FOREVER : (uint32_t)seconds;
}

static uint64_t deadline_for(const struct koda_command *command)
{
	uint32_t seconds = wall_seconds(command);

	if (seconds == KODA_LIFE_FOREVER)
		return KODA_DEADLINE_NEVER;
	return command->started_ns + seconds * 1000000000ULL;
}

static struct koda_command *new_command(struct koda_sandbox *sandbox,
					const struct koda_command_options *options)
{
	struct koda_command *command = calloc(1, sizeof(*command));

	if (!command)
		return NULL;
	command->launcher = (struct koda_launcher)KODA_LAUNCHER_INIT;
	command->input = (struct koda_relay)KODA_RELAY_INIT;
	command->output[0] = command->output[1] = (struct koda_relay)KODA_RELAY_INIT;
	command->terminal = (struct koda_terminal)KODA_TERMINAL_INIT;
	command->grants = (struct koda_grants)KODA_GRANTS_INIT;
	command->sandbox = sandbox;
	command->started_ns = koda_clock_now();
	command->on_event = sandbox->on_event;
	command->event_ctx = sandbox->event_ctx;
	command->way_out = koda_sandbox_has_way_out(sandbox);
	note_ceilings(command, sandbox, options);
	command->text = strdup(options->shell                      ? options->shell
			       : options->argv && options->argv[0] ? options->argv[0]
								   : "");
	command->cwd = strdup(options->cwd ? options->cwd : sandbox->site.root);
	if (!command->text || !command->cwd) {
		koda_command_free(command);
		return NULL;
	}
	command->rules = koda_rules_share(sandbox->rules);
	command->reader = (struct koda_reader){ .rules = command->rules,
						.cwd = command->cwd,
						.grants = &command->grants,
						.found = koda_command_note,
						.ctx = command };
	return command;
}

static void tell_start(const struct koda_command *command, const struct koda_sandbox *sandbox)
{
	struct koda_event event = { .type = KODA_EVENT_START };
	struct koda_findings findings;

	if (!command->on_event)
		return;
	koda_sandbox_findings(sandbox, &findings);
	if (sandbox->backend != &koda_backend_none)
		koda_admit_forgo(command->unneeded, &findings);
	event.of.start = (struct koda_event_start){ .backend = sandbox->backend->name,
						    .trust = sandbox->trust,
						    .findings = &findings };
	koda_command_tell(command, event);
}

/* The policy's own word on commands. */
static int check_approved(const struct koda_sandbox *sandbox,
			  const struct koda_command_options *options, struct koda_error *err)
{
	switch (koda_policy_ask(sandbox->policy)) {
	case KODA_ASK_AUTO:
		return KODA_OK;
	case KODA_ASK_REQUIRE:
		return options->approved ? KODA_OK
					 : koda_fail(err, KODA_E_DENIED, 0,
						     "the policy requires an approval");
	case KODA_ASK_FORBID:
		break;
	}
	return koda_fail(err, KODA_E_DENIED, 0, "the policy forbids running commands");
}

/* The launcher that waits already, or a new one. */
static int take_launcher(struct koda_sandbox *sandbox, struct koda_command *command,
			 struct koda_error *err)
{
	command->launcher.open_view = sandbox->open_view;
	if (sandbox->spare.backend != sandbox->backend)
		return koda_launcher_prepare(&command->launcher, sandbox->backend, err);
	command->launcher = sandbox->spare;
	sandbox->spare = (struct koda_launcher)KODA_LAUNCHER_INIT;
	return KODA_OK;
}

int koda_command_launch(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			struct koda_command **ret_command, struct koda_error *err)
{
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_command *command;
	int r = koda_survey_for_plan(sandbox, err);

	if (r < 0)
		return r;
	command = new_command(sandbox, options);
	if (!command)
		return koda_fail_nomem(err);
	r = check_approved(sandbox, options, err);
	if (r == KODA_OK)
		r = take_launcher(sandbox, command, err);
	if (r == KODA_OK)
		r = koda_sandbox_make_plan(sandbox, options, &plan, err);
	if (r == KODA_OK)
		r = koda_grants_take(&command->grants, &plan, err);
	command->unneeded = koda_admit_unneeded(&plan);
	if (r == KODA_OK)
		r = koda_sandbox_admit(sandbox, &plan, err);
	if (r == KODA_OK)
		r = attach(command, options, err);
	if (r == KODA_OK)
		r = koda_handout_send(options, command->launcher.ends.status[0], err);
	command->launcher.wall_seconds = wall_seconds(command);
	if (r == KODA_OK)
		r = koda_launcher_launch(&command->launcher, &plan, err);
	if (r < 0) {
		koda_command_free(command);
		return r;
	}
	command->deadline_ns = deadline_for(command);
	*ret_command = command;
	return KODA_OK;
}

int koda_command_settle(struct koda_sandbox *sandbox, const struct koda_command_options *options,
			struct koda_command **ret_command, struct koda_error *err)
{
	int r = KODA_E_SYS;

	for (int i = 0; i < START_TRIES && r == KODA_E_SYS; i++) {
		r = koda_command_launch(sandbox, options, ret_command, err);
		if (r < 0)
			return r;
		if (koda_ladder_awaits(sandbox))
			r = koda_ladder_await(ret_command, err);
	}
	return r;
}

int koda_command_options_take(struct koda_command_options *known,
			      const struct koda_command_options *given, struct koda_error *err)
{
	/* The first release had none of those that are handed over. */
	return koda_sized_take(known, sizeof(*known),
			       offsetof(struct koda_command_options, descriptors), given,
			       "koda_command_options", err);
}

/* From the options as they are known here, with descriptors that nobody else can close. */
static int start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		 struct koda_command **ret_command, struct koda_error *err)
{
	struct koda_command *command = NULL;
	struct koda_error why = { .code = KODA_OK };
	int r;

	if (atomic_exchange(&sandbox->in_doubt, false))
		koda_ladder_forget(sandbox);
	r = koda_command_settle(sandbox, options, &command, &why);
	if (r > 0) {
		r = koda_ladder_descend(sandbox, options, &why, err);
		if (r == KODA_OK)
			r = koda_command_settle(sandbox, options, &command, err);
	} else if (r < 0 && err) {
		*err = why;
	}
	if (r < 0)
		return r;
	if (!command)
		return koda_fail(err, KODA_E_INTERNAL, 0, "there is no rung below the last");
	tell_start(command, sandbox);
	*ret_command = command;
	return KODA_OK;
}

int koda_sandbox_start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       struct koda_command **ret_command, struct koda_error *err)
{
	koda_auto_handout struct koda_handout handout = KODA_HANDOUT_INIT;
	struct koda_command_options known;
	int r = koda_command_options_take(&known, options, err);

	if (r == KODA_OK)
		r = koda_handout_take(&handout, &known, err);
	known.descriptors = handout.list;
	return r < 0 ? r : start(sandbox, &known, ret_command, err);
}

int koda_command_signal(struct koda_command *command, int signal, struct koda_error *err)
{
	unsigned char number = (unsigned char)signal;
	ssize_t n;

	if (signal < 1 || signal > SIGNAL_MAX)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no signal %d", signal);
	do {
		n = send(command->launcher.ends.life[0], &number, 1, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		return koda_fail(err, KODA_E_SYS, errno, "cannot pass signal %d on", signal);
	return KODA_OK;
}

int koda_command_violations(const struct koda_command *command, char **ret_text,
			    struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)4 << 20);
	const struct koda_relay *before = &command->output[1];
	int r = KODA_OK;

	/* The block begins a line of its own. */
	if (command->violations.count > 0 && before->total > 0 && before->last != '\n')
		r = koda_buf_add(&text, "\n", 1);
	if (r == KODA_OK)
		r = koda_violations_print(&command->violations, &text);
	if (r == KODA_OK)
		r = koda_buf_add(&text, "", 0);
	if (r == KODA_OK)
		r = koda_buf_take(&text, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

void koda_command_kill(struct koda_command *command)
{
	/* Who leads the session is what is waited for; the rest goes with its namespace. If it
	 * cannot be told, it has ended. */
	(void)!koda_command_signal(command, SIGKILL, NULL);
}

void koda_command_resize(struct koda_command *command)
{
	koda_terminal_resize(&command->terminal);
}

void koda_command_suspend(struct koda_command *command)
{
	koda_terminal_cooked(&command->terminal);
}

void koda_command_resume(struct koda_command *command)
{
	if (command->terminal.control >= 0)
		koda_terminal_raw(&command->terminal);
}

void koda_command_free(struct koda_command *command)
{
	if (!command)
		return;
	koda_launcher_clear(&command->launcher);
	koda_relay_clear(&command->input);
	koda_relay_clear(&command->output[0]);
	koda_relay_clear(&command->output[1]);
	koda_terminal_close(&command->terminal);
	koda_member_remove(command->member, 0);
	koda_violations_clear(&command->violations);
	koda_grants_clear(&command->grants);
	koda_rules_free(command->rules);
	free(command->text);
	free(command->cwd);
	free(command);
}
