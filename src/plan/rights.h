/* SPDX-License-Identifier: MIT */
/* Landlock's rights over files, by what they are for. */
#ifndef KODA_PLAN_RIGHTS_H
#define KODA_PLAN_RIGHTS_H

#define RIGHT_EXECUTE    (1ULL << 0)
#define RIGHT_WRITE_FILE (1ULL << 1)
#define RIGHT_READ_FILE  (1ULL << 2)
#define RIGHT_READ_DIR   (1ULL << 3)
#define RIGHT_TRUNCATE   (1ULL << 14)
#define RIGHT_IOCTL_DEV  (1ULL << 15)
#define RIGHTS_READ      (RIGHT_EXECUTE | RIGHT_READ_FILE | RIGHT_READ_DIR)
#define RIGHTS_DEVICE    (RIGHTS_READ | RIGHT_WRITE_FILE | RIGHT_TRUNCATE | RIGHT_IOCTL_DEV)
#define RIGHTS_ALL       ((1ULL << 16) - 1)

#endif
