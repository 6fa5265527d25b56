/* SPDX-License-Identifier: MIT */
#include "run/command_hint.h"

#include "base/clock.h"

#include <koda/hint.h>
#include <koda/host.h>

/* What all hints of a command may take. One takes about 50 us, with a policy of 1 MiB some ms. */
#define HINTS_NS 300000000ULL

static uint64_t begin(const struct koda_command *command)
{
	return command->hints_ns < HINTS_NS ? koda_clock_now() : 0;
}

static void end(struct koda_command *command, uint64_t began_ns)
{
	command->hints_ns += koda_clock_now() - began_ns;
}

char *koda_command_hint_path(struct koda_command *command, enum koda_violation kind,
			     const char *path)
{
	uint64_t began_ns = begin(command);
	char *hint = NULL;

	if (!began_ns || kind == KODA_VIOLATION_NETWORK || kind == KODA_VIOLATION_OTHER)
		return NULL;
	/* A denial is told without a hint if there is no memory for one. */
	if (koda_hint_path(command->rules, kind, path, strlen(path), &hint, NULL) < 0)
		hint = NULL;
	end(command, began_ns);
	return hint;
}

/* Tells whether a policy decides about refusals for this reason. */
static bool is_of_policy(uint32_t reason)
{
	return reason == KODA_EGRESS_RULE_DENIED || reason == KODA_EGRESS_NOT_LISTED ||
	       reason == KODA_EGRESS_ASK_DENIED || reason == KODA_EGRESS_ADDRESS_GUARD ||
	       reason == KODA_EGRESS_RULES_CHANGED;
}

char *koda_command_hint_connect(struct koda_command *command,
				const struct koda_egress_message *message)
{
	/* Stands for any address that is not public. */
	static const struct koda_addr loopback = { 4, { 127, 0, 0, 1 } };
	const bool guarded = message->reason == KODA_EGRESS_ADDRESS_GUARD;
	uint64_t began_ns = begin(command);
	struct koda_host host;
	char *hint = NULL;

	if (!began_ns || !is_of_policy(message->reason) ||
	    koda_host_parse(koda_span_of(message->host), &host, NULL) < 0)
		return NULL;
	if (koda_hint_connect(command->sandbox->policy, message->host, strlen(message->host),
			      message->port, guarded && !host.is_addr ? &loopback : NULL, &hint,
			      NULL) < 0)
		hint = NULL;
	end(command, began_ns);
	return hint;
}

char *koda_command_hint_limit(const struct koda_command *command, enum koda_limit which)
{
	uint64_t ceiling = UINT64_MAX;
	char *hint = NULL;

	if (which == KODA_LIMIT_WALL_TIME)
		ceiling = koda_trust_limits(command->sandbox->trust).wall_time_ceiling_secs;
	return koda_hint_limit(which, command->limits[which], ceiling, &hint, NULL) < 0 ? NULL
											: hint;
}
