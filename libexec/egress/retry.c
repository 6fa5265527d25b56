/* SPDX-License-Identifier: MIT */
/*
 * T-72. A TLS 1.3 server may ask for a second ClientHello, and some go by the name in that one. So
 * after the first the client's bytes wait until the server has answered it. If it asks again, the
 * second is judged like the first; if not, there is none.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define RECORD_HANDSHAKE 22
#define SERVER_HELLO     2
#define HEAD             11 /* of the record, of the message, and a version */
#define RANDOM           32

/* RFC 8446, 4.1.3: what stands for the random bytes of a server that asks again. */
static const unsigned char asks_again[RANDOM] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

/* Does it look like a ServerHello, as far as it is there? */
static bool is_server_hello(const unsigned char *bytes, size_t len)
{
	return len > 0 && bytes[0] == RECORD_HANDSHAKE && (len < 6 || bytes[5] == SERVER_HELLO);
}

enum koda_retry koda_retry_look(struct koda_conn *conn)
{
	unsigned char bytes[HEAD + RANDOM];
	ssize_t n;

	if (!conn->down.readable)
		return KODA_RETRY_WAIT;
	n = recv(conn->origin.fd, bytes, sizeof(bytes), MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->down.readable = false;
		return KODA_RETRY_WAIT;
	}
	if (n <= 0 || !is_server_hello(bytes, (size_t)n))
		return KODA_RETRY_NONE;
	/* News comes with every byte; what is there stays there. */
	if (n < (ssize_t)sizeof(bytes))
		return conn->down.hung_up ? KODA_RETRY_NONE : KODA_RETRY_WAIT;
	return memcmp(bytes + HEAD, asks_again, RANDOM) == 0 ? KODA_RETRY_ASKED : KODA_RETRY_NONE;
}
