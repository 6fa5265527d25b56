/* SPDX-License-Identifier: MIT */
/*
 * Running commands. A sandbox is opened once per policy and project; commands are started in it,
 * each in namespaces of its own. The host process is never forked: a helper program is spawned.
 *
 *	koda_sandbox_open -> koda_sandbox_start -> koda_command_wait -> koda_command_free
 *	                                                             -> koda_sandbox_close
 *
 * A sandbox may be used by one thread at a time, and so may a command, but for the functions that
 * say otherwise. All sandboxes of a process share one proxy, each with its own rules.
 */
#ifndef KODA_RUN_H
#define KODA_RUN_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/policy.h>
#include <koda/trust.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_sandbox;
struct koda_command;

/* Ways to make a sandbox, best first. */
enum koda_backend_kind {
	KODA_BACKEND_AUTO = 0, /* the first that works here and holds what the policy asks for */
	KODA_BACKEND_NATIVE,   /* namespaces of our own launcher's */
	KODA_BACKEND_BWRAP,    /* namespaces that bubblewrap makes */
	KODA_BACKEND_LANDLOCK, /* no namespaces */
	KODA_BACKEND_COUNT
};

/* "auto", "native" and so on; never NULL. */
KODA_API const char *koda_backend_name(enum koda_backend_kind kind);
/* Fails: INVALID. */
KODA_API KODA_CHECK int koda_backend_parse(const char *text, enum koda_backend_kind *ret_kind,
					   struct koda_error *err);

/* A command wants to connect to a host that no rule speaks of, neither allowing nor denying. */
struct koda_question {
	uint64_t id;      /* for koda_sandbox_answer */
	const char *host; /* name in its canonical form, or address */
	uint16_t port;
	const char *command;
};

/* Called like koda_event_fn, and must return at once: the answer may come later, and within a
 * minute, by koda_sandbox_answer. Everything in question is borrowed for the call. */
typedef void koda_question_fn(void *ctx, const struct koda_question *question);

/* Options, and outcomes, may grow in later releases. Their size, which the caller sets, tells what
 * the caller knows of: what a smaller struct lacks is zero, and what a larger one has that this
 * library does not know must be. */
struct koda_sandbox_options {
	size_t size; /* sizeof(struct koda_sandbox_options) */
	enum koda_trust trust;
	const char *root;                 /* project; NULL: the working directory */
	const struct koda_policy *policy; /* NULL: what trust gives for root. Copied. */
	const char *const *host_env;      /* NULL-terminated NAME=VALUE, usually environ. Copied. */
	koda_event_fn *on_event;          /* NULL: nobody is told */
	void *event_ctx;
	const enum koda_clause *accept; /* may be missing, says a person; not with auto */
	size_t accept_count;
	enum koda_backend_kind backend;
	const char *const *opaque; /* NULL, or NULL-terminated: patterns of hosts whose TLS passes
				    * as it is although the policy's net.mitm terminates it, for
				    * clients that trust one certificate only. The name is checked
				    * all the same. Copied. */
	koda_question_fn *on_question; /* NULL: what no rule speaks of is refused */
	void *question_ctx;
	bool no_sandbox; /* a clean environment, wall time and output limit only; not with auto */
};

/* Fails: DENIED for a refused root or what auto does not permit, POLICY, INVALID, UNSUPPORTED for
 * options of a later release, SYS, NOMEM. */
KODA_API KODA_CHECK int koda_sandbox_open(const struct koda_sandbox_options *options,
					  struct koda_sandbox **ret_sandbox,
					  struct koda_error *err);
/* Its commands must have been freed. NULL is fine. */
KODA_API void koda_sandbox_close(struct koda_sandbox *sandbox);
/* What holds of that policy, clause by clause. */
KODA_API void koda_sandbox_findings(const struct koda_sandbox *sandbox,
				    struct koda_findings *ret_findings);
/* What applies, borrowed; of the network, what applied when it was opened. */
KODA_API const struct koda_policy *koda_sandbox_policy(const struct koda_sandbox *sandbox);

/* Replaces what the sandbox's commands may connect to, those that run included, by what policy says
 * about the network; nothing else of policy is looked at. Once this returns, new connections are
 * decided by it and those that it refuses have been closed. It may widen as well as narrow: only
 * the host can call it. Any thread may, at any time, also from koda_event_fn and koda_question_fn.
 * Fails: INVALID if the sandbox was opened without network, or if net.mitm comes or goes; then, and
 * for SYS and NOMEM, everything stays as it was. */
KODA_API KODA_CHECK int koda_sandbox_set_network(struct koda_sandbox *sandbox,
						 const struct koda_policy *policy,
						 struct koda_error *err);
/* Answers a question. Yes is for the connections that wait for it alone; a deny rule and the guard
 * of addresses that are not public hold all the same. Any thread may, at any time. Fails: INVALID
 * (nobody waits for it any more), SYS. */
KODA_API KODA_CHECK int koda_sandbox_answer(struct koda_sandbox *sandbox, uint64_t question,
					    bool allow, struct koda_error *err);

/* One more descriptor for a command, besides its streams. It is handed over itself, not carried:
 * the command has all that it gives, for as long as anything of the command runs, and shares its
 * offset and status flags (O_NONBLOCK) with the caller, who keeps its own and may close it once the
 * command is started. Whatever the other end does for the command, the caller lets it do; policy
 * and network rules do not apply to it.
 *
 * Only what leads to nothing but itself can be handed over:
 * - anonymous pipes. Where there is a /proc one end leads to the other: give each command its own.
 * - connected Unix sockets, SOCK_STREAM or SOCK_SEQPACKET. Descriptors can be sent through them,
 *   both ways: never send a directory or a file that the policy does not give, and never connect
 *   two commands to each other. It belongs to the caller's network: by it the command sees which
 *   interfaces the host has, and can take an abstract name there.
 * - memory files (memfd_create). Without F_SEAL_WRITE and F_SEAL_SHRINK the command may write to
 *   them, and cut them off, even if they were opened for reading; without F_SEAL_GROW it may make
 *   them larger, by memory that is not counted as its own and stays until the caller closes them.
 *
 * Everything else is refused, for it would be a way out: directories and O_PATH lead to other
 * files; files that have names, those of /proc and devices among them, can be opened again for more
 * than they were opened for, and their modes and times be changed; sockets that are not connected,
 * are of a network or send datagrams reach others, past the proxy; namespaces, mounts, pidfds and
 * what else the kernel makes descriptors of are powers over the host. */
struct koda_descriptor {
	int host_fd;  /* the caller's */
	int child_fd; /* the number that the command finds it at: 3 to KODA_DESCRIPTOR_LAST */
};

#define KODA_DESCRIPTORS_MAX 16
#define KODA_DESCRIPTOR_LAST 127

struct koda_command_options {
	size_t size;             /* sizeof(struct koda_command_options) */
	const char *shell;       /* text for sh -c; or NULL, and then */
	const char *const *argv; /* a program (looked up in PATH) with its arguments */
	const char *cwd;         /* NULL: the project root; else a directory */
	uint64_t max_processes;  /* 0: what the trust mode says; only narrows */
	bool approved;           /* somebody has said yes, where the policy requires that */
	int stdio[3];            /* the caller's; -1: nothing to read, output is thrown away */
	bool terminal;           /* the command gets a terminal of its own, carried to stdio[0] and
				  * stdio[1] (and in the place of stdio[2], if that is a terminal).
				  * Until it has ended stdio[0], if a terminal, is in raw mode. */
	const struct koda_descriptor *descriptors; /* besides those; every other is closed */
	size_t descriptor_count;                   /* at most KODA_DESCRIPTORS_MAX */
};

/* Starts the command, unless the policy forbids that, or requires an approval that there is none
 * of: DENIED. Its streams are pipes of their own; koda_command_wait carries the bytes. DENIED also
 * for a descriptor that may not be handed over; INVALID for a number that is impossible.
 * Fails: UNSUPPORTED if a clause that the policy asks for does not hold on this machine or the
 * sandbox cannot be set up (nothing ran), SYS, CHILD, NOMEM. */
KODA_API KODA_CHECK int koda_sandbox_start(struct koda_sandbox *sandbox,
					   const struct koda_command_options *options,
					   struct koda_command **ret_command,
					   struct koda_error *err);

enum koda_end {
	KODA_END_SETUP = 0, /* the sandbox could not be made; nothing ran */
	KODA_END_EXEC,      /* the program could not be executed: sys_errno tells why */
	KODA_END_EXITED,    /* code */
	KODA_END_SIGNAL,    /* signal */
	KODA_END_TIMEOUT    /* the wall time passed; everything was ended */
};

struct koda_outcome {
	size_t size; /* sizeof(struct koda_outcome), set by the caller; the rest is filled in */
	enum koda_end end;
	int code;
	int signal;
	int sys_errno; /* for KODA_END_EXEC; ELIBACC: what the program is to be run by is missing */
	uint64_t output_bytes;   /* what the command wrote in all */
	uint64_t output_dropped; /* of that, what was left out between head and tail */
	unsigned int limits;     /* bit n: the limit that enum koda_ceiling calls n was reached */
	struct koda_error setup; /* for KODA_END_SETUP: what failed */
	/* If output was lost because stdio[1] or stdio[2] could not be written to, why (errno), and
	 * 0 otherwise. A reader that went away is none of this. */
	int output_errno;
};

/* Carries the streams until the command has ended or its wall time has passed, then ends whatever
 * it left behind. The wall time holds also while nobody waits, and everything ends with the process
 * that has started it, whatever that has forked. Whoever waits later is told how it has ended.
 * SIGPIPE and SIGXFSZ, which carrying may cause, do not reach the host. Fails: INVALID, SYS. */
KODA_API KODA_CHECK int koda_command_wait(struct koda_command *command,
					  struct koda_outcome *ret_outcome, struct koda_error *err);
/* The same for at most so long. Fails: TIMEOUT if the command still runs, and is to be waited for
 * again; SYS. */
KODA_API KODA_CHECK int koda_command_wait_for(struct koda_command *command, uint64_t milliseconds,
					      struct koda_outcome *ret_outcome,
					      struct koda_error *err);
/* The denials that are known of, as a block of text for the model that chose the command; "" if
 * there are none. Owned by the caller (free). What the kernel refuses is known from the command's
 * error messages only, where the rules confirm them. Fails: NOMEM. */
KODA_API KODA_CHECK int koda_command_violations(const struct koda_command *command, char **ret_text,
						struct koda_error *err);
/* The size of stdio[0] has changed: the command's terminal gets it too. Does nothing without one.
 * May be called in a signal handler. */
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
/* Ends the command and everything it started; koda_command_wait tells that it was killed. May be
 * called where koda_command_signal may. */
KODA_API void koda_command_kill(struct koda_command *command);
/* Ends the command if it still runs. NULL is fine. */
KODA_API void koda_command_free(struct koda_command *command);

/* The plan for a command, as text that people read. Owned by the caller (free). */
KODA_API KODA_CHECK int koda_sandbox_plan(struct koda_sandbox *sandbox,
					  const struct koda_command_options *options,
					  char **ret_text, struct koda_error *err);
/* The same as arguments of bubblewrap, one option a line. */
KODA_API KODA_CHECK int koda_sandbox_plan_bwrap(struct koda_sandbox *sandbox,
						const struct koda_command_options *options,
						char **ret_text, struct koda_error *err);
/* The same as JSON. */
KODA_API KODA_CHECK int koda_sandbox_plan_json(struct koda_sandbox *sandbox,
					       const struct koda_command_options *options,
					       char **ret_text, struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
