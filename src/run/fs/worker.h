/* SPDX-License-Identifier: MIT */
/*
 * T-106. The process of a file worker. It is started like a command, so all that confines a command
 * confines it, too. Besides that it has no environment but what the caller gives, and its
 * descriptors are a socket, the sealed rules and its own sealed program.
 */
#ifndef KODA_RUN_FS_WORKER_H
#define KODA_RUN_FS_WORKER_H

#include "base/strv.h"
#include "run/command.h"

/* The name that events show. */
#define KODA_FS_WORKER_NAME "koda-fs-worker"

/* What a worker is started with, again and again. */
struct koda_fs_worker_options {
	struct koda_sandbox *sandbox; /* a reference */
	struct koda_strv roots;       /* empty: the project and everything else */
	struct koda_strv env;
	uint64_t max_memory_bytes;
	bool approved;
	char *id; /* owned; NULL: each start has one of its own */
	void *user;
	int program; /* owned; sealed memory file, -1: not loaded yet */
};

#define KODA_FS_WORKER_OPTIONS_INIT                                                                \
	{                                                                                          \
		.program = -1                                                                      \
	}

/* Copies the program at path into a sealed memory file. Fails: SYS, INVALID. */
KODA_CHECK int koda_fs_worker_load(const char *path, int *ret_program, struct koda_error *err);
void koda_fs_worker_options_clear(struct koda_fs_worker_options *options);

/* Starts the program. *ret_socket, which does not block, is owned by the caller, and so is
 * *ret_command. Fails: as koda_sandbox_start. */
KODA_CHECK int koda_fs_worker_start(const struct koda_fs_worker_options *options, int *ret_socket,
				    struct koda_command **ret_command, struct koda_error *err);

/* Tells in err how the worker has ended, and frees command. Returns what koda_command_wait returned
 * if the worker was never started, else CHILD. */
int koda_fs_worker_end(struct koda_command *command, struct koda_error *err);

#endif
