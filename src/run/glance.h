/* SPDX-License-Identifier: MIT */
/* A look at a path of the host that the output of a command chose, so it must do nothing: every
 * step is held and looked at, links are not followed, and what the host would mount for whoever
 * goes on is not entered. */
#ifndef KODA_RUN_GLANCE_H
#define KODA_RUN_GLANCE_H

#include <sys/stat.h>

/* 1 if the path, in normal form, is there, 0 if it is not, negative if that is not told. */
int koda_glance(const char *path, struct stat *ret_st);

#endif
