/* SPDX-License-Identifier: MIT */
/*
 * The messages of the proxy that wait for the owner of a listener, and the questions among them
 * that have no answer yet.
 */
#include "run/proxy/listener.h"

#include "base/clock.h"

#include <stdlib.h>
#include <unistd.h>

#define QUEUE_MAX 256 /* events */
#define ASK_MAX   512 /* events and questions; the proxy denies a lost question at its deadline */

void koda_listener_queue_wake(const struct koda_listener *listener)
{
	const uint64_t one = 1;

	(void)!write(listener->wake_fd, &one, sizeof(one));
}

static void add_question(struct koda_listener *listener, uint32_t question)
{
	size_t at = listener->next_question++ % KODA_LISTENER_QUESTIONS;

	listener->questions[at].number = question;
	listener->questions[at].asked_ns = koda_clock_now();
}

void koda_listener_queue_add(struct koda_listener *listener,
			     const struct koda_egress_message *message)
{
	bool event = message->kind == KODA_EGRESS_EVENT;
	struct koda_listener_entry *entry = NULL;

	if (message->kind == KODA_EGRESS_ASK ? listener->queued < ASK_MAX
					     : !event || listener->queued < QUEUE_MAX)
		entry = malloc(sizeof(*entry));
	if (!entry) {
		listener->dropped += event ? message->dropped + 1 : 0;
		return;
	}
	*entry = (struct koda_listener_entry){ .message = *message };
	if (event || message->kind == KODA_EGRESS_GONE) {
		entry->message.dropped += listener->dropped;
		listener->dropped = 0;
	}
	*listener->last = entry;
	listener->last = &entry->next;
	listener->queued++;
	if (message->kind == KODA_EGRESS_ASK)
		add_question(listener, message->question);
	koda_listener_queue_wake(listener);
}

struct koda_listener_entry *koda_listener_queue_take(struct koda_listener *listener)
{
	struct koda_listener_entry *entry = listener->first;

	if (entry) {
		listener->first = entry->next;
		listener->queued--;
		if (!listener->first)
			listener->last = &listener->first;
	}
	return entry;
}

bool koda_listener_queue_answer(struct koda_listener *listener, uint32_t question)
{
	uint64_t now = koda_clock_now();

	for (size_t i = 0; question && i < KODA_LISTENER_QUESTIONS; i++) {
		if (listener->questions[i].number != question)
			continue;
		listener->questions[i].number = 0;
		return now - listener->questions[i].asked_ns < KODA_LISTENER_ANSWER_NS;
	}
	return false;
}
