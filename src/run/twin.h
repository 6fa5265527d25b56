/* SPDX-License-Identifier: MIT */
/* Places that have several names, because their file system is mounted several times. */
#ifndef KODA_RUN_TWIN_H
#define KODA_RUN_TWIN_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "wire/mounts.h"

#include <stdint.h>

struct koda_rules;
struct koda_site;

struct koda_mount {
	uint64_t number;
	uint64_t parent;
	size_t device;    /* which of those that were met */
	const char *root; /* in its file system */
	const char *point;
	bool is_top;    /* what it is mounted on is not in the table */
	bool is_shared; /* there is another of this file system */
	bool is_proc;   /* it tells of processes */
};

struct koda_mounts {
	struct koda_buf text;
	struct koda_mount *items; /* owned; their names are in text */
	size_t count;
	bool is_shared; /* some of them are, or tell of the same as /proc does */
};

#define KODA_MOUNTS_INIT                                                                           \
	{                                                                                          \
		.text = KODA_BUF_INIT(KODA_MOUNTS_MAX)                                             \
	}

/* Takes apart mounts->text, which is a table as the kernel writes it. Fails: INVALID, NOMEM. */
KODA_CHECK int koda_mounts_parse(struct koda_mounts *mounts, struct koda_error *err);
void koda_mounts_clear(struct koda_mounts *mounts);

/* Appends the other names of path, which is in normal form and has no links on its way. Not those
 * of parts of it that are mounted elsewhere: they have names of their own. Fails: NOMEM. */
KODA_CHECK int koda_mounts_find(const struct koda_mounts *mounts, const char *path,
				struct koda_strv *names, struct koda_error *err);

/* Adds the other names of what the rules close to what the site guards and hides, and those of
 * sockets (may be NULL) to them. *ret_found if the rules are to be made anew. Fails: SYS, INVALID,
 * LIMIT, NOMEM. */
KODA_CHECK int koda_site_note_twins(struct koda_site *site, const struct koda_rules *rules,
				    struct koda_strv *sockets, bool *ret_found,
				    struct koda_error *err);

#define koda_auto_mounts __attribute__((cleanup(koda_mounts_clear)))

#endif
