/* SPDX-License-Identifier: MIT */
/* A line of /proc/self/mountinfo. */
#ifndef KODA_WIRE_MOUNT_LINE_H
#define KODA_WIRE_MOUNT_LINE_H

#include <stdbool.h>
#include <string.h>

#define KODA_MOUNT_TABLE_PATH "/proc/self/mountinfo"
#define KODA_MOUNT_TABLE_MAX  ((size_t)16 << 20)

/* All borrowed from the line. */
struct koda_mount_line {
	char *number;
	char *parent;
	char *device;
	char *root;    /* of the mount, in its file system */
	char *point;   /* where it is mounted */
	char *options; /* the rest of the line, from these on */
};

/* Replaces octal escapes, such as "\040" for a space, in place. */
static inline void koda_mount_unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* Splits the line in place. Returns false if fields are missing. */
static inline bool koda_mount_parse(char *line, struct koda_mount_line *ret_mount)
{
	char **const fields[] = { &ret_mount->number, &ret_mount->parent, &ret_mount->device,
				  &ret_mount->root, &ret_mount->point };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		*fields[i] = strsep(&line, " ");
	ret_mount->options = line;
	if (!line)
		return false;
	koda_mount_unescape(ret_mount->root);
	koda_mount_unescape(ret_mount->point);
	return true;
}

#endif
