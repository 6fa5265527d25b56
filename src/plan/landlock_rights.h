/* SPDX-License-Identifier: MIT */
/* Landlock's access rights for files, grouped by use. */
#ifndef KODA_PLAN_LANDLOCK_RIGHTS_H
#define KODA_PLAN_LANDLOCK_RIGHTS_H

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
/* T-34. Without a mount namespace, two commands could pass descriptors through a socket in a tree
 * that both see. So sockets can be made in the temporary directory only, and no file can be moved
 * between that directory and a tree: Landlock refuses a rename that gains a right, and each side
 * has a right that the other lacks. Neither right is of other use, as no command can make a
 * device. */
#define RIGHTS_TREE      (RIGHTS_ALL & ~(RIGHT_MAKE_SOCK | RIGHT_IOCTL_DEV))
#define RIGHTS_TEMPORARY (RIGHTS_ALL & ~RIGHT_MAKE_BLOCK)

#endif
