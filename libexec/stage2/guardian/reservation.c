/* SPDX-License-Identifier: MIT */
#include "guardian/reservation.h"

#include "guardian/placeholder.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

size_t stage2_reservation_parent_len(const struct reservation *reservation)
{
	return (size_t)(reservation->name - reservation->op.text1.ptr) - 1;
}

int stage2_reservation_open_parent(const struct reservation *reservation)
{
	size_t len = stage2_reservation_parent_len(reservation);
	char parent[4096];

	if (len >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(parent, reservation->op.text1.ptr, len);
	parent[len] = '\0';
	return sys_openat2(AT_FDCWD, len ? parent : "/", O_RDONLY | O_DIRECTORY,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

void stage2_reservation_remove(const struct reservation *reservation)
{
	stage2_placeholder_remove(reservation->parent, reservation->name, &reservation->op);
}
