/* SPDX-License-Identifier: MIT */
/* Events about a command. */
#include "base/clock.h"
#include "run/command_hint.h"
#include "run/event.h"

void koda_command_emit(const struct koda_command *command, struct koda_event event)
{
	event.time = koda_event_now();
	event.id = command->id;
	event.user = command->user;
	if (command->on_event)
		command->on_event(command->event_ctx, &event);
}

/* T-105. How many violation events one command has. The store forgets its oldest records, so that
 * different names without end would be events without end. */
#define VIOLATION_EVENTS_MAX 1000

/* Adds to koda_violations_global(). A failure of that store is no failure of the command. */
static void add_to_global(const struct koda_violation_record *record)
{
	struct koda_violations *global = koda_violations_global();

	if (global && koda_violations_record(global, record, NULL) < 0)
		return;
}

/* Notes the target of a denial, and tells whether a source better than standard error has told it
 * before. */
static bool is_told(struct koda_command *command, const struct koda_denial *denial)
{
	const uint64_t hash = koda_hash(&command->told_key, 0,
					koda_span_of(denial->target ? denial->target : ""));
	uint64_t *slot = &command->told[hash % KODA_COMMAND_TOLD_MAX];

	if (denial->source == KODA_SOURCE_STDERR)
		return denial->target && *slot == hash;
	if (denial->target)
		*slot = hash;
	return false;
}

void koda_command_add_violation(void *ctx, const struct koda_denial *denial)
{
	struct koda_command *command = ctx;
	struct koda_event event = { .type = KODA_EVENT_VIOLATION };
	koda_auto_free char *hint = NULL;
	struct koda_violation_record record = {
		.size = sizeof(record),
		.kind = denial->kind,
		.source = denial->source,
		.target = denial->target,
		.rule = denial->rule && denial->rule[0] ? denial->rule : NULL,
		.command = command->text,
		.command_id = command->id,
		.call = denial->call,
		.process = denial->process,
		.hint = denial->hint,
	};
	bool news = false;

	/* Without a sandbox, an error message has another cause. */
	if (!command->launcher.backend->is_sandbox || is_told(command, denial) ||
	    koda_violations_know(command->violations, &record))
		return;
	if (!record.hint && record.target)
		hint = koda_command_hint_path(command, record.kind, record.target);
	if (hint)
		record.hint = hint;
	if (koda_violations_merge(command->violations, &record, &news, NULL) < 0 || !news)
		return;
	add_to_global(&record);
	if (command->violation_events == VIOLATION_EVENTS_MAX) {
		command->violations_untold++;
		return;
	}
	command->violation_events++;
	event.data.violation = (struct koda_event_violation){ .kind = record.kind,
							      .target = record.target,
							      .rule = record.rule,
							      .source = record.source,
							      .command = record.command,
							      .call = record.call,
							      .process = record.process,
							      .hint = record.hint };
	koda_command_emit(command, event);
}

void koda_command_emit_untold(struct koda_command *command)
{
	struct koda_event event = { .type = KODA_EVENT_VIOLATION };

	event.data.violation =
		(struct koda_event_violation){ .kind = KODA_VIOLATION_OTHER,
					       .source = KODA_SOURCE_KERNEL,
					       .command = command->text,
					       .dropped = command->violations_untold };
	if (command->violations_untold > 0)
		koda_command_emit(command, event);
	command->violations_untold = 0;
}

static void emit_left(const struct koda_command *command, const char *path, enum koda_left what,
		      uint64_t more)
{
	struct koda_event event = { .type = KODA_EVENT_LEFT_BEHIND };

	event.data.left_behind =
		(struct koda_event_left_behind){ .path = path, .what = what, .more = more };
	koda_command_emit(command, event);
}

void koda_command_emit_left_behind(struct koda_command *command)
{
	struct koda_left_behind *left = &command->left;

	/* A launcher that died without a report may have started it. */
	if (command->unstarted)
		return;
	/* If the search fails, the event names the project as a whole. */
	if (koda_left_behind_find(&command->dirs, koda_clock_now() + KODA_LEFT_BEHIND_NS, left,
				  NULL) < 0)
		emit_left(command, command->sandbox->site.root, KODA_LEFT_UNSEEN, 0);
	for (size_t i = 0; i < left->count; i++)
		emit_left(command, left->items[i].path, left->items[i].what,
			  i + 1 == left->count ? left->more : 0);
}
