/* SPDX-License-Identifier: MIT */
/*
 * Servers that other people wrote, behind the proxy: Go's, Node's, nginx and Python's. Each notes
 * what it was sent whole, a line for each request: method, host, path, and the body in hexadecimal.
 */
#ifndef KODA_TEST_EGRESS_ORIGINS_H
#define KODA_TEST_EGRESS_ORIGINS_H

#include "host.h"

enum origin_kind {
	ORIGIN_GO,
	ORIGIN_NODE,
	ORIGIN_NGINX,
	ORIGIN_PYTHON, /* reads no bodies, and notes none */
	ORIGIN_KINDS
};

struct origin {
	const char *name;
	struct koda_proc proc;
	uint16_t port;
	char log[320];
};

/* A directory for them, which is removed again. */
int origins_setup(void **state);
int origins_remove(void **state);

/* False: it is not installed (with KODA_TEST_MUST_RUN=1 that is a failure). tls: with the
 * certificate and the key in these files of the directory. */
bool origin_start(struct origin *origin, enum origin_kind kind, bool tls);
/* Kills the server. */
void origin_stop(struct origin *origin);

/* Writes a file that origin_start looks for: "cert.pem" or "key.pem". */
void origins_write(const char *name, struct koda_span text);

/* A request that an origin got. */
struct origin_request {
	char method[16];
	char host[64];
	char path[64];
	char body[2048];
	size_t len;
};
/* The next of its requests, from *at on, which begins with 0. */
bool origin_next(const struct origin *origin, long *at, struct origin_request *ret_request);

#endif
