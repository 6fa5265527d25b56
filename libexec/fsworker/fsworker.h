/* SPDX-License-Identifier: MIT */
/*
 * The file worker. It carries out file operations for a client, within its roots and its rules:
 *
 *   conn       frames on the socket
 *   serve      which request is whose, contents that are being written
 *   task       one request: its deadline, its reply
 *   resolve    a path to an open directory and a name in it
 *   judge      the rules' verdict on that
 *   read, ...  the requests themselves
 *
 * Everything that a request names is opened from the descriptor of a root, one component after the
 * other, and used through the descriptor that was opened.
 */
#ifndef FSWORKER_FSWORKER_H
#define FSWORKER_FSWORKER_H

#include "conn.h"
#include "policy/pathindex.h"
#include "wire/fs_setup.h"

#include <sys/types.h>

struct fsworker_root {
	int fd;                /* O_PATH, owned */
	struct koda_span path; /* in the set-up record */
};

struct fsworker {
	struct fsworker_root roots[KODA_FS_ROOTS_MAX];
	size_t root_count;
	struct koda_pathindex rules;
	struct koda_span env_names;
	char *const *environment; /* borrowed */
	uint32_t link_depth;
	mode_t umask;
	uid_t uid;
	bool has_proc; /* /proc/self/fd is there */
	struct fsworker_conn conn;
};

#endif
