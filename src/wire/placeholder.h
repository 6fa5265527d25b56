/* SPDX-License-Identifier: MIT */
/*
 * How placeholders are recognised.
 *
 * Outside git directories a placeholder is an empty directory of mode 0755, which programs that
 * walk a tree ignore. Its mark is its modification time: the kernel changes that with every new
 * entry, so a directory that a user has used is no placeholder any more. While it is made or
 * removed its mode is the mark, which mkdir(2) sets atomically.
 *
 * In a work tree of git it has a .gitignore that names nothing but itself. Without that "git clean
 * -d" and "git stash -u" would remove the directory on the host, and the mount on it with it, and
 * would fail inside, where it is a mount.
 *
 * Inside a git directory a placeholder is a file, because git stops at a directory there.
 */
#ifndef KODA_WIRE_PLACEHOLDER_H
#define KODA_WIRE_PLACEHOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

/* 2000-02-29 12:34:56 UTC: an even second, because FAT has no other ones. */
#define KODA_PLACEHOLDER_TIME 951827696L
#define KODA_PLACEHOLDER_MODE 0755
/* At a hidden name: files that the user puts there are not readable by other users. */
#define KODA_PLACEHOLDER_HIDDEN_MODE 0700
/* A directory of mode 0700 has no use for the sticky bit, so no user sets both. */
#define KODA_PLACEHOLDER_MAKING (S_ISVTX | 0700)

#define KODA_PLACEHOLDER_IGNORE ".gitignore"
#define KODA_PLACEHOLDER_IGNORE_TEXT                                                               \
	"# Reserved by koda-sandbox while a command runs.\n/.gitignore\n"

/* Returns true for the placeholder of earlier builds: a socket of mode 000. */
static inline bool koda_placeholder_is_socket(mode_t mode)
{
	return S_ISSOCK(mode) && (mode & 07777) == 0;
}

/* Returns true for the mode of a directory that is being made. A default ACL of its parent may have
 * removed permission bits, and the set-group-ID bit is inherited. */
static inline bool koda_placeholder_is_making(mode_t mode)
{
	return S_ISDIR(mode) && (mode & (07777 & ~(0700 | S_ISGID))) == S_ISVTX;
}

/* Returns true for the mark of a placeholder, regardless of its entries. A command can set it on
 * any directory of its own. */
static inline bool koda_placeholder_is_marked(const struct stat *st)
{
	return koda_placeholder_is_socket(st->st_mode) || koda_placeholder_is_making(st->st_mode) ||
	       (S_ISDIR(st->st_mode) && st->st_mtime == KODA_PLACEHOLDER_TIME);
}

/* Returns true if name is a placeholder; st: from fstatat with AT_SYMLINK_NOFOLLOW. */
bool koda_placeholder_is(int at, const char *name, const struct stat *st);
/* Returns true if the directory, at offset 0, has no entries but those of a placeholder. */
bool koda_placeholder_has_own_entries_only(int fd);
/* Returns true if lstat fails or finds a placeholder; otherwise *ret_st is its result. */
bool koda_placeholder_is_vacant(const char *path, struct stat *ret_st);

/* The mark of a placeholder file in a git directory: the sticky bit, which has no meaning for files
 * and which open(2) sets when it creates the file. */
#define KODA_PLACEHOLDER_FILE_MARK S_ISVTX
#define KODA_PLACEHOLDER_FILE_MODE (KODA_PLACEHOLDER_FILE_MARK | 0444)

/* Contents of a placeholder commondir: the git directory itself. git takes "." as well, but libgit2
 * then finds no repository, and cargo new makes one inside the project's. */
#define KODA_PLACEHOLDER_COMMONDIR "./\n"

/* Returns true for the mode of a placeholder file. A default ACL of the directory, which a command
 * can set, may have removed permission bits until fchmod(2). */
static inline bool koda_placeholder_is_file_mode(mode_t mode)
{
	return S_ISREG(mode) && (mode & (07777 & ~0444)) == KODA_PLACEHOLDER_FILE_MARK;
}

/* Returns true for an empty placeholder file, which may have several hard links. */
static inline bool koda_placeholder_is_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_mode & 07777) == KODA_PLACEHOLDER_FILE_MODE &&
	       st->st_size == 0;
}

/* Returns true for the .gitignore of a placeholder, complete or not. */
static inline bool koda_placeholder_is_ignore(const struct stat *st)
{
	return koda_placeholder_is_file_mode(st->st_mode) &&
	       st->st_size <= (off_t)sizeof(KODA_PLACEHOLDER_IGNORE_TEXT) - 1;
}

#endif
