/* SPDX-License-Identifier: MIT */
/* T-33. A command's connections, as its host hears of them from the proxy. */
#include "run/event.h"
#include "run/sandbox.h"

#include <stdio.h>

static const char *const codes[] = {
#define REASON_CODE(name, code, text) [KODA_EGRESS_##name] = (code),
	KODA_EGRESS_REASONS(REASON_CODE)
#undef REASON_CODE
};

bool koda_egress_event(const struct koda_egress_message *message, struct koda_event *ret_event)
{
	/* The last word tells of what nothing else told of. */
	bool lost = message->kind == KODA_EGRESS_GONE && message->dropped > 0;
	uint32_t reason = lost ? (uint32_t)KODA_EGRESS_EVENTS_LOST : message->reason;

	if (message->kind != KODA_EGRESS_EVENT && !lost)
		return false;
	*ret_event = (struct koda_event){ .type = KODA_EVENT_EGRESS, .time = koda_event_now() };
	ret_event->of.egress = (struct koda_event_egress){
		.host = message->host,
		.port = message->port,
		.address = message->address[0] ? message->address : NULL,
		.allowed = lost || message->verdict == KODA_EGRESS_ALLOW,
		.reason = reason < KODA_EGRESS_REASON_COUNT ? codes[reason] : "?",
		.rule = message->rule[0] ? message->rule : NULL,
		.method = message->method[0] ? message->method : NULL,
		.path = message->path,
		.bytes_up = message->bytes_up,
		.bytes_down = message->bytes_down,
		.ms = (double)message->ms,
		.dropped = message->dropped,
	};
	return true;
}

/* The host answers when it can; meanwhile only this connection waits. */
static void ask(const struct koda_command *command, const struct koda_egress_message *message)
{
	const struct koda_question question = { .id = koda_way_question(message),
						.host = message->host,
						.port = message->port,
						.command = command->text };

	command->sandbox->on_question(command->sandbox->question_ctx, &question);
}

/* Something about a connection; what was denied is a violation too. */
static void take_egress(void *ctx, const struct koda_egress_message *message)
{
	struct koda_command *command = ctx;
	struct koda_event event;
	char target[sizeof(message->host) + 8];
	char rule[sizeof(message->rule)];
	struct koda_noted noted = { .kind = KODA_VIOLATION_NETWORK,
				    .source = KODA_SOURCE_PROXY,
				    .target = target,
				    .rule = rule };

	if (message->kind == KODA_EGRESS_REFUSED) {
		(void)snprintf(target, sizeof(target), "the proxy cannot serve: %s", message->text);
		rule[0] = '\0';
		noted.kind = KODA_VIOLATION_OTHER;
		koda_command_note(command, &noted);
	}
	if (message->kind == KODA_EGRESS_ASK)
		ask(command, message);
	if (!koda_egress_event(message, &event))
		return;
	koda_command_tell(command, event);
	if (event.of.egress.allowed)
		return;
	/* What could not be read says nothing about where it was to go. */
	if (message->host[0])
		(void)snprintf(target, sizeof(target), "%s:%u", message->host, message->port);
	else
		(void)snprintf(target, sizeof(target), "%s", message->text);
	(void)snprintf(rule, sizeof(rule), "%s", message->rule);
	koda_command_note(command, &noted);
}

int koda_command_adopt(struct koda_command *command, int listener, const char *token,
		       struct koda_error *err)
{
	struct koda_sandbox *sandbox = command->sandbox;
	int r = koda_way_add(&sandbox->way, (const char *const *)sandbox->host_env.items, listener,
			     take_egress, command, &command->member, err);

	return r == KODA_OK && token[0] ? koda_member_set_token(command->member, token, err) : r;
}
