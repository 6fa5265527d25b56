/* SPDX-License-Identifier: MIT */
/*
 * T-24. Slots for package caches that are copied on write. A slot is a directory for the upper
 * layer of an overlay (init/cache_mount.c), locked by the guardian; the kernel drops the lock with
 * the guardian.
 *
 * Two runs never share a slot: overlayfs does not define what happens to an upper directory with
 * two mounts. The second run takes the next slot. Where no slot can be locked, or the kernel or the
 * file system has no overlays, the cache is an empty tmpfs: commands work, only slower.
 */
#include "guardian/cache_slot.h"

#include "guardian/state.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SLOTS 16

static int locked_slots[STAGE2_SLOTS_MAX]; /* locked by the guardian */
static size_t locked_count;

/* Opens the directory name in dir; makes it if it is missing. */
static int open_below(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || (mkdirat(dir, name, 0700) < 0 && errno != EEXIST))
		return fd;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool make_parts(int slot)
{
	return (mkdirat(slot, "upper", 0700) == 0 || errno == EEXIST) &&
	       (mkdirat(slot, "work", 0700) == 0 || errno == EEXIST);
}

/* Locks the first free slot of a store and keeps it open. Returns its number, or -1. */
static int8_t take_slot(const char *store)
{
	int dir = stage2_state_open(store);
	int8_t taken = -1;

	for (int8_t n = 0; dir >= 0 && taken < 0 && n < SLOTS; n++) {
		char slot[16];
		int fd;

		(void)snprintf(slot, sizeof(slot), "%d", n);
		fd = open_below(dir, slot);
		if (fd < 0)
			break;
		if (stage2_state_is_private(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    make_parts(fd)) {
			locked_slots[locked_count++] = fd;
			taken = n;
		} else {
			(void)close(fd);
		}
	}
	if (dir >= 0)
		(void)close(dir);
	return taken;
}

void stage2_cache_slot_take(const struct plan *plan, struct init_orders *ret_orders)
{
	struct koda_op op;
	size_t cache = 0;
	size_t at = 0;

	memset(ret_orders->slot, -1, sizeof(ret_orders->slot));
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_OVERLAY && cache < STAGE2_SLOTS_MAX)
			ret_orders->slot[cache++] = take_slot(op.text2.ptr);
}

void stage2_cache_slot_undo(void)
{
	for (size_t i = 0; i < locked_count; i++) {
		if (unlinkat(locked_slots[i], "work/work", AT_REMOVEDIR) < 0 && errno == ENOTEMPTY)
			(void)!fchmodat(locked_slots[i], "work/work", 0700, 0);
		/* Closing drops the lock: removing placeholders, which comes next, needs no
		 * cache. */
		(void)close(locked_slots[i]);
	}
	locked_count = 0;
}
