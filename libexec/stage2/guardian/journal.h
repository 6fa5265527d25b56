/* SPDX-License-Identifier: MIT */
/*
 * The journal of placeholders, in koda's state: what a run leaves for other runs to remove
 * (handover.c). There is one file for each directory with placeholders, named by its device and
 * inode:
 *
 *   STATE/koda/placeholders/DEVICE-INODE
 *
 * A record is two texts, each with its NUL: the kind with the contents, and the path.
 */
#ifndef KODA_STAGE2_GUARDIAN_JOURNAL_H
#define KODA_STAGE2_GUARDIAN_JOURNAL_H

#include "plan.h"

#include <stdbool.h>
#include <sys/types.h>

#define STAGE2_JOURNAL_NAME 40

/* One file, exclusively locked. */
struct stage2_journal {
	int store;
	int fd;
	char name[STAGE2_JOURNAL_NAME];
	char *bytes; /* owned; whole records */
	size_t len;
};

/* Takes the path of the journals from the plan. */
void stage2_journal_use(const struct plan *plan);

/* Sets when waiting for the lock of a journal ends. */
void stage2_journal_until(uint64_t ms);

/* Writes the name of the file for the directory that dir is open on. Returns false if fstat
 * fails. */
bool stage2_journal_name(int dir, char ret_name[STAGE2_JOURNAL_NAME]);

/* Returns true if the directory of the journals exists. make: makes it if it is missing. */
bool stage2_journal_exists(bool make);

/* Opens, locks and reads the file of that name, or, if name is NULL, of the directory that dir is
 * open on. make: creates it if it is missing. Returns false, with nothing to close, if it does not
 * exist or cannot be used; errno is EWOULDBLOCK if another process keeps it locked. */
bool stage2_journal_open(struct stage2_journal *journal, int dir, const char *name, bool make);
void stage2_journal_close(struct stage2_journal *journal);
/* Removes the file, and closes it. */
void stage2_journal_remove(struct stage2_journal *journal);

/* Adds a placeholder unless it is listed. Returns false if it could not be written. */
bool stage2_journal_add(struct stage2_journal *journal, const struct koda_op *op);
/* Reads the next placeholder. *at starts at 0; returns false after the last. The texts are the
 * journal's. */
bool stage2_journal_next(const struct stage2_journal *journal, size_t *at, struct koda_op *ret_op);

/* Adds a process that must end before anything is removed: the first of a pid namespace. */
bool stage2_journal_add_process(struct stage2_journal *journal, pid_t pid);
/* Returns true if one of these processes has not ended. */
bool stage2_journal_is_blocked(const struct stage2_journal *journal);

/* Calls each with the name of every file, while it returns true. */
void stage2_journal_walk(bool (*each)(const char *name));
/* Returns true if the file was written within so many seconds. */
bool stage2_journal_is_recent(const struct stage2_journal *journal, long seconds);

#endif
