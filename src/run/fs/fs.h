/* SPDX-License-Identifier: MIT */
/* A file worker as a struct, shared by fs.c, which starts and ends it, fs_io.c, which carries its
 * bytes, fs_reply.c, which takes replies, and fs_call.c, which has requests carried out. */
#ifndef KODA_RUN_FS_FS_H
#define KODA_RUN_FS_FS_H

#include "run/fs/session.h"
#include "run/fs/worker.h"

#include <koda/fs.h>
#include <stdatomic.h>

struct koda_fs {
	atomic_uint in_use; /* as in_use.h says */
	struct koda_fs_worker_options options;
	struct koda_command *command; /* owned; NULL: the worker has ended */
	int socket;                   /* owned */
	struct koda_error why;        /* with which it has ended */
	struct koda_fs_session session;
	int epoll; /* owned; -1: koda_fs_fd was not called */
	int timer; /* owned */
	/* The request of koda_fs_call, and its reply. */
	uint64_t awaited; /* 0: none */
	bool answered;
	struct koda_fs_reply reply; /* its texts are in these two */
	struct koda_buf texts;
	struct koda_buf content;
};

/* Like koda_fs_open, with a program of the caller's. */
KODA_CHECK int koda_fs_open_program(struct koda_sandbox *sandbox,
				    const struct koda_fs_options *options, const char *program,
				    struct koda_fs **ret_fs, struct koda_error *err);
/* The counterpart of koda_in_use_begin for in_use. */
void koda_fs_release(struct koda_fs *fs);

/* Keeps the reply that koda_fs_call waits for, and notes denials (fs_reply.c). It is the
 * koda_fs_session_fn of a session whose ctx is fs. */
void koda_fs_note_reply(void *fs, const struct koda_fs_reply *reply, struct koda_fs_job *job);

/* Sends and receives what is possible without waiting. Fails: CHILD if the worker has ended, and
 * its requests have the status CRASHED; else its set-up's failure. */
KODA_CHECK int koda_fs_io(struct koda_fs *fs, struct koda_error *err);
/* Waits until there is something to send or receive, or deadline_ns. Fails: SYS. */
KODA_CHECK int koda_fs_io_wait(struct koda_fs *fs, uint64_t deadline_ns, struct koda_error *err);
/* Brings the descriptor of koda_fs_fd up to date, if there is one. */
void koda_fs_io_watch(struct koda_fs *fs);
/* Ends the worker, if there is one; why is what later calls report. */
void koda_fs_io_end(struct koda_fs *fs, const struct koda_error *why);

#endif
