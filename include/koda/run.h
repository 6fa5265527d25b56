/* SPDX-License-Identifier: MIT */
/*
 * Running commands. A sandbox is opened once per policy and project; commands are started in it,
 * each in namespaces of its own. The host process is never forked: a helper program is spawned.
 *
 *	koda_sandbox_open -> koda_sandbox_start -> koda_command_wait -> koda_command_free
 *	                                                             -> koda_sandbox_close
 *
 * One thread at a time may use a sandbox, and one thread a command, except for the functions that
 * say otherwise. All sandboxes of a process share one proxy, each with its own rules.
 */
#ifndef KODA_RUN_H
#define KODA_RUN_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/policy.h>
#include <koda/project.h>
#include <koda/trust.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_sandbox;
struct koda_command;
struct koda_prestart;

/* Ways to make a sandbox, best first. */
enum koda_backend_kind {
	KODA_BACKEND_AUTO = 0, /* the first that works here and holds what the policy asks for */
	KODA_BACKEND_NATIVE,   /* namespaces that koda-sandbox-stage2 makes */
	KODA_BACKEND_BWRAP,    /* namespaces that bubblewrap makes */
	KODA_BACKEND_LANDLOCK, /* no namespaces */
	KODA_BACKEND_COUNT
};

/* Returns "auto", "native" and so on; never NULL. */
KODA_API const char *koda_backend_name(enum koda_backend_kind kind);
/* Reads such a name. Fails: INVALID. */
KODA_API KODA_CHECK int koda_backend_parse(const char *text, enum koda_backend_kind *ret_kind,
					   struct koda_error *err);

/* A command wants to connect to a host that no rule allows or denies. */
struct koda_question {
	uint64_t id;      /* for koda_sandbox_reply */
	const char *host; /* name in its canonical form, or address */
	uint16_t port;
	const char *command;
};

/* Called like koda_event_fn, and must return at once. The reply may come later, within a minute, by
 * koda_sandbox_reply. Everything in question is borrowed for the call. */
typedef void koda_question_fn(void *ctx, const struct koda_question *question);

/* Starts the launcher of a backend while the host still finds out what it is to run; the first
 * command of the sandbox then starts sooner. AUTO starts the native launcher. *ret_prestart is NULL
 * for a backend that has nothing to start early. Nothing of a command runs before
 * koda_sandbox_start, and a launcher that is not used is ended by koda_prestart_free. Fails: SYS,
 * LIMIT, NOMEM. */
KODA_API KODA_CHECK int koda_prestart(enum koda_backend_kind backend,
				      struct koda_prestart **ret_prestart, struct koda_error *err);
/* Ends the launcher, unless a sandbox has taken it. NULL is fine. */
KODA_API void koda_prestart_free(struct koda_prestart *prestart);

/* Options and outcomes may grow in later releases. The caller sets their size: members beyond the
 * size of a smaller struct count as zero, and members of a larger one that this library does not
 * know must be zero. */
struct koda_sandbox_options {
	size_t size; /* sizeof(struct koda_sandbox_options) */
	enum koda_trust trust;
	const char *root;                 /* project; NULL: the working directory */
	const struct koda_policy *policy; /* NULL: what trust gives for root. Copied. */
	const char *const *host_env;      /* NULL-terminated NAME=VALUE, usually environ. Copied. */
	koda_event_fn *on_event;          /* may be NULL */
	void *event_ctx;
	const enum koda_clause *accept; /* clauses that a person does without; not with auto */
	size_t accept_count;
	enum koda_backend_kind backend;
	const char *const *tls_passthrough; /* NULL, or NULL-terminated: patterns of hosts whose TLS
					     * is not terminated although the policy has net.mitm,
					     * for clients that trust one certificate only. SNI is
					     * checked all the same. Copied. */
	koda_question_fn *on_question;      /* NULL: a host that no rule allows is refused */
	void *question_ctx;
	bool no_sandbox;                /* only a clean environment and rlimits; not with auto */
	struct koda_project *project;   /* NULL, or it stands for root, policy and host_env, which
					 * are NULL then. The sandbox gets a copy of its policy, and
					 * the project can be used again, also after a failure. */
	struct koda_prestart *prestart; /* NULL, or a launcher for the first command. It moves into
					 * the sandbox; the caller frees it all the same. */
};

/* Resolves the policy's paths, looks for repositories below the root and compiles the rules. Fails:
 * DENIED for a refused root or an option that auto does not permit, POLICY, INVALID, UNSUPPORTED
 * for options of a later release, SYS, NOMEM. */
KODA_API KODA_CHECK int koda_sandbox_open(const struct koda_sandbox_options *options,
					  struct koda_sandbox **ret_sandbox,
					  struct koda_error *err);
/* Closes the sandbox. Its commands must have been freed. NULL is fine. */
KODA_API void koda_sandbox_close(struct koda_sandbox *sandbox);
/* Tells how each clause of the policy is enforced. */
KODA_API void koda_sandbox_findings(const struct koda_sandbox *sandbox,
				    struct koda_findings *ret_findings);
/* Returns the policy that applies, borrowed; its network rules are those of the opening. */
KODA_API const struct koda_policy *koda_sandbox_policy(const struct koda_sandbox *sandbox);

/* Replaces the network rules of the sandbox, also for commands that run, by those of policy; the
 * rest of policy is ignored. Once this returns, new connections are decided by the new rules, and
 * connections that they refuse have been closed. The rules may become wider as well as narrower:
 * only the host can call this. Any thread may, at any time, also from koda_event_fn and
 * koda_question_fn. Fails: INVALID if the sandbox was opened without network, or if net.mitm comes
 * or goes, SYS, NOMEM; the old rules then stay in force. */
KODA_API KODA_CHECK int koda_sandbox_set_network(struct koda_sandbox *sandbox,
						 const struct koda_policy *policy,
						 struct koda_error *err);
/* Replies to a question. Yes is only for the connections that wait for it; deny rules and the guard
 * of addresses that are not public still apply. Any thread may call this, at any time. Fails:
 * INVALID (there was a reply, a minute has passed, or the connection is gone), SYS. */
KODA_API KODA_CHECK int koda_sandbox_reply(struct koda_sandbox *sandbox, uint64_t question,
					   bool allow, struct koda_error *err);

/* One more descriptor for a command, besides its streams. The descriptor itself is passed: the
 * command has all that it gives, for as long as any process of the command runs, and shares its
 * offset and status flags (O_NONBLOCK) with the caller, who keeps its own and may close it once the
 * command is started. Policy and network rules do not apply to what the other end does for the
 * command.
 *
 * These descriptors can be passed:
 * - anonymous pipes. With a /proc, one end leads to the other: give each command its own pipe.
 * - connected Unix sockets, SOCK_STREAM or SOCK_SEQPACKET. Descriptors can be sent through them,
 *   both ways: never send a directory or a file that the policy does not give, and never connect
 *   two commands to each other. The socket belongs to the caller's network namespace: through it
 *   the command sees the host's interfaces and can bind an abstract name there.
 * - memory files (memfd_create). Without F_SEAL_WRITE and F_SEAL_SHRINK the command may write to
 *   them and truncate them, even if they were opened for reading. Without F_SEAL_GROW it may make
 *   them larger, with memory that is not counted as its own and stays until the caller closes them.
 *
 * All others are refused. Directories and O_PATH lead to other files. Files that have names,
 * including those of /proc and devices, can be opened again with more rights, and their modes and
 * times changed. Sockets that are not connected, are of a network or send datagrams reach other
 * hosts, past the proxy. Namespaces, mounts, pidfds and the like are powers over the host. */
struct koda_descriptor {
	int host_fd;  /* the caller's */
	int child_fd; /* its number in the command: 3 to KODA_DESCRIPTOR_LAST */
};

#define KODA_DESCRIPTORS_MAX 16
#define KODA_DESCRIPTOR_LAST 127

struct koda_command_options {
	size_t size;             /* sizeof(struct koda_command_options) */
	const char *shell;       /* text for sh -c; or NULL, and then */
	const char *const *argv; /* a program (looked up in PATH) with its arguments */
	const char *cwd;         /* NULL: the project root; else a directory, relative to it or
				  * absolute, and not "" (INVALID) */
	uint64_t max_processes;  /* 0: what the trust mode says; only narrows */
	bool approved;           /* a person has said yes: needed where the policy requires an
				  * approval, and with no_sandbox */
	int stdio[3];            /* the caller's; -1: nothing to read, output is thrown away */
	bool terminal;           /* the command gets a terminal of its own, carried to stdio[0] and
				  * stdio[1] (and in the place of stdio[2], if that is a terminal).
				  * Until it has ended stdio[0], if a terminal, is in raw mode. */
	const struct koda_descriptor *descriptors; /* besides those; every other is closed */
	size_t descriptor_count;                   /* at most KODA_DESCRIPTORS_MAX */
	bool untimed; /* a person sits at it, or it stays in the background: no wall time but what
		       * the policy states, and no ceiling of that */
};

/* Starts the command. Its streams are pipes of their own; koda_command_wait carries the bytes.
 * Fails: DENIED if the policy forbids commands or requires an approval that is missing, and for a
 * descriptor that may not be passed; INVALID for an impossible descriptor number; UNSUPPORTED if a
 * clause of the policy cannot be enforced on this machine or the sandbox cannot be set up (nothing
 * ran); SYS, CHILD, NOMEM. */
KODA_API KODA_CHECK int koda_sandbox_start(struct koda_sandbox *sandbox,
					   const struct koda_command_options *options,
					   struct koda_command **ret_command,
					   struct koda_error *err);

enum koda_end {
	KODA_END_SETUP = 0, /* the sandbox could not be made; nothing ran */
	KODA_END_EXEC,      /* execve() of the program failed with sys_errno */
	KODA_END_EXITED,    /* code */
	KODA_END_SIGNAL,    /* signal */
	KODA_END_TIMEOUT    /* the wall time passed; everything was ended */
};

struct koda_outcome {
	size_t size; /* sizeof(struct koda_outcome), set by the caller; the rest is filled in */
	enum koda_end end;
	int code;
	int signal;
	int sys_errno; /* for KODA_END_EXEC; ELIBACC: the program's interpreter or loader is missing
			*/
	uint64_t output_bytes;   /* that the command wrote in all */
	uint64_t output_dropped; /* of that, what was left out between head and tail */
	unsigned int limits; /* bit n: the limit with value n in enum koda_ceiling was reached */
	struct koda_error setup; /* for KODA_END_SETUP: what failed */
	/* The errno of writing to stdio[1] or stdio[2], if output was lost for that; ETIMEDOUT: its
	 * reader did not take it in time. 0 otherwise, also if the reader went away. */
	int output_errno;
	bool ends_mid_line[2];    /* stdout, stderr: its last byte was not a newline. Output of a
				   * terminal counts as stdout. */
	bool left_behind_unknown; /* the project could not be searched completely for what
				   * koda_command_left_behind tells */
};

/* Carries the streams until the command has ended or its wall time has passed, then ends all other
 * processes of the command. The wall time passes also while no thread waits, and everything ends
 * with the process that has started it, also if that process has forked. Output that its reader has
 * not taken when the wall time has passed, or two seconds after the command has ended, is lost; for
 * a command without a wall time there is no such bound. Blocks SIGPIPE and SIGXFSZ around writes,
 * so that they cannot kill the calling process. Fails: INVALID, SYS. */
KODA_API KODA_CHECK int koda_command_wait(struct koda_command *command,
					  struct koda_outcome *ret_outcome, struct koda_error *err);
/* Waits like koda_command_wait, but no longer than milliseconds. Fails: TIMEOUT if the command
 * still runs, is being ended, or has output left that its reader has not taken: call it again; SYS.
 * A host that reads the output in the thread that waits does so in between. */
KODA_API KODA_CHECK int koda_command_wait_for(struct koda_command *command, uint64_t milliseconds,
					      struct koda_outcome *ret_outcome,
					      struct koda_error *err);
/* Returns what a limit of the command is: seconds, bytes, processes or repositories; UINT64_MAX:
 * there is none. */
KODA_API uint64_t koda_command_limit(const struct koda_command *command, enum koda_ceiling which);
/* Tells number i of what the command has left behind for host tools to obey, after it was waited
 * for. The path is borrowed from command. Returns false past the last. */
KODA_API bool koda_command_left_behind(const struct koda_command *command, size_t i,
				       struct koda_event_left_behind *ret_left);
/* Returns the known denials as a block of text for the model that chose the command; "" if there
 * are none. Owned by the caller (free). Denials by the kernel are known from the command's error
 * messages only, where the rules confirm them. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_command_violations(const struct koda_command *command, char **ret_text,
						struct koda_error *err);
/* Gives the command's terminal the size of stdio[0], after that has changed. Does nothing without a
 * terminal. May be called in a signal handler. */
KODA_API void koda_command_resize(struct koda_command *command);
/* Puts stdio[0] back as it was, before the host process stops itself, and into raw mode again
 * afterwards. May be called in a signal handler. */
KODA_API void koda_command_suspend(struct koda_command *command);
KODA_API void koda_command_resume(struct koda_command *command);
/* Sends a signal to the command's process group. May be called in a signal handler, and by another
 * thread until the command is freed. Fails: INVALID (no such signal), SYS (the command has ended).
 */
KODA_API KODA_CHECK int koda_command_signal(struct koda_command *command, int signal,
					    struct koda_error *err);
/* Ends the command and every process it started; koda_command_wait then reports KODA_END_SIGNAL
 * with SIGKILL. May be called in a signal handler, and by another thread. */
KODA_API void koda_command_kill(struct koda_command *command);
/* Ends the command if it still runs. If it was not waited for to the end, this reports
 * KODA_EVENT_EXIT, and output that was not carried is lost. NULL is fine. */
KODA_API void koda_command_free(struct koda_command *command);

/* Returns the plan for a command as text that people read. Owned by the caller (free). */
KODA_API KODA_CHECK int koda_sandbox_plan(struct koda_sandbox *sandbox,
					  const struct koda_command_options *options,
					  char **ret_text, struct koda_error *err);
/* Returns the plan as arguments of bubblewrap, one option a line. */
KODA_API KODA_CHECK int koda_sandbox_plan_bwrap(struct koda_sandbox *sandbox,
						const struct koda_command_options *options,
						char **ret_text, struct koda_error *err);
/* Returns the plan as JSON. */
KODA_API KODA_CHECK int koda_sandbox_plan_json(struct koda_sandbox *sandbox,
					       const struct koda_command_options *options,
					       char **ret_text, struct koda_error *err);
/* Returns the system-call filter that every command gets, as text that people read. */
KODA_API const char *koda_filter_listing(void);

#ifdef __cplusplus
}
#endif

#endif
