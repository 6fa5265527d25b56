/* SPDX-License-Identifier: MIT */
/* Landlock's rights over files, by what they are for. */
#ifndef KODA_PLAN_RIGHTS_H
#define KODA_PLAN_RIGHTS_H

#define RIGHT_EXECUTE    (1ULL << 0)
#define RIGHT_WRITE_FILE (1ULL << 1)
#define RIGHT_READ_FILE  (1ULL << 2)
#define RIGHT_READ_DIR   (1ULL << 3)
#define RIGHT_MAKE_SOCK  (1ULL << 9)
#define RIGHT_MAKE_BLOCK (1ULL << 11)
#define RIGHT_TRUNCATE   (1ULL << 14)
#define RIGHT_IOCTL_DEV  (1ULL << 15)
#define RIGHTS_READ      (RIGHT_EXECUTE | RIGHT_READ_FILE | RIGHT_READ_DIR)
#define RIGHTS_DEVICE    (RIGHTS_READ | RIGHT_WRITE_FILE | RIGHT_TRUNCATE | RIGHT_IOCTL_DEV)
#define RIGHTS_ALL       ((1ULL << 16) - 1)
/* T-34. Where no view of its own keeps a command from others, a socket in a tree that others see
 * would be where descriptors change hands. So sockets are made in the temporary directory only, and
 * nothing that may be or hold one moves between there and the trees: Landlock lets nothing move to
 * where it gains a right, and each has one that the other lacks. Both are of no other use, as
 * nobody here can make a device. */
#define RIGHTS_TREE      (RIGHTS_ALL & ~(RIGHT_MAKE_SOCK | RIGHT_IOCTL_DEV))
#define RIGHTS_TEMPORARY (RIGHTS_ALL & ~RIGHT_MAKE_BLOCK)

#endif
