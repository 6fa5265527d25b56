/* SPDX-License-Identifier: MIT */
/*
 * The order of tests is the kernel's: EEXIST comes before EROFS where a name is made, EACCES by
 * mode before EROFS where a file is opened, and EROFS before all else where a file is changed.
 */
#include "pathcall/refusal.h"

#include "sys.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define TMPFS_MAGIC 0x01021994

static bool is_special(const struct place *place)
{
	const uint32_t type = place->mode & S_IFMT;

	return type == S_IFCHR || type == S_IFBLK || type == S_IFIFO || type == S_IFSOCK;
}

/* Returns the errno of access(2) for the object itself; 0 if it is permitted. */
static int access_error(const struct place *place, int mode)
{
	return syscall(SYS_faccessat2, place->object, "", mode, AT_EMPTY_PATH) < 0 ? errno : 0;
}

/* Returns true for the directory of a veil or of an empty mask. */
static bool is_veil(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC && stage2_place_is_readonly(dir);
}

/* Returns true for a mask, which has no permissions. */
static bool is_mask(const struct place *place)
{
	return place->mount_root && is_veil(place->object);
}

/* The view answers as if the object were missing, or refuses every open. */
static bool refuses_use(const struct place *place, int mode)
{
	if (place->object < 0)
		return is_veil(place->dir);
	return access_error(place, mode) == EACCES && is_mask(place);
}

static bool refuses_create(const struct place *place, enum koda_denied *ret_act)
{
	struct place dir;

	if (place->object >= 0) {
		*ret_act = KODA_DENIED_REPLACE;
		return place->reserved;
	}
	if (!stage2_place_is_readonly(place->dir))
		return false;
	if (stage2_place_look(place->dir, "", &dir) == 0 && dir.reserved)
		*ret_act = KODA_DENIED_WITHIN;
	return true;
}

static bool refuses_open(const struct place *place, int flags, enum koda_denied *ret_act)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

	if (flags & O_PATH)
		return false;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return stage2_place_is_readonly(place->object >= 0 ? place->object : place->dir);
	if (place->object < 0 && (flags & O_CREAT))
		return refuses_create(place, ret_act);
	if (place->reserved && (writes || (flags & O_CREAT))) {
		*ret_act = KODA_DENIED_REPLACE;
		return true;
	}
	if (!writes) {
		*ret_act = KODA_DENIED_READ;
		return refuses_use(place, R_OK);
	}
	if ((place->mode & S_IFMT) == S_IFDIR || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return is_mask(place);
	if (place->object < 0) {
		*ret_act = KODA_DENIED_HIDDEN;
		return is_veil(place->dir);
	}
	if (is_special(place))
		return false;
	return access_error(place, W_OK) == EROFS || refuses_use(place, W_OK);
}

/* A name that exists is removed or replaced. Nothing that is a mount point can be. */
static bool refuses_remove(const struct place *place)
{
	return stage2_place_is_readonly(place->dir) || place->mount_root;
}

bool stage2_refusal_find(const struct pathcall *call, size_t i, const struct place *place,
			 enum koda_denied *ret_act)
{
	bool opens_to_read = call->act == PATHCALL_OPEN &&
			     (call->open_flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == 0;

	*ret_act = call->act == PATHCALL_EXEC ? KODA_DENIED_EXEC
		   : opens_to_read            ? KODA_DENIED_READ
					      : KODA_DENIED_WRITE;
	if (place->closed)
		return !(call->act == PATHCALL_OPEN && (call->open_flags & O_PATH));
	switch (call->act) {
	case PATHCALL_OPEN:
		return refuses_open(place, call->open_flags, ret_act);
	case PATHCALL_CREATE:
	case PATHCALL_BIND:
		return refuses_create(place, ret_act);
	case PATHCALL_RENAME:
		/* The new name may exist, or not. */
		if (i == 1 && place->object < 0)
			return refuses_create(place, ret_act);
		*ret_act = KODA_DENIED_REPLACE;
		return place->object >= 0 && refuses_remove(place);
	case PATHCALL_REMOVE:
		*ret_act = KODA_DENIED_REPLACE;
		return place->object >= 0 && refuses_remove(place);
	case PATHCALL_CHANGE:
		return place->object >= 0 && stage2_place_is_readonly(place->object);
	case PATHCALL_EXEC:
		return refuses_use(place, X_OK);
	}
	return false;
}
