/* SPDX-License-Identifier: MIT */
/*
 * Launches a command: the launcher process gets a sealed plan, three pipes, a socket for its
 * reports and a lifeline. command_wait.c takes over from there.
 */
#include "run/command.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/rules.h"
#include "run/outcome.h"
#include "run/project/git_close.h"
#include "run/proxy/ca_bundle_proof.h"
#include "run/stream/passed_fds.h"
#include "run/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's last signal; SIGRTMAX of a C library may be less. */
#define SIGNAL_MAX 64

/* Opens the relays between the caller's descriptors and the command's pipes. A stream of -1 is at
 * its end at once. Streams that go through the terminal are opened when the launcher reports it. */
static int attach(struct koda_command *command, const struct koda_command_options *options,
		  struct koda_error *err)
{
	struct koda_channels *channels = &command->launcher.channels;
	struct koda_terminal_state state = { .streams = 0 };
	int r = KODA_OK;

	if (options->terminal)
		koda_terminal_describe(options->stdio, &state);
	memcpy(command->stdio, options->stdio, sizeof(command->stdio));
	if (options->stdio[0] >= 0 && !(state.streams & 1U)) {
		int own = fcntl(options->stdio[0], F_DUPFD_CLOEXEC, 3);

		if (own < 0)
			return koda_fail(err, KODA_E_SYS, errno, "standard input");
		r = koda_relay_open(&command->input, own, koda_take_fd(&channels->stream[0][0]),
				    true, UINT64_MAX, err);
	}
	for (unsigned int i = 1; i < 3 && r == KODA_OK; i++)
		if (!(state.streams & 1U << i))
			r = koda_relay_open(&command->output[i - 1],
					    koda_take_fd(&channels->stream[i][0]),
					    options->stdio[i], false,
					    command->ceilings[KODA_CEILING_OUTPUT], err);
	command->output[1].tap = koda_stderr_scan_take;
	command->output[1].tap_ctx = &command->stderr_scan;
	/* Ends that no relay has taken are closed: the command reads end of file. */
	for (size_t i = 0; i < 3; i++)
		koda_fd_close(&channels->stream[i][0]);
	return r;
}

/* Keeps the limits that apply, for the events about reaching them. */
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
	if (!options->untimed)
		command->ceilings[KODA_CEILING_WALL_TIME] =
			koda_trust_wall_time(sandbox->trust, sandbox->policy);
	command->ceilings[KODA_CEILING_PROCESSES] =
		options->max_processes ? options->max_processes : table.max_processes;
	command->ceilings[KODA_CEILING_FILE_SIZE] = table.max_file_bytes;
	command->ceilings[KODA_CEILING_REPOSITORIES] = koda_git_close_limit(&sandbox->site);
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
	command->started_ns = koda_clock_now() - sandbox->survey_ns;
	command->on_event = sandbox->on_event;
	command->event_ctx = sandbox->event_ctx;
	command->has_network = koda_sandbox_has_network(sandbox);
	note_ceilings(command, sandbox, options);
	command->text = strdup(options->shell                      ? options->shell
			       : options->argv && options->argv[0] ? options->argv[0]
								   : "");
	command->cwd = strdup(options->cwd ? options->cwd : sandbox->site.root);
	if (!command->text || !command->cwd) {
		koda_command_free(command);
		return NULL;
	}
	command->dirs = sandbox->site.dirs;
	sandbox->site.dirs = (struct koda_dir_snapshot)KODA_DIR_SNAPSHOT_INIT;
	command->rules = koda_rules_share(sandbox->rules);
	command->stderr_scan = (struct koda_stderr_scan){ .rules = command->rules,
							  .cwd = command->cwd,
							  .grants = &command->grants,
							  .on_denial = koda_command_add_violation,
							  .ctx = command };
	return command;
}

/* T-48. Fails unless the policy's "trust" field allows the command. Without a sandbox an approval
 * is always required. */
static int check_approved(const struct koda_sandbox *sandbox,
			  const struct koda_command_options *options, struct koda_error *err)
{
	enum koda_ask word = koda_policy_ask(sandbox->policy);

	if (word == KODA_ASK_AUTO && !sandbox->backend->is_sandbox)
		word = KODA_ASK_REQUIRE;
	switch (word) {
	case KODA_ASK_AUTO:
		return KODA_OK;
	case KODA_ASK_REQUIRE:
		return options->approved
			       ? KODA_OK
			       : koda_fail(err, KODA_E_DENIED, 0, "an approval is required");
	case KODA_ASK_FORBID:
		break;
	}
	return koda_fail(err, KODA_E_DENIED, 0, "the policy forbids running commands");
}

/* Takes the prestarted launcher if it is of the right backend, or starts one. */
static int take_launcher(struct koda_sandbox *sandbox, struct koda_command *command,
			 struct koda_error *err)
{
	command->launcher.open_view = sandbox->open_view;
	if (sandbox->prestarted.backend != sandbox->backend)
		return koda_launcher_prepare(&command->launcher, sandbox->backend, err);
	command->launcher = sandbox->prestarted;
	sandbox->prestarted = (struct koda_launcher)KODA_LAUNCHER_INIT;
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
	if (r == KODA_OK && koda_sandbox_has_network(sandbox))
		r = koda_ca_bundle_prove(&sandbox->net,
					 (const char *const *)sandbox->host_env.items, err);
	if (r == KODA_OK)
		r = koda_grants_take(&command->grants, &plan, err);
	command->unneeded = koda_admit_unneeded(&plan);
	if (r == KODA_OK)
		r = koda_sandbox_admit(sandbox, &plan, err);
	if (r == KODA_OK)
		r = attach(command, options, err);
	if (r == KODA_OK)
		r = koda_passed_fds_offer_send(options, command->launcher.channels.status[0], err);
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

int koda_command_signal(struct koda_command *command, int signal, struct koda_error *err)
{
	unsigned char number = (unsigned char)signal;
	ssize_t n;

	if (signal < 1 || signal > SIGNAL_MAX)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no signal %d", signal);
	do {
		n = send(command->launcher.channels.life[0], &number, 1, MSG_NOSIGNAL);
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

	/* The block begins on a line of its own. */
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
	/* SIGKILL goes to the session leader, whose end is waited for; the guardian kills the rest.
	 * Sending fails only if the launcher has ended. */
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
	koda_outcome_abandon(command);
	koda_launcher_clear(&command->launcher);
	koda_relay_clear(&command->input);
	koda_relay_clear(&command->output[0]);
	koda_relay_clear(&command->output[1]);
	koda_terminal_close(&command->terminal);
	koda_listener_remove(command->listener, 0);
	/* koda_command_wait has emitted this already for a command that was waited for. */
	if (command->announced)
		koda_command_emit_left_behind(command);
	koda_outcome_emit_exit(command);
	koda_violations_clear(&command->violations);
	koda_grants_clear(&command->grants);
	koda_dir_snapshot_clear(&command->dirs);
	koda_left_behind_clear(&command->left);
	koda_rules_free(command->rules);
	free(command->text);
	free(command->cwd);
	free(command);
}
