/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "base/macros.h"

#include <string.h>

/* Copies the beginning of a text; NULL stays NULL. */
static char *copy(struct cli_report *report, const char *text)
{
	char *copied = text ? strndup(text, CLI_REPORT_TEXT_MAX) : NULL;

	report->failed = report->failed || (text && !copied);
	return copied;
}

/* Compares what copy() kept of two texts. */
static bool same(const char *kept, const char *text)
{
	return kept && text ? strncmp(kept, text, CLI_REPORT_TEXT_MAX) == 0 : kept == text;
}

/* Makes the row of a command; NULL if there are too many. */
static struct cli_report_command *add_command(struct cli_report *report,
					      const struct koda_event *event)
{
	struct cli_report_command *command;

	if (report->command_count == CLI_REPORT_COMMANDS_MAX)
		return NULL;
	command = &report->commands[report->command_count++];
	*command = (struct cli_report_command){
		.id = copy(report, event->id), .start = event->time, .end = event->time, .code = -1
	};
	return command;
}

/* Finds the command of an event; one that began before the file did gets a row now. NULL: the event
 * is of none, or there are too many. */
static struct cli_report_command *find_command(struct cli_report *report,
					       const struct koda_event *event)
{
	if (!event->id && event->type != KODA_EVENT_EXIT)
		return NULL;
	for (size_t i = report->command_count; event->id && i > 0; i--)
		if (!report->commands[i - 1].ended && same(report->commands[i - 1].id, event->id))
			return &report->commands[i - 1];
	return add_command(report, event);
}

static size_t number_of(const struct cli_report *report, const struct cli_report_command *command)
{
	return command ? (size_t)(command - report->commands) : CLI_REPORT_COMMANDS_MAX;
}

static void add_start(struct cli_report *report, const struct koda_event *event)
{
	const struct koda_event_start *start = &event->data.start;
	struct cli_report_command *command = add_command(report, event);

	if (!command) {
		report->unshown++;
		return;
	}
	command->text = copy(report, start->command);
	command->backend = copy(report, start->backend);
	command->trust = koda_trust_name(start->trust);
}

static void add_exit(struct cli_report *report, const struct koda_event *event)
{
	const struct koda_event_exit *end = &event->data.exit;
	struct cli_report_command *command = find_command(report, event);

	if (!command)
		return;
	command->ended = true;
	command->end = event->time;
	/* The start of a command that has no start event. */
	if (!command->backend && end->wall_ms > 0)
		command->start = event->time - end->wall_ms / 1000;
	command->wall_ms = end->wall_ms;
	command->code = end->code;
	command->signal = end->signal;
	command->how = end->end;
	command->message = copy(report, end->message);
	report->untold += end->lost;
}

static void add_denial(struct cli_report *report, const struct koda_event *event)
{
	const struct koda_event_violation *violation = &event->data.violation;
	struct cli_report_command *command = find_command(report, event);

	report->untold += violation->dropped;
	if (violation->dropped > 0 && !violation->target && !violation->rule)
		return;
	report->all_denials++;
	if (command) {
		command->denials++;
		if (!command->text)
			command->text = copy(report, violation->command);
	}
	/* Refused connections are in the table of hosts. */
	if (violation->kind == KODA_VIOLATION_NETWORK)
		return;
	for (size_t i = 0; i < report->denial_count; i++) {
		if (report->denials[i].kind == violation->kind &&
		    same(report->denials[i].target, violation->target)) {
			report->denials[i].count++;
			return;
		}
	}
	if (report->denial_count == CLI_REPORT_ROWS_MAX) {
		report->unshown++;
		return;
	}
	report->denials[report->denial_count++] =
		(struct cli_report_denial){ .kind = violation->kind,
					    .target = copy(report, violation->target),
					    .rule = copy(report, violation->rule),
					    .process = copy(report, violation->process),
					    .call = copy(report, violation->call),
					    .hint = copy(report, violation->hint),
					    .command = number_of(report, command),
					    .count = 1 };
}

/* Finds or makes the row of a host; NULL if there are too many. */
static struct cli_report_host *find_host(struct cli_report *report, const char *name, uint16_t port)
{
	struct cli_report_host *host;

	for (size_t i = 0; i < report->host_count; i++)
		if (report->hosts[i].port == port && same(report->hosts[i].name, name))
			return &report->hosts[i];
	if (report->host_count == CLI_REPORT_ROWS_MAX) {
		report->unshown++;
		return NULL;
	}
	host = &report->hosts[report->host_count++];
	*host = (struct cli_report_host){ .name = copy(report, name), .port = port };
	return host;
}

static void add_egress(struct cli_report *report, const struct koda_event *event)
{
	const struct koda_event_egress *egress = &event->data.egress;
	struct cli_report_command *command = find_command(report, event);
	struct cli_report_host *host;

	report->untold += egress->dropped;
	report->up += egress->bytes_up;
	report->down += egress->bytes_down;
	report->all_refusals += !egress->allowed;
	if (command)
		command->refusals += !egress->allowed;
	/* The event of lost events names no host. */
	if (!egress->host[0] && egress->allowed)
		return;
	host = find_host(report, egress->host, egress->port);
	if (!host)
		return;
	host->allowed += egress->allowed;
	host->refused += !egress->allowed;
	host->up += egress->bytes_up;
	host->down += egress->bytes_down;
	if (egress->reason && strcmp(egress->reason, "ok") != 0) {
		free(host->reason);
		host->reason = copy(report, egress->reason);
	}
}

static void add_limit(struct cli_report *report, const struct koda_event *event)
{
	const struct koda_event_limit *limit = &event->data.limit;
	struct cli_report_command *command = find_command(report, event);

	if (command)
		command->limits |= 1U << limit->which;
	if (report->limit_count == CLI_REPORT_ROWS_MAX) {
		report->unshown++;
		return;
	}
	report->limits[report->limit_count++] =
		(struct cli_report_limit){ .which = limit->which,
					   .value = limit->value,
					   .hint = copy(report, limit->hint),
					   .command = number_of(report, command) };
}

static void add_left(struct cli_report *report, const struct koda_event *event)
{
	if (report->left_count == CLI_REPORT_ROWS_MAX) {
		report->unshown++;
		return;
	}
	report->left[report->left_count++] = (struct cli_report_left){
		.path = copy(report, event->data.left_behind.path),
		.command = number_of(report, find_command(report, event)),
	};
	report->unshown += event->data.left_behind.more;
}

void cli_report_take_event(void *report_, const struct koda_event *event)
{
	struct cli_report *report = report_;

	if (event->time > 0 && (report->first == 0 || event->time < report->first))
		report->first = event->time;
	if (event->time > report->last)
		report->last = event->time;
	switch (event->type) {
	case KODA_EVENT_START:
		add_start(report, event);
		break;
	case KODA_EVENT_VIOLATION:
		add_denial(report, event);
		break;
	case KODA_EVENT_EGRESS:
		add_egress(report, event);
		break;
	case KODA_EVENT_LIMIT:
		add_limit(report, event);
		break;
	case KODA_EVENT_EXIT:
		add_exit(report, event);
		break;
	case KODA_EVENT_LEFT_BEHIND:
		add_left(report, event);
		break;
	}
}

void cli_report_clear(struct cli_report *report)
{
	for (size_t i = 0; i < report->command_count; i++) {
		free(report->commands[i].id);
		free(report->commands[i].text);
		free(report->commands[i].backend);
		free(report->commands[i].message);
	}
	for (size_t i = 0; i < report->denial_count; i++) {
		free(report->denials[i].target);
		free(report->denials[i].rule);
		free(report->denials[i].process);
		free(report->denials[i].call);
		free(report->denials[i].hint);
	}
	for (size_t i = 0; i < report->host_count; i++) {
		free(report->hosts[i].name);
		free(report->hosts[i].reason);
	}
	for (size_t i = 0; i < report->limit_count; i++)
		free(report->limits[i].hint);
	for (size_t i = 0; i < report->left_count; i++)
		free(report->left[i].path);
}
