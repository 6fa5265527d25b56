/* SPDX-License-Identifier: MIT */
/* A situation of which the whole plan is kept: policy, place and file system, all made up. */
#ifndef KODA_GOLDEN_SCENE_H
#define KODA_GOLDEN_SCENE_H

#include <koda/trust.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scene {
	const char *name; /* of the file that holds the plan */
	enum koda_trust trust;
	const char *root; /* NULL: /home/u/p */
	/* One rule each: "w" allow_write, "W" deny_write_within_allow, "r" deny_read, "h" hole,
	 * then a blank and the path. On top of what trust gives. NULL here and below: none. */
	const char *const *rules;
	/* "d path", "l path" (a link), "n path" (a neutral file) or "f path"; what is not listed
	 * and not above the root does not exist. */
	const char *const *things;
	const char *const *git_dirs;
	const char *const *git_files;
	const char *const *absent;
	const char *const *guarded;
	const char *const *hidden;
	const char *const *sockets;
	const char *const *argv; /* NULL: sh -c true */
	const char *cwd;         /* NULL: the root */
	bool no_network;
	bool no_binding;
	bool git_config;
	bool terminal;
	bool as_root;
	bool narrow; /* every limit that has an option, as low as somebody might ask */
};

extern const struct scene koda_scenes[];
extern const size_t koda_scene_count;

#endif
