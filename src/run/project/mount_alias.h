/* SPDX-License-Identifier: MIT */
/* T-88. Aliases of protected paths through other mounts of their file system. */
#ifndef KODA_RUN_PROJECT_MOUNT_ALIAS_H
#define KODA_RUN_PROJECT_MOUNT_ALIAS_H

#include "base/buf.h"
#include "base/macros.h"
#include "base/strv.h"
#include "wire/mount_line.h"

#include <stdint.h>

struct koda_rules;
struct koda_site;

struct koda_mount {
	uint64_t number;
	uint64_t parent;
	size_t device;    /* number of the file system in this table */
	const char *root; /* the directory of the file system that is mounted */
	const char *point;
	bool is_top;    /* its parent mount is not in the table */
	bool is_shared; /* the file system has further mounts */
	bool is_proc;   /* a procfs */
};

struct koda_mount_table {
	struct koda_buf text;
	struct koda_mount *items; /* owned; they borrow from text */
	size_t count;
	bool is_shared; /* one of the mounts is, or is a further procfs */
};

#define KODA_MOUNT_TABLE_INIT                                                                      \
	{                                                                                          \
		.text = KODA_BUF_INIT(KODA_MOUNT_TABLE_MAX)                                        \
	}

/* Parses mounts->text, the text of /proc/self/mountinfo. Fails: INVALID, NOMEM. */
KODA_CHECK int koda_mount_table_parse(struct koda_mount_table *mounts, struct koda_error *err);
void koda_mount_table_clear(struct koda_mount_table *mounts);

/* Appends the aliases of path, which is in normal form and free of links. Directories below it that
 * are mounted elsewhere are not included. Fails: NOMEM. */
KODA_CHECK int koda_mount_table_find(const struct koda_mount_table *mounts, const char *path,
				     struct koda_strv *names, struct koda_error *err);

/* Adds the aliases of protected paths to readonly_aliases and hidden of the site, and those of
 * sockets (may be NULL) to sockets. *ret_found is set if the rules have to be made again. Fails:
 * SYS, INVALID, LIMIT, NOMEM. */
KODA_CHECK int koda_mount_alias_note(struct koda_site *site, const struct koda_rules *rules,
				     struct koda_strv *sockets, bool *ret_found,
				     struct koda_error *err);

#define koda_auto_mounts __attribute__((cleanup(koda_mount_table_clear)))

#endif
