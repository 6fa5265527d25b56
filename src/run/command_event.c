/* SPDX-License-Identifier: MIT */
/* Events about a command. */
#include "base/clock.h"
#include "run/command.h"
#include "run/event.h"

void koda_command_emit(const struct koda_command *command, struct koda_event event)
{
	event.time = koda_event_now();
	event.id = command->id;
	event.user = command->user;
	if (command->on_event)
		command->on_event(command->event_ctx, &event);
}

void koda_command_add_violation(void *ctx, const struct koda_denial *denial)
{
	struct koda_command *command = ctx;
	struct koda_event event = { .type = KODA_EVENT_VIOLATION };

	/* Without a sandbox, an error message has another cause. */
	if (!command->launcher.backend->is_sandbox ||
	    !koda_violations_add(&command->violations, denial))
		return;
	event.data.violation =
		(struct koda_event_violation){ .kind = denial->kind,
					       .target = denial->target,
					       .rule = denial->rule[0] ? denial->rule : NULL,
					       .source = denial->source,
					       .command = command->text,
					       .call = denial->call,
					       .process = denial->process,
					       .hint = denial->hint };
	koda_command_emit(command, event);
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
