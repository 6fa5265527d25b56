/* SPDX-License-Identifier: MIT */
/*
 * Commands in a sandbox. The host process is never forked: a helper program is spawned.
 *
 *	koda_sandbox_start -> koda_command_wait -> koda_command_free
 *
 * or, in an event loop,
 *
 *	koda_sandbox_start -> koda_command_fd -> koda_command_step, until it returns 1
 *	                   -> koda_command_free
 *
 * One thread at a time may use a command, except for the functions that say otherwise; a second
 * thread, or a callback of the command, gets KODA_E_INVALID.
 */
#ifndef KODA_COMMAND_H
#define KODA_COMMAND_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/limit.h>
#include <koda/sandbox.h>
#include <koda/span.h>
#include <koda/violation.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_command;

/* Where a stream of a command leads. */
enum koda_stream_kind {
	KODA_STREAM_NULL = 0, /* nothing to read; output is thrown away */
	KODA_STREAM_INHERIT,  /* descriptor 0, 1 or 2 of this process */
	KODA_STREAM_FD,       /* fd */
	KODA_STREAM_BYTES,    /* input only: bytes, then end of file */
	KODA_STREAM_CAPTURE,  /* output only: kept in memory for koda_command_output */
	KODA_STREAM_CALLBACK, /* output only: passed to on_output */
	KODA_STREAM_COUNT
};

/* Takes output of a command as it comes, from the thread that waits for it or steps it. bytes are
 * borrowed for the call. */
typedef void koda_output_fn(void *ctx, struct koda_command *command, const char *bytes, size_t len);

/* Descriptors are duplicated and bytes copied, so that the caller may close and free its own once
 * koda_sandbox_start has returned. Of output that exceeds its limit, the first half passes at once
 * and the last half at the end, after a line that tells how much is missing. */
struct koda_stream {
	enum koda_stream_kind kind;
	int fd;
	struct koda_span bytes;
	koda_output_fn *on_output;
	void *ctx; /* for on_output */
};

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
	int host_fd;  /* descriptor of the caller */
	int child_fd; /* number in the command: 3 to KODA_DESCRIPTOR_LAST */
};

#define KODA_DESCRIPTORS_MAX 16
#define KODA_DESCRIPTOR_LAST 127

struct koda_command_options {
	size_t size;             /* sizeof(struct koda_command_options) */
	const char *shell;       /* text for sh -c; or NULL, and then */
	const char *const *argv; /* a program (looked up in PATH) with its arguments; else NULL */
	const char *cwd;         /* NULL: the project root; else a directory, relative to it or
				  * absolute, and not "" (INVALID) */
	struct koda_stream in;   /* zero: KODA_STREAM_NULL */
	struct koda_stream out;
	struct koda_stream err;
	bool terminal; /* the command gets a terminal of its own, carried to in and out (and in the
			* place of err, if that is a terminal or NULL). Until it has ended in, if a
			* terminal, is in raw mode. */
	bool untimed;  /* for a person at a terminal, or the background: no wall time but what the
			* policy or wall_time_secs states, without the ceiling of the mode */
	bool approved; /* a person has said yes: needed where the policy requires an approval, and
			* with no_sandbox */
	const struct koda_descriptor *descriptors; /* besides the streams; every other is closed */
	size_t descriptor_count;                   /* at most KODA_DESCRIPTORS_MAX */
	/* Limits of this command. 0: what policy and trust mode say. They only narrow. */
	uint64_t wall_time_secs;
	uint64_t max_memory_bytes;
	uint64_t max_output_bytes; /* of each stream */
	uint64_t max_processes;
	const char *const *env; /* NULL, or NULL-terminated NAME=VALUE: added to the environment, in
				 * the place of a variable that has this name. Copied. */
	const char *id;         /* NULL: a number that no other command of this process has; else at
				 * most KODA_COMMAND_ID_MAX bytes. Events and questions carry it. */
	void *user;             /* events and questions carry it */
	bool report; /* where it can, the kernel tells of denied files. The command then cannot
		      * use seccomp user notification itself */
};

#define KODA_COMMAND_ID_MAX 255

/* Starts the command. Its streams are pipes of their own; koda_command_wait and koda_command_step
 * carry the bytes. Fails: DENIED if the policy forbids commands or requires an approval that is
 * missing, and for a descriptor that may not be passed; INVALID for options that exclude each
 * other; UNSUPPORTED if a clause of the policy cannot be enforced on this machine or the sandbox
 * cannot be set up; SYS, CHILD, NOMEM. Nothing ran then, and a KODA_EVENT_EXIT tells so, except as
 * koda_event_fn says. */
KODA_API KODA_CHECK int koda_sandbox_start(struct koda_sandbox *sandbox,
					   const struct koda_command_options *options,
					   struct koda_command **ret_command,
					   struct koda_error *err);

struct koda_outcome {
	size_t size; /* sizeof(struct koda_outcome), set by the caller; the rest is filled in */
	enum koda_end end;
	int code;      /* for KODA_END_EXITED */
	int signal;    /* for KODA_END_SIGNAL */
	bool by_host;  /* the signal was the SIGKILL of koda_command_kill or koda_command_signal */
	int sys_errno; /* for KODA_END_EXEC; ELIBACC: the program's interpreter or loader is missing
			*/
	unsigned int limits;     /* bit n: the limit n of enum koda_limit was reached */
	uint64_t output_bytes;   /* bytes that the command wrote in all */
	uint64_t output_dropped; /* bytes of these that were left out between head and tail */
	/* The errno of writing to a descriptor, if output was lost for that; ETIMEDOUT: its reader
	 * did not take it in time; ENOMEM: it could not be captured. 0 otherwise, also if the
	 * reader went away. */
	int output_errno;
	bool ends_mid_line[2];    /* out, err: its last byte was not a newline. Output of a terminal
				   * counts as out. */
	bool left_behind_unknown; /* the project could not be searched completely for what
				   * koda_command_left_behind tells */
};

/* Carries the streams until the command has ended or its wall time has passed, then ends all other
 * processes of the command. The wall time passes also while no thread waits, and everything ends
 * with the process that has started it, also if that process has forked. Output that its reader has
 * not taken when the wall time has passed, or two seconds after the command has ended, is lost; for
 * a command without a wall time there is no such bound. Blocks SIGPIPE and SIGXFSZ around writes,
 * so that they cannot kill the calling process. Fails: with the error of the set-up, if the sandbox
 * could not be set up and nothing ran; CHILD if the launcher died, so that the command may have
 * run; *ret_outcome is filled in then, too. Fails also: INVALID. */
KODA_API KODA_CHECK int koda_command_wait(struct koda_command *command,
					  struct koda_outcome *ret_outcome, struct koda_error *err);
/* Waits like koda_command_wait, but no longer than milliseconds. Fails: TIMEOUT if the command
 * still runs, is being ended, or has output left that its reader has not taken: call it again; else
 * as koda_command_wait. A host that reads the output in the thread that waits does so in between.
 */
KODA_API KODA_CHECK int koda_command_wait_for(struct koda_command *command, uint64_t milliseconds,
					      struct koda_outcome *ret_outcome,
					      struct koda_error *err);
/* Returns a descriptor that is readable when koda_command_step has something to do, for poll(),
 * epoll, libuv, asyncio or GLib. It belongs to the command, which closes it when it is freed. Call
 * it once; each call brings it up to date. Fails: SYS. */
KODA_API KODA_CHECK int koda_command_fd(struct koda_command *command, struct koda_error *err);
/* Does what can be done without waiting: carries streams, calls callbacks, ends the command at its
 * wall time. Returns 1 once, when the command is over and *ret_outcome is filled in, and 0 until
 * then. Fails: as koda_command_wait; the command is over then, too. */
KODA_API KODA_CHECK int koda_command_step(struct koda_command *command,
					  struct koda_outcome *ret_outcome, struct koda_error *err);
/* Returns the output of a stream (1 or 2) with KODA_STREAM_CAPTURE so far, borrowed until the
 * command is used again; a NUL follows it. It is complete when the command is over. Empty for other
 * streams. */
KODA_API struct koda_span koda_command_output(const struct koda_command *command, int stream);
/* Returns the id of the command, borrowed. */
KODA_API const char *koda_command_id(const struct koda_command *command);
/* Returns what a limit of the command is: seconds, bytes, processes or repositories; UINT64_MAX:
 * there is none. */
KODA_API uint64_t koda_command_limit(const struct koda_command *command, enum koda_limit which);
/* Tells number i of what the command has left behind for host tools to obey, after it was waited
 * for. The path is borrowed from command. Returns false past the last. */
KODA_API bool koda_command_left_behind(const struct koda_command *command, size_t i,
				       struct koda_event_left_behind *ret_left);
/* Returns the known denials as a block of text for the model that chose the command; "" if there
 * are none. Owned by the caller (free). Denials by the kernel are known from the command's error
 * messages only, where the rules confirm them. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_command_violations(const struct koda_command *command, char **ret_text,
						struct koda_error *err);
/* Returns the known denials as a list. Owned by the caller (koda_violation_list_free). Fails:
 * NOMEM.
 */
KODA_API KODA_CHECK int koda_command_violation_list(const struct koda_command *command,
						    struct koda_violation_list **ret_list,
						    struct koda_error *err);
/* Gives the command's terminal the size of in, after that has changed. Does nothing without a
 * terminal. May be called in a signal handler. */
KODA_API void koda_command_resize(struct koda_command *command);
/* Puts in back as it was, before the host process stops itself, and into raw mode again afterwards.
 * May be called in a signal handler. */
KODA_API void koda_command_suspend(struct koda_command *command);
KODA_API void koda_command_resume(struct koda_command *command);
/* Sends a signal to the command's process group. May be called in a signal handler, from a callback
 * and by another thread until the command is freed. Fails: INVALID (no such signal), SYS (the
 * command has ended). */
KODA_API KODA_CHECK int koda_command_signal(struct koda_command *command, int signal,
					    struct koda_error *err);
/* Ends the command and every process it started; the outcome is KODA_END_SIGNAL with SIGKILL and
 * by_host. Output that its reader has not taken two seconds later is given up, and of a command
 * that has ended already at once (outcome.output_errno is ETIMEDOUT). May be called in a signal
 * handler, from a callback and by another thread. */
KODA_API void koda_command_kill(struct koda_command *command);
/* Ends the command if it still runs. If it was not waited for to the end, this reports
 * KODA_EVENT_EXIT, and output that was not carried is lost. Called while another function uses the
 * command, as from its callback, it takes effect when that function returns. NULL is fine. */
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
#ifdef __cplusplus
}
#endif

#endif
