/* SPDX-License-Identifier: MIT */
/*
 * Launches a command: the launcher process gets a sealed plan, three pipes, a socket for its
 * reports and a lifeline. command_step.c takes over from there.
 */
#include "run/command.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/rules.h"
#include "run/command_poll.h"
#include "run/in_use.h"
#include "run/outcome.h"
#include "run/project/git_close.h"
#include "run/proxy/ca_bundle_proof.h"
#include "run/reports.h"
#include "run/stream/passed_fds.h"
#include "run/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's last signal; SIGRTMAX of a C library may be less. */
#define SIGNAL_MAX 64

/* Scans bytes of standard error. The launcher has reported a denial before the message about it was
 * written, and its report says more. */
static void scan_errors(void *ctx, const char *bytes, size_t len)
{
	struct koda_command *command = ctx;

	(void)koda_reports_drain(command);
	koda_stderr_scan_take(&command->stderr_scan, bytes, len);
}

/* Opens the relays between the command's pipes and where its streams lead. Streams that go through
 * the terminal are opened when the launcher reports it. */
static int attach(struct koda_command *command, const struct koda_command_options *options,
		  struct koda_error *err)
{
	struct koda_channels *channels = &command->launcher.channels;
	struct koda_terminal_state state = { .streams = 0 };
	int r = koda_streams_take(&command->streams, options, err);

	if (options->terminal)
		koda_streams_describe_terminal(options, &state);
	if (r == KODA_OK && !(state.streams & 1U))
		r = koda_streams_open_input(&command->streams, &command->input,
					    koda_take_fd(&channels->stream[0][0]), err);
	for (unsigned int i = 1; i < 3 && r == KODA_OK; i++)
		if (!(state.streams & 1U << i))
			r = koda_streams_open_output(&command->streams, i, &command->output[i - 1],
						     koda_take_fd(&channels->stream[i][0]),
						     command->limits[KODA_LIMIT_OUTPUT], err);
	command->output[1].tap = scan_errors;
	command->output[1].tap_ctx = command;
	/* Ends that no relay has taken are closed: the command reads end of file. */
	for (size_t i = 0; i < 3; i++)
		koda_fd_close(&channels->stream[i][0]);
	return r;
}

static void narrow(uint64_t *limit, uint64_t given)
{
	if (given && given < *limit)
		*limit = given;
}

/* Keeps the limits that apply, for the events about reaching them. */
static void note_limits(struct koda_command *command, const struct koda_sandbox *sandbox,
			const struct koda_command_options *options)
{
	struct koda_trust_limits table = koda_trust_limits(sandbox->trust);
	uint64_t *limits = command->limits;

	for (int i = 0; i < KODA_LIMIT_COUNT; i++)
		if (!koda_policy_limit(sandbox->policy, (enum koda_limit)i, &limits[i]))
			limits[i] = UINT64_MAX;
	if (!options->untimed)
		limits[KODA_LIMIT_WALL_TIME] =
			koda_trust_wall_time(sandbox->trust, sandbox->policy);
	limits[KODA_LIMIT_PROCESSES] = table.max_processes;
	limits[KODA_LIMIT_FILE_SIZE] = table.max_file_bytes;
	limits[KODA_LIMIT_REPOSITORIES] = koda_git_close_limit(&sandbox->site);
	if (sandbox->helper)
		limits[KODA_LIMIT_WALL_TIME] = UINT64_MAX;
	narrow(&limits[KODA_LIMIT_WALL_TIME], options->wall_time_secs);
	narrow(&limits[KODA_LIMIT_MEMORY], options->max_memory_bytes);
	narrow(&limits[KODA_LIMIT_OUTPUT], options->max_output_bytes);
	narrow(&limits[KODA_LIMIT_PROCESSES], options->max_processes);
}

static uint32_t wall_seconds(const struct koda_command *command)
{
	uint64_t seconds = command->limits[KODA_LIMIT_WALL_TIME];

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
	command->kill_fd = -1;
	command->launcher = (struct koda_launcher)KODA_LAUNCHER_INIT;
	command->input = (struct koda_relay)KODA_RELAY_INIT;
	command->output[0] = command->output[1] = (struct koda_relay)KODA_RELAY_INIT;
	command->terminal = (struct koda_terminal)KODA_TERMINAL_INIT;
	command->grants = (struct koda_grants)KODA_GRANTS_INIT;
	command->streams = (struct koda_streams)KODA_STREAMS_INIT;
	command->streams.command = command;
	command->sandbox = koda_sandbox_share(sandbox);
	command->user = options->user;
	command->started_ns = koda_clock_now() - sandbox->survey_ns;
	command->on_event = sandbox->on_event;
	command->told_key = koda_hash_key_draw(command->told);
	command->event_ctx = sandbox->event_ctx;
	command->has_network = koda_sandbox_has_network(sandbox);
	command->unreported = koda_reports_obstacle(sandbox, options);
	note_limits(command, sandbox, options);
	command->text = strdup(options->shell                      ? options->shell
			       : options->argv && options->argv[0] ? options->argv[0]
								   : "");
	command->cwd = strdup(options->cwd ? options->cwd : sandbox->site.root);
	command->id = strdup(options->id);
	if (!command->text || !command->cwd || !command->id ||
	    koda_violations_new(KODA_VIOLATIONS_DEFAULT, &command->violations, NULL) < 0) {
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
		r = koda_sandbox_admit(sandbox, &plan, command->unneeded, err);
	if (r == KODA_OK)
		r = attach(command, options, err);
	if (r == KODA_OK && (command->kill_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot make an eventfd");
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
	/* First: a thread that waits may see the end of the command before send() returns. */
	if (signal == SIGKILL)
		atomic_store(&command->killed, true);
	do {
		n = send(command->launcher.channels.life[0], &number, 1, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n == 1)
		return KODA_OK;
	if (signal == SIGKILL)
		atomic_store(&command->killed, false);
	return koda_fail(err, KODA_E_SYS, errno, "cannot pass signal %d on", signal);
}

int koda_command_violations(const struct koda_command *command, char **ret_text,
			    struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)4 << 20);
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	koda_auto_free char *block = NULL;
	const struct koda_relay *before = &command->output[1];
	int r = koda_violations_snapshot(command->violations, &list, err);

	if (r == KODA_OK)
		r = koda_violation_list_render(list, &block, err);
	/* The block begins on a line of its own. */
	if (r == KODA_OK && block[0] && before->total > 0 && before->last != '\n')
		r = koda_buf_add(&text, "\n", 1);
	if (r == KODA_OK)
		r = koda_buf_addf(&text, "%s%s", block, block[0] ? "\n" : "");
	if (r == KODA_OK)
		r = koda_buf_take(&text, ret_text);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_command_violation_list(const struct koda_command *command,
				struct koda_violation_list **ret_list, struct koda_error *err)
{
	return koda_violations_snapshot(command->violations, ret_list, err);
}

void koda_command_kill(struct koda_command *command)
{
	const int saved = errno;
	const uint64_t one = 1;

	/* SIGKILL goes to the session leader, whose end is waited for; the guardian kills the rest.
	 * Sending fails only if the launcher has ended, or is being ended. */
	if (koda_command_signal(command, SIGKILL, NULL) < 0)
		(void)!write(command->kill_fd, &one, sizeof(one));
	errno = saved;
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

/* Ends and frees a command that no function uses. */
static void destroy(struct koda_command *command)
{
	koda_outcome_abandon(command);
	koda_launcher_clear(&command->launcher);
	koda_relay_clear(&command->input);
	koda_relay_clear(&command->output[0]);
	koda_relay_clear(&command->output[1]);
	koda_streams_clear(&command->streams);
	koda_terminal_close(&command->terminal);
	koda_listener_remove(KODA_TAKE(command->listener), 0);
	koda_command_poll_free(KODA_TAKE(command->poll));
	koda_fd_close(&command->kill_fd);
	/* koda_command_wait has emitted this already for a command that was waited for. */
	if (command->announced)
		koda_command_emit_left_behind(command);
	koda_outcome_emit_exit(command);
	koda_violations_free(command->violations);
	koda_grants_clear(&command->grants);
	koda_dir_snapshot_clear(&command->dirs);
	koda_left_behind_clear(&command->left);
	koda_rules_free(command->rules);
	koda_sandbox_close(command->sandbox);
	free(command->text);
	free(command->cwd);
	free(command->id);
	free(command);
}

void koda_command_release(struct koda_command *command)
{
	if (koda_in_use_end(&command->in_use))
		destroy(command);
}

void koda_command_free(struct koda_command *command)
{
	if (command && koda_in_use_free(&command->in_use))
		destroy(command);
}

const char *koda_command_id(const struct koda_command *command)
{
	return command->id;
}

struct koda_span koda_command_output(const struct koda_command *command, int stream)
{
	const struct koda_buf *kept;

	if (stream != 1 && stream != 2)
		return (struct koda_span){ "", 0 };
	kept = &command->streams.captured[stream - 1];
	return kept->len > 0 ? koda_buf_span(kept) : (struct koda_span){ "", 0 };
}
