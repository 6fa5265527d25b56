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

#define RECORD_ALERT     21
#define RECORD_HANDSHAKE 22
#define RECORD_HEAD      5
#define ALERT            (RECORD_HEAD + 2)
#define ALERT_WARNING    1
#define ALERTS_MAX       8
#define SERVER_HELLO     2
#define RETRY_REQUEST    6  /* a message of its own, in drafts */
#define HEAD             11 /* of the record, of the message, and a version */
#define RANDOM           32

/* RFC 8446, 4.1.3: what stands for the random bytes of a server that asks again. */
static const unsigned char asks_again[RANDOM] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

/* What the answer begins with; WAIT if that cannot be told yet. What could be such a question, in
 * pieces that no server makes, is taken for one: then nothing passes but a good hello. */
static enum koda_retry judge(const unsigned char *p, size_t len)
{
	size_t alerts = 0;

	/* Some servers warn of a name that they do not know, and go on. */
	while (len > RECORD_HEAD && p[0] == RECORD_ALERT && p[RECORD_HEAD] == ALERT_WARNING) {
		if (len < ALERT)
			return KODA_RETRY_WAIT;
		if (++alerts == ALERTS_MAX)
			return KODA_RETRY_ASKED;
		p += ALERT;
		len -= ALERT;
	}
	if (len > 0 && p[0] != RECORD_HANDSHAKE && (p[0] != RECORD_ALERT || len > RECORD_HEAD))
		return KODA_RETRY_NONE;
	if (len <= RECORD_HEAD)
		return KODA_RETRY_WAIT;
	if (p[RECORD_HEAD] != SERVER_HELLO)
		return p[RECORD_HEAD] == RETRY_REQUEST ? KODA_RETRY_ASKED : KODA_RETRY_NONE;
	if (((size_t)p[3] << 8 | p[4]) < HEAD + RANDOM - RECORD_HEAD)
		return KODA_RETRY_ASKED;
	if (len < HEAD + RANDOM)
		return KODA_RETRY_WAIT;
	return memcmp(p + HEAD, asks_again, RANDOM) == 0 ? KODA_RETRY_ASKED : KODA_RETRY_NONE;
}

enum koda_retry koda_retry_look(struct koda_conn *conn)
{
	unsigned char bytes[ALERTS_MAX * ALERT + HEAD + RANDOM];
	enum koda_retry retry;
	ssize_t n;

	if (!conn->down.readable)
		return KODA_RETRY_WAIT;
	n = recv(conn->origin.fd, bytes, sizeof(bytes), MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->down.readable = false;
		return KODA_RETRY_WAIT;
	}
	if (n <= 0)
		return KODA_RETRY_NONE;
	/* News comes with every byte; what is there stays there. */
	retry = judge(bytes, (size_t)n);
	return retry == KODA_RETRY_WAIT && conn->down.hung_up ? KODA_RETRY_NONE : retry;
}
