/* SPDX-License-Identifier: MIT */
/* A line of the kernel's table of mounts. */
#ifndef KODA_WIRE_MOUNTS_H
#define KODA_WIRE_MOUNTS_H

#include <stdbool.h>
#include <string.h>

#define KODA_MOUNTS_TABLE "/proc/self/mountinfo"
#define KODA_MOUNTS_MAX   ((size_t)16 << 20)

/* All borrowed from the line. */
struct koda_mount_line {
	char *number;
	char *parent;
	char *device;
	char *root;    /* of the mount, in its file system */
	char *point;   /* where it is mounted */
	char *options; /* the rest of the line, from these on */
};

/* "\040" is a space. */
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

/* Takes the line apart, in place. False if it is none. */
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
