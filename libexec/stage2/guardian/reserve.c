/* SPDX-License-Identifier: MIT */
/*
 * T-32. Reserves protected names. A name that does not exist needs something to mount over, so that
 * the command cannot create it: a placeholder (placeholder.c). T-15. A hidden name that does not
 * exist is reserved, too, if the host's user could create it during the run.
 *
 * Runs in one project share placeholders. Each holds a shared lock on the directory they are in,
 * and the last one removes them (handover.c).
 */
#include "guardian/reserve.h"

#include "fail.h"
#include "guardian/handover.h"
#include "guardian/journal.h"
#include "guardian/placeholder.h"
#include "guardian/store.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Ten seconds: how long other processes may keep a directory locked. */
#define LOCK_WAIT_MS 2
#define LOCK_TRIES   5000

/* The plan lists the names of one directory together; so many before a name are searched for it. */
#define NEIGHBOURS 64

static struct reservation *reservations;
static size_t reservation_count;
/* A descriptor for examining placeholders, kept for when reserving has used up all others. */
static int spare = -1;

static bool is_placeholder(const struct koda_op *op)
{
	return op->kind == KODA_OP_PLACEHOLDER || op->kind == KODA_OP_PLACEHOLDER_FILE;
}

/* Takes the shared lock of a directory. A guardian that removes placeholders keeps it locked for a
 * moment. A command of another sandbox that can read the directory can lock it longer; that ends
 * after LOCK_TRIES, or with the lifeline. */
static void lock_shared(int fd, const char *path)
{
	struct pollfd life = { .fd = KODA_STAGE2_LIFE_FD, .events = 0 };

	for (int tries = 0; flock(fd, LOCK_SH | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK)
			stage2_fail(KODA_LAUNCH_PARENT_LOCK, path, errno);
		if (tries == LOCK_TRIES)
			stage2_fail(KODA_LAUNCH_PARENT_LOCKED, path, EBUSY);
		/* Only the end of the lifeline is polled; messages stay queued. */
		if (poll(&life, 1, LOCK_WAIT_MS) > 0 && (life.revents & (POLLHUP | POLLERR)))
			stage2_fail(KODA_LAUNCH_RUNNER_GONE, "", 0);
	}
}

/* Opens the parent directory without following any link, and locks it. Neighbours share it. */
static int lock_parent(const struct reservation *reservation)
{
	const char *path = reservation->op.text1.ptr;
	size_t len = stage2_reservation_parent_len(reservation);
	int fd;

	for (const struct reservation *before = reservation;
	     before > reservations && reservation - before < NEIGHBOURS;) {
		before--;
		if (stage2_reservation_parent_len(before) == len &&
		    memcmp(before->op.text1.ptr, path, len) == 0)
			return before->parent;
	}
	fd = stage2_reservation_open_parent(reservation);
	if (fd < 0)
		stage2_fail(KODA_LAUNCH_PARENT_OPEN, path, errno);
	lock_shared(fd, path);
	return fd;
}

/* Returns true if b may be a hard link of a. Only within one directory: a command that can replace
 * one of them can create the other. */
static bool is_alike(const struct reservation *a, const struct reservation *b)
{
	return a->parent == b->parent && a->op.kind == KODA_OP_PLACEHOLDER_FILE &&
	       b->op.kind == KODA_OP_PLACEHOLDER_FILE &&
	       !((a->op.flags | b->op.flags) & KODA_OP_ALONE) &&
	       a->op.text2.len == b->op.text2.len &&
	       memcmp(a->op.text2.ptr, b->op.text2.ptr, a->op.text2.len) == 0;
}

/* Makes a hard link to an earlier placeholder with the wanted contents. A new inode costs more, and
 * on ext4 more with every inode freed in the last minutes, which the allocator skips one by one.
 * Only the last NEIGHBOURS are searched. */
static int create_name(const struct reservation *reservation)
{
	const struct reservation *before = reservation;

	while (reservation->op.kind == KODA_OP_PLACEHOLDER_FILE && before > reservations &&
	       reservation - before < NEIGHBOURS) {
		before--;
		if (!is_alike(before, reservation))
			continue;
		if (linkat(before->parent, before->name, reservation->parent, reservation->name,
			   0) == 0) {
			if (stage2_placeholder_is(reservation->parent, reservation->name,
						  &reservation->op))
				return 0;
			(void)unlinkat(reservation->parent, reservation->name, 0);
			errno = EEXIST; /* something else has taken the place of the earlier one */
		}
		if (errno == EEXIST)
			return -1;
	}
	errno = ENOENT;
	return -1;
}

static int create(const struct reservation *reservation)
{
	if (create_name(reservation) == 0)
		return 0;
	if (errno == EEXIST)
		return -1;
	return stage2_placeholder_make(reservation->parent, reservation->name, &reservation->op);
}

static void reserve_one(struct reservation *reservation)
{
	const char *path = reservation->op.text1.ptr;

	reservation->parent = lock_parent(reservation);
	if (reservation->op.flags & KODA_OP_NOTED)
		stage2_handover_note(reservation->parent, &reservation->op);
	reservation->made = create(reservation) == 0;
	if (!reservation->made && errno != EEXIST)
		stage2_fail(KODA_LAUNCH_RESERVE, path, errno);
	if (!reservation->made)
		reservation->made = stage2_placeholder_is(reservation->parent, reservation->name,
							  &reservation->op);
	/* The view hides whatever has the hidden name. */
	if (!reservation->made && !(reservation->op.flags & KODA_OP_HIDDEN))
		stage2_fail(KODA_LAUNCH_RESERVE_APPEARED, path, EEXIST);
}

void stage2_reserve_all(const struct plan *plan)
{
	struct koda_op op;
	size_t count = 0;
	size_t at = 0;
	mode_t mask;

	while (koda_ops_next(plan->bytes, &at, &op))
		count += is_placeholder(&op);
	if (count == 0)
		return;
	spare = open("/", O_PATH | O_CLOEXEC);
	if (spare < 0)
		stage2_fail(KODA_LAUNCH_KEEP_FD, "", errno);
	stage2_journal_use(plan);
	stage2_store_use(plan);
	mask = umask(0); /* placeholders have exact modes */
	reservations = calloc(count, sizeof(*reservations));
	if (!reservations)
		stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
	for (at = 0; koda_ops_next(plan->bytes, &at, &op);) {
		if (!is_placeholder(&op))
			continue;
		reservations[reservation_count].op = op;
		reservations[reservation_count].name = strrchr(op.text1.ptr, '/') + 1;
		reservations[reservation_count].parent = -1; /* until it is open and locked */
		reserve_one(&reservations[reservation_count++]);
	}
	(void)umask(mask); /* the command inherits it */
}

struct reservation *stage2_reserve_list(size_t *ret_count)
{
	if (spare >= 0)
		(void)close(spare);
	spare = -1;
	*ret_count = reservation_count;
	return reservations;
}

void stage2_reserve_undo(void)
{
	size_t count;
	struct reservation *list = stage2_reserve_list(&count);

	stage2_handover_undo(list, count);
}

void stage2_reserve_postpone(pid_t process)
{
	size_t count;
	struct reservation *list = stage2_reserve_list(&count);

	stage2_handover_postpone(list, count, process);
}
