/* SPDX-License-Identifier: MIT */
/*
 * A command as a struct, from its launch to its last event, shared by the files that own a part of
 * its life: command.c launches and frees it, command_step.c carries its streams and takes the
 * launcher's reports, command_wait.c waits for that, command_poll.c has it done by an event loop,
 * outcome.c keeps how it ended, command_event.c and command_net.c tell the host, command_hint.c
 * says what would allow a denial.
 */
#ifndef KODA_RUN_COMMAND_H
#define KODA_RUN_COMMAND_H

#include "base/hash.h"
#include "run/project/left_behind.h"
#include "run/sandbox.h"
#include "run/stream/grants.h"
#include "run/stream/relay.h"
#include "run/stream/stderr_scan.h"
#include "run/stream/streams.h"
#include "run/stream/terminal.h"

enum koda_phase {
	KODA_PHASE_RUNS = 0,
	KODA_PHASE_ENDS,    /* the guardian was told to kill what still runs */
	KODA_PHASE_FLUSHES, /* all processes have ended; the terminal may have more bytes */
	KODA_PHASE_DRAINS,  /* bytes that are left in pipes are carried */
	KODA_PHASE_LEAVES,  /* the proxy was told to close the connections that are left */
	KODA_PHASE_OVER     /* the outcome is complete, and the exit event was emitted */
};

/* How many targets a command remembers, so that an error message about one is no news. The store of
 * violations forgets them sooner. */
#define KODA_COMMAND_TOLD_MAX 1024

struct koda_command {
	struct koda_sandbox *sandbox; /* a reference */
	atomic_uint in_use;           /* as in_use.h says */
	koda_clauses unneeded;        /* clauses that its plan does not depend on */
	bool open_view;               /* the launcher could not lock the view */
	struct koda_launcher launcher;
	struct koda_streams streams;
	struct koda_relay input;
	struct koda_relay output[2]; /* stdout, stderr */
	struct koda_terminal terminal;
	uint64_t started_ns;
	uint64_t deadline_ns; /* the wall time after started_ns */
	enum koda_phase phase;
	uint64_t phase_ns;              /* deadline of the phases after KODA_PHASE_RUNS */
	struct koda_command_poll *poll; /* owned; NULL: koda_command_fd was not called */
	struct koda_outcome outcome;    /* as far as it is known; size is unused */
	struct koda_error failure;      /* for KODA_END_SETUP */
	atomic_bool killed;             /* koda_command_kill has sent SIGKILL */
	int kill_fd;                    /* eventfd: koda_command_kill after the end; owned */
	bool hurried;   /* kill_fd was read: output that its reader does not take is given up */
	bool unstarted; /* the launcher has reported that nothing ran */
	bool announced; /* the host got the start event, and no exit event yet */
	uint64_t limits[KODA_LIMIT_COUNT];  /* UINT64_MAX: none */
	unsigned int reached;               /* limits so far, as in struct koda_outcome */
	bool has_network;                   /* the policy allows some network */
	struct koda_listener *listener;     /* owned; NULL: no network, or not reported yet */
	struct koda_rules *rules;           /* shared with the sandbox */
	struct koda_violations *violations; /* owned */
	unsigned int violation_events;      /* events of violations that were emitted */
	uint64_t violations_untold;         /* violations that got no event */
	uint64_t hints_ns;                  /* what finding hints has taken */
	struct koda_hash_key told_key;
	uint64_t told[KODA_COMMAND_TOLD_MAX]; /* hashes of targets told by a better source than
						 stderr */
	const char *unreported; /* why the launcher reports no denials; NULL: it does */
	struct koda_stderr_scan stderr_scan; /* finds denials in the command's stderr */
	struct koda_grants grants;     /* Landlock's, for the stderr scanner; empty with a view */
	struct koda_dir_snapshot dirs; /* of the project at the start; empty if it is read-only */
	struct koda_left_behind left;  /* filled in after the command has ended */
	char *text;                    /* owned; the command as events show it */
	char *cwd;                     /* owned */
	char *id;                      /* owned */
	void *user;                    /* the pointer of koda_command_options */
	koda_event_fn *on_event;       /* may be NULL */
	void *event_ctx;
};

/* Copies the caller's options into the struct of this release (command_options.c). Fails: INVALID,
 * UNSUPPORTED. */
KODA_CHECK int koda_command_options_take(struct koda_command_options *known,
					 const struct koda_command_options *given,
					 struct koda_error *err);
/* Checks streams and id. Fails: INVALID, with the member's name as field. */
KODA_CHECK int koda_command_options_check(const struct koda_command_options *options,
					  struct koda_error *err);

/* Starts a command with the backend that the sandbox has now, without waiting for its launcher.
 * Fails: as koda_sandbox_start. */
KODA_CHECK int koda_command_launch(struct koda_sandbox *sandbox,
				   const struct koda_command_options *options,
				   struct koda_command **ret_command, struct koda_error *err);

/* Lets other functions use the command again, or frees it if koda_command_free was called while it
 * was in use. The counterpart of koda_in_use_begin for in_use. */
void koda_command_release(struct koda_command *command);

/* Passes an event to the host's on_event, if there is one; fills in the time (command_event.c). */
void koda_command_emit(const struct koda_command *command, struct koda_event event);
/* Keeps a denial, and emits an event for one that is new. command is a struct koda_command, so that
 * this can be the callback of the stderr scanner. */
void koda_command_add_violation(void *command, const struct koda_denial *denial);
/* Emits how many violations had no event, if any. */
void koda_command_emit_untold(struct koda_command *command);
/* Emits what the command has left behind, unless nothing ran. */
void koda_command_emit_left_behind(struct koda_command *command);

#endif
