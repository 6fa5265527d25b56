/* SPDX-License-Identifier: MIT */
/*
 * The egress proxy on a listener of the host's own, for programs that run outside of a sandbox or
 * in one that another tool makes. It speaks HTTP CONNECT, plain HTTP and SOCKS5 on one port.
 * Commands of a sandbox do not need it: they have a proxy already.
 *
 *	koda_egress_open -> koda_egress_listen -> koda_egress_serve -> koda_egress_close
 *
 * One thread at a time may use it.
 */
#ifndef KODA_EGRESS_H
#define KODA_EGRESS_H

#include <koda/error.h>
#include <koda/event.h>
#include <koda/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_egress;

/* May grow in later releases, as struct koda_sandbox_options does. */
struct koda_egress_options {
	size_t size;                        /* sizeof(struct koda_egress_options) */
	const struct koda_policy *policy;   /* whose network rules apply. Copied. */
	const char *const *host_env;        /* NULL-terminated NAME=VALUE, usually environ */
	const char *const *tls_passthrough; /* as in struct koda_sandbox_options. Copied. */
	koda_event_fn *on_event;            /* gets KODA_EVENT_EGRESS; may be NULL */
	void *event_ctx;
};

/* Checks the options; starts nothing. Fails: POLICY for a pattern in tls_passthrough that is no
 * host pattern, INVALID for tls_passthrough without net.mitm or with a CA bundle that has no key,
 * UNSUPPORTED for options of a later release, NOMEM. */
KODA_API KODA_CHECK int koda_egress_open(const struct koda_egress_options *options,
					 struct koda_egress **ret_egress, struct koda_error *err);
/* Starts the proxy process on a listening, non-blocking stream socket, which it takes over, also on
 * failure. Every process that can connect to it is served. Can be called once. Fails: INVALID, SYS
 * (the CA bundle cannot be opened), NOMEM. */
KODA_API KODA_CHECK int koda_egress_listen(struct koda_egress *egress, int listener,
					   struct koda_error *err);
/* Waits and hands events to on_event. Returns 1 once, as soon as connections are accepted, and is
 * then called again; returns 0 when stop_fd is readable. A proxy process that dies is started again
 * by the next connection. Fails: POLICY if the proxy cannot serve this policy, CHILD if it does not
 * start, SYS. */
KODA_API KODA_CHECK int koda_egress_serve(struct koda_egress *egress, int stop_fd,
					  struct koda_error *err);
/* Closes the listener and every connection. Events that are still to be told are told first, within
 * half a second. NULL is fine. */
KODA_API void koda_egress_close(struct koda_egress *egress);

#ifdef __cplusplus
}
#endif

#endif
