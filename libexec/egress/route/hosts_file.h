/* SPDX-License-Identifier: MIT */
/*
 * The hosts file (hosts(5)). The proxy reads it because it looks names up with a trailing dot, with
 * which getaddrinfo(3) finds none of its entries.
 */
#ifndef KODA_EGRESS_ROUTE_HOSTS_FILE_H
#define KODA_EGRESS_ROUTE_HOSTS_FILE_H

#include <koda/rules.h>
#include <stddef.h>
#include <stdio.h>

#define EGRESS_HOSTS_PATH "/etc/hosts"

/* Finds the addresses of name, which is in lower case. Returns their number; the first max of them
 * are in addrs. Lines without an address or with a zone are skipped. */
size_t egress_hosts_file_find(FILE *file, const char *name, struct koda_addr *addrs, size_t max);

#endif
