/* SPDX-License-Identifier: MIT */
/* System calls that take paths: which argument is what. */
#ifndef KODA_STAGE2_PATHCALL_PATHCALL_H
#define KODA_STAGE2_PATHCALL_PATHCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pathcall_act {
	PATHCALL_OPEN = 0, /* as its flags say */
	PATHCALL_CREATE,   /* makes a name that does not exist */
	PATHCALL_REMOVE,   /* removes a name */
	PATHCALL_RENAME,   /* removes the first name and makes or replaces the second */
	PATHCALL_CHANGE,   /* changes a file that exists */
	PATHCALL_BIND,     /* makes the name in a struct sockaddr_un */
	PATHCALL_EXEC
};

/* A path of a call, as its caller means it. */
struct pathcall_subject {
	int dirfd;
	uint64_t path; /* address in the caller's memory; 0: the descriptor itself */
	int flags;     /* AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH and others */
};

struct pathcall {
	const char *name;
	enum pathcall_act act;
	int open_flags;    /* of PATHCALL_OPEN */
	uint64_t path_len; /* of PATHCALL_BIND: the size of the address */
	struct pathcall_subject subject[2];
	size_t count; /* of subjects */
};

/* Decodes the arguments of a call. Returns false if it takes no path. */
bool stage2_pathcall_decode(int number, const uint64_t args[6], struct pathcall *ret_call);

#endif
