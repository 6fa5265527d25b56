/* SPDX-License-Identifier: MIT */
/* One reserved name: made by reserve.c, given up by handover.c. */
#ifndef KODA_STAGE2_GUARDIAN_RESERVATION_H
#define KODA_STAGE2_GUARDIAN_RESERVATION_H

#include "wire/op.h"

#include <stdbool.h>

struct reservation {
	struct koda_op op; /* borrowed from the plan, or from a journal */
	const char *name;  /* last component of its path */
	int parent;        /* locked; shared by neighbours; -1: reserving it has failed */
	bool made;         /* the placeholder exists */
};

/* Returns the length of the path of the directory that the name is in. */
size_t stage2_reservation_parent_len(const struct reservation *reservation);
/* Opens that directory, following no link. Returns -1 with errno. */
int stage2_reservation_open_parent(const struct reservation *reservation);
/* Removes the placeholder, unless something else has taken its place. */
void stage2_reservation_remove(const struct reservation *reservation);

#endif
