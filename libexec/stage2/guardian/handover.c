/* SPDX-License-Identifier: MIT */
/*
 * T-32, T-99. Which run removes placeholders. Each run holds a shared lock (flock) on the
 * directories they are in. The run that gets the exclusive lock at its end is the last and removes
 * them. A run that ends earlier enters its names into the journal of the directory (journal.h)
 * while it still has a shared lock, so every later holder of the exclusive lock finds them. No
 * process has to stay and wait for other runs, and names that only one run had reserved are removed
 * by the last run, too.
 *
 * The kernel drops the locks of a process that dies, so placeholders of a killed guardian are
 * removed by the next run. Names that the next run has no reason to reserve are entered into the
 * journal before they are made. If a process that is no guardian keeps the directory locked, the
 * names stay in the journal: the next run there removes them, or a sweep (sweep.c).
 */
#include "guardian/handover.h"

#include "guardian/clock.h"
#include "guardian/journal.h"
#include "sys.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* How long the end of a run waits for directories that other processes keep locked. */
#define UNDO_MS 1000
#define WAIT_MS 2
/* A journal whose directory is missing is kept so long: the directory may have been moved. */
#define MOVED_SECONDS (30L * 24 * 60 * 60)

/* Consecutive reservations of this run in one directory. */
struct neighbours {
	struct reservation *first;
	size_t count;
	int parent;
};

/* The mode bits that removing an entry from an own directory needs. */
#define OPEN_MODE 0300

/* Adds OPEN_MODE to a directory that a command may have closed. Returns true if the mode was
 * changed; the caller sets *ret_was again. */
static bool open_parent(int parent, struct stat *ret_was)
{
	return fstat(parent, ret_was) == 0 && ret_was->st_uid == geteuid() &&
	       (ret_was->st_mode & OPEN_MODE) != OPEN_MODE &&
	       fchmod(parent, (ret_was->st_mode & 07777) | OPEN_MODE) == 0;
}

/* Removes the placeholders of this run. */
static void remove_own(const struct neighbours *own)
{
	for (size_t i = own->count; i-- > 0;)
		if (own->first[i].made)
			stage2_reservation_remove(&own->first[i]);
}

/* Removes the placeholders that other runs have entered into the journal. */
static void remove_noted(int parent, const struct stage2_journal *journal)
{
	struct reservation reservation = { .parent = parent };
	size_t at = 0;

	while (stage2_journal_next(journal, &at, &reservation.op)) {
		reservation.name = strrchr(reservation.op.text1.ptr, '/') + 1;
		stage2_reservation_remove(&reservation);
	}
}

/* Returns true if every run of this user reserves these names, because the floor hides them. */
static bool is_common(const struct neighbours *own)
{
	for (size_t i = 0; i < own->count; i++)
		if ((own->first[i].op.flags & (KODA_OP_HIDDEN | KODA_OP_NOTED)) != KODA_OP_HIDDEN)
			return false;
	return true;
}

/* Enters the placeholders of this run in one directory into its journal. process: the process that
 * must end before they are removed; 0: none. Returns false if the journal cannot be written. */
static bool note(const struct neighbours *own, pid_t process)
{
	struct stage2_journal journal;
	bool noted;

	/* The next run, in any project, reserves these names too, and removes them. */
	if (is_common(own))
		return true;
	if (!stage2_journal_open(&journal, own->parent, NULL, true))
		return false;
	noted = process == 0 || stage2_journal_add_process(&journal, process);
	for (size_t i = 0; i < own->count && noted; i++)
		if (own->first[i].made)
			noted = stage2_journal_add(&journal, &own->first[i].op);
	stage2_journal_close(&journal);
	return noted;
}

void stage2_handover_note(int dir, const struct koda_op *op)
{
	struct reservation reservation = { .op = *op, .parent = dir, .made = true };

	/* The journal is not made here: its directory may be one that the plan has found missing,
	 * and reserves. */
	if (stage2_journal_exists(false))
		(void)note(&(struct neighbours){ &reservation, 1, dir }, 0);
}

/* Removes the placeholders in the directory, which is exclusively locked: those of this run and
 * those of its own journal (name: NULL) or the journal of that name. Returns false if a process of
 * an earlier run may still use the directory. */
static bool clear(const struct neighbours *own, const char *name)
{
	struct stage2_journal journal;
	struct stat was;
	bool noted;
	bool opened;

	errno = 0;
	noted = stage2_journal_open(&journal, own->parent, name, false);
	if (!noted && errno == EWOULDBLOCK)
		return false; /* its entries are unknown */
	if (noted && stage2_journal_is_blocked(&journal)) {
		stage2_journal_close(&journal);
		return false;
	}
	opened = open_parent(own->parent, &was);
	remove_own(own);
	if (noted)
		remove_noted(own->parent, &journal);
	if (opened)
		(void)fchmod(own->parent, was.st_mode & 07777);
	if (noted)
		stage2_journal_remove(&journal);
	return true;
}

/* Removes the placeholders in the directory, if no other process has it locked. The shared lock is
 * dropped before the exclusive one is tried, so of several runs that end together one always gets
 * it. */
static bool undo(const struct neighbours *own)
{
	bool done;

	if (flock(own->parent, LOCK_UN) < 0 || flock(own->parent, LOCK_EX | LOCK_NB) < 0)
		return false;
	done = clear(own, NULL) || note(own, 0);
	(void)flock(own->parent, LOCK_UN);
	return done;
}

/* Returns true if this run has reserved a name that other runs may not have reserved. */
static bool is_special(const struct neighbours *own)
{
	for (size_t i = 0; i < own->count; i++)
		if (own->first[i].op.flags & KODA_OP_NOTED)
			return true;
	return false;
}

/* Leaves the directory to the processes that have it locked. What is entered under a shared lock is
 * found by the next holder of the exclusive lock. Without a journal each run removes its own
 * placeholders. Returns false if it has to be tried again. */
static bool hand_over(const struct neighbours *own)
{
	bool noted;

	if (flock(own->parent, LOCK_SH | LOCK_NB) < 0)
		return false; /* most likely a run that is removing placeholders */
	noted = note(own, 0);
	return undo(own) || noted || !is_special(own);
}

static void leave(const struct neighbours *own, uint64_t until_ms)
{
	while (!undo(own) && !hand_over(own)) {
		if (stage2_clock_now() >= until_ms) {
			(void)note(own, 0);
			return;
		}
		(void)poll(NULL, 0, WAIT_MS);
	}
}

/* Returns the neighbours after these; count is 0 after the last. */
static struct neighbours next(const struct neighbours *own, const struct reservation *end)
{
	struct neighbours after = { .first = own->first + own->count };

	while (after.first < end && after.first->parent < 0)
		after.first++;
	while (after.first + after.count < end &&
	       after.first[after.count].parent == after.first->parent)
		after.count++;
	after.parent = after.count > 0 ? after.first->parent : -1;
	return after;
}

/* Returns the time in ms milliseconds, at most the deadline of the guardian. */
static uint64_t end_after(uint64_t ms)
{
	const uint64_t end = stage2_clock_now() + ms;
	const uint64_t last = stage2_clock_deadline();

	return end < last ? end : last;
}

void stage2_handover_undo(struct reservation *list, size_t count)
{
	const uint64_t until_ms = end_after(UNDO_MS);
	const struct reservation *end = list + count;
	struct neighbours own = { .first = list };
	bool special = false;

	stage2_journal_until(until_ms);
	while ((own = next(&own, end)).count > 0) {
		leave(&own, until_ms);
		special = special || is_special(&own);
	}
	/* The next run that enters such a name before it makes it needs the directory of the
	 * journals. */
	if (special)
		(void)stage2_journal_exists(true);
}

void stage2_handover_postpone(struct reservation *list, size_t count, pid_t process)
{
	const struct reservation *end = list + count;
	struct neighbours own = { .first = list };

	stage2_journal_until(stage2_clock_deadline());
	while ((own = next(&own, end)).count > 0)
		(void)note(&own, process);
}

/* Opens the directory of a journal, by its first record. Returns -1 if it is gone or replaced. */
static int open_noted(const struct stage2_journal *journal)
{
	char name[STAGE2_JOURNAL_NAME] = "";
	struct reservation reservation = { .parent = -1 };
	size_t at = 0;
	int parent;

	if (!stage2_journal_next(journal, &at, &reservation.op))
		return -1;
	reservation.name = strrchr(reservation.op.text1.ptr, '/') + 1;
	parent = stage2_reservation_open_parent(&reservation);
	if (parent < 0)
		return -1;
	/* Only the inode is compared: device numbers may change when the machine is started. */
	if (stage2_journal_name(parent, name) &&
	    strcmp(name + strcspn(name, "-"), journal->name + strcspn(journal->name, "-")) == 0)
		return parent;
	(void)close(parent);
	return -1;
}

static uint64_t sweep_until_ms;

static bool sweep_one(const char *name)
{
	struct neighbours none = { .count = 0 };
	struct stage2_journal journal;

	if (stage2_clock_now() >= sweep_until_ms)
		return false;
	if (!stage2_journal_open(&journal, -1, name, false))
		return true;
	none.parent = open_noted(&journal);
	if (none.parent < 0 && !stage2_journal_is_recent(&journal, MOVED_SECONDS))
		stage2_journal_remove(&journal);
	else
		stage2_journal_close(&journal);
	if (none.parent < 0)
		return true;
	if (flock(none.parent, LOCK_EX | LOCK_NB) == 0)
		(void)clear(&none, name);
	(void)close(none.parent);
	return true;
}

void stage2_handover_sweep(uint64_t until_ms)
{
	sweep_until_ms = until_ms;
	stage2_journal_until(until_ms);
	stage2_journal_walk(sweep_one);
}
