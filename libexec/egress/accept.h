/* SPDX-License-Identifier: MIT */
/*
 * T-83. Accepts connections. No error of accept4(2) ends the service. At a limit, further clients
 * wait in the kernel's backlog until a connection ends. Without file descriptors one client is
 * accepted and closed at once, so that it gets an answer, and the others wait.
 */
#ifndef KODA_EGRESS_ACCEPT_H
#define KODA_EGRESS_ACCEPT_H

#include "tenant.h"

/* Accepts a bounded number of connections: the listener has events. */
void egress_accept_ready(struct egress_watch *watch, uint32_t events);
/* Resumes tenants that stopped at a limit: a connection has ended. */
void egress_accept_again(struct egress_proxy *proxy);
/* Resumes a tenant that stopped after an error. */
void egress_accept_retry(struct egress_deadline *deadline);

#endif
