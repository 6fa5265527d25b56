/* SPDX-License-Identifier: MIT */
/*
 * A command in a sandbox of this process that connects when it is told to, while a thread of its
 * own waits for it: for tests of what a host can do with sandboxes that run.
 */
#ifndef KODA_TEST_EGRESS_AGENT_H
#define KODA_TEST_EGRESS_AGENT_H

#include "host.h"

#include <koda/koda.h>

#define AGENT_EVENTS 64

struct agent {
	struct koda_sandbox *sandbox;
	struct koda_command *command;
	int in;  /* to the command */
	int out; /* from it */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t news;
	bool held;                      /* the event callback waits */
	uint64_t events;                /* egress events received */
	uint64_t lost;                  /* egress events lost, as these say */
	char reasons[AGENT_EVENTS][32]; /* of the last ones, in a ring */
	struct koda_question question;
	char asked[256]; /* its host */
	unsigned int questions;
	int ended; /* what koda_command_wait said */
};

/* A policy that allows these ports of 127.0.0.1 (0: none), and nothing else. */
struct koda_policy *agent_policy(uint16_t one, uint16_t two);

/* Opens a sandbox with the policy, which is taken, and starts the command. */
void agent_start(struct agent *agent, const char *root, struct koda_policy *policy, bool asks);
/* Starts another command in the sandbox, after agent_end. */
void agent_restart(struct agent *agent);
/* Ends the command, waits for it and frees it. */
void agent_end(struct agent *agent);
/* Ends the command and closes the sandbox. */
void agent_stop(struct agent *agent);

/* Sends the command a line, without waiting for an answer. */
void agent_say(struct agent *agent, const char *what, const char *target);
/* Returns the command's next line, without the line end. */
const char *agent_hear(struct agent *agent, char *line, size_t size);
/* Sends a line and returns the answer. "try HOST:PORT" connects and answers with status and reason,
 * "hold" too and keeps the tunnel, "echo TEXT" sends a line through that and answers with what
 * comes back, or "gone", "flood N" is refused so often and then says "flooded". */
const char *agent_do(struct agent *agent, const char *what, const char *target);
const char *agent_do_port(struct agent *agent, const char *what, uint16_t port);

/* Waits until an event with this reason has come. */
void agent_await(struct agent *agent, const char *reason);
/* Waits for the next question after the first seen ones. */
struct koda_question agent_question(struct agent *agent, unsigned int seen);

/* Proxies that are children of this process; the number of one of them in *ret_pid. */
unsigned int count_proxies(pid_t *ret_pid);

#endif
