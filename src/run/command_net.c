/* SPDX-License-Identifier: MIT */
#include "run/command_net.h"

#include "run/command_hint.h"
#include "run/event.h"

#include <stdio.h>

static const char *const codes[] = {
#define REASON_CODE(name, verdict, status, socks, code, text) [KODA_EGRESS_##name] = (code),
	KODA_EGRESS_REASONS(REASON_CODE)
#undef REASON_CODE
};

bool koda_command_net_event(const struct koda_egress_message *message, struct koda_event *ret_event)
{
	/* GONE carries the number of events that were dropped and not told yet. */
	bool lost = message->kind == KODA_EGRESS_GONE && message->dropped > 0;
	uint32_t reason = lost ? (uint32_t)KODA_EGRESS_EVENTS_LOST : message->reason;

	if (message->kind != KODA_EGRESS_EVENT && !lost)
		return false;
	*ret_event = (struct koda_event){ .type = KODA_EVENT_EGRESS, .time = koda_event_now() };
	ret_event->data.egress = (struct koda_event_egress){
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
		.tls_name = message->tls_name[0] ? message->tls_name : NULL,
	};
	return true;
}

/* Passes a question on. The host answers later; only this connection waits. */
static void ask(const struct koda_command *command, const struct koda_egress_message *message)
{
	const struct koda_question question = { .id = koda_net_rules_question(message),
						.host = message->host,
						.port = message->port,
						.command = command->text,
						.command_id = command->id,
						.user = command->user };

	command->sandbox->on_question(command->sandbox->question_ctx, &question);
}

/* Emits a message of the proxy. A denied connection is a violation too. */
static void take_message(void *ctx, const struct koda_egress_message *message)
{
	struct koda_command *command = ctx;
	struct koda_event event;
	char target[sizeof(message->host) + 8];
	char rule[sizeof(message->rule)];
	koda_auto_free char *hint = NULL;
	struct koda_denial denial = { .kind = KODA_VIOLATION_NETWORK,
				      .source = KODA_SOURCE_PROXY,
				      .target = target,
				      .rule = rule };

	if (message->kind == KODA_EGRESS_REFUSED) {
		(void)snprintf(target, sizeof(target), "the proxy cannot serve: %s", message->text);
		rule[0] = '\0';
		denial.kind = KODA_VIOLATION_OTHER;
		koda_command_add_violation(command, &denial);
	}
	if (message->kind == KODA_EGRESS_ASK)
		ask(command, message);
	if (!koda_command_net_event(message, &event))
		return;
	koda_command_emit(command, event);
	if (event.data.egress.allowed)
		return;
	/* A request that could not be parsed names no host. */
	if (message->host[0])
		(void)snprintf(target, sizeof(target), "%s:%u", message->host, message->port);
	else
		(void)snprintf(target, sizeof(target), "%s", message->text);
	(void)snprintf(rule, sizeof(rule), "%s", message->rule);
	hint = koda_command_hint_connect(command, message);
	denial.hint = hint;
	koda_command_add_violation(command, &denial);
}

int koda_command_net_attach_listener(struct koda_command *command, int fd, const char *token,
				     struct koda_error *err)
{
	struct koda_sandbox *sandbox = command->sandbox;
	int r = koda_net_rules_add(&sandbox->net, (const char *const *)sandbox->host_env.items, fd,
				   take_message, command, &command->listener, err);

	return r == KODA_OK && token[0] ? koda_listener_set_token(command->listener, token, err)
					: r;
}
