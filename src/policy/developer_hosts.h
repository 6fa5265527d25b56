/* SPDX-License-Identifier: MIT */
#ifndef KODA_POLICY_DEVELOPER_HOSTS_H
#define KODA_POLICY_DEVELOPER_HOSTS_H

#include <stddef.h>

/* Patterns with a port, in their canonical spelling. */
extern const char *const koda_developer_hosts[];
extern const size_t koda_developer_host_count;

#endif
