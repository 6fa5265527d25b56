/* SPDX-License-Identifier: MIT */
#include "conn/hello_retry.h"

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
#define RETRY_REQUEST    6  /* a message type of its own in drafts of TLS 1.3 */
#define HEAD             11 /* header of the record, header of the message, version */
#define RANDOM           32

/* RFC 8446, 4.1.3: the random bytes that mark a HelloRetryRequest. */
static const unsigned char asks_again[RANDOM] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

/* Judges the beginning of the origin's answer; WAIT if it is too short. A HelloRetryRequest in
 * fragments, which no server sends, counts as ASKED: then only a valid ClientHello passes. */
static enum egress_retry judge(const unsigned char *p, size_t len)
{
	size_t alerts = 0;

	/* Some servers send a warning alert about an unknown name, and continue. */
	while (len > RECORD_HEAD && p[0] == RECORD_ALERT && p[RECORD_HEAD] == ALERT_WARNING) {
		if (len < ALERT)
			return EGRESS_RETRY_WAIT;
		if (++alerts == ALERTS_MAX)
			return EGRESS_RETRY_ASKED;
		p += ALERT;
		len -= ALERT;
	}
	if (len > 0 && p[0] != RECORD_HANDSHAKE && (p[0] != RECORD_ALERT || len > RECORD_HEAD))
		return EGRESS_RETRY_NONE;
	if (len <= RECORD_HEAD)
		return EGRESS_RETRY_WAIT;
	if (p[RECORD_HEAD] != SERVER_HELLO)
		return p[RECORD_HEAD] == RETRY_REQUEST ? EGRESS_RETRY_ASKED : EGRESS_RETRY_NONE;
	if (((size_t)p[3] << 8 | p[4]) < HEAD + RANDOM - RECORD_HEAD)
		return EGRESS_RETRY_ASKED;
	if (len < HEAD + RANDOM)
		return EGRESS_RETRY_WAIT;
	return memcmp(p + HEAD, asks_again, RANDOM) == 0 ? EGRESS_RETRY_ASKED : EGRESS_RETRY_NONE;
}

enum egress_retry egress_hello_retry_look(struct egress_conn *conn)
{
	unsigned char bytes[ALERTS_MAX * ALERT + HEAD + RANDOM];
	enum egress_retry retry;
	ssize_t n;

	if (!conn->down.readable)
		return EGRESS_RETRY_WAIT;
	n = recv(conn->origin.fd, bytes, sizeof(bytes), MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->down.readable = false;
		return EGRESS_RETRY_WAIT;
	}
	if (n <= 0)
		return EGRESS_RETRY_NONE;
	/* MSG_PEEK leaves the bytes; every further byte causes an epoll event. */
	retry = judge(bytes, (size_t)n);
	return retry == EGRESS_RETRY_WAIT && conn->down.hung_up ? EGRESS_RETRY_NONE : retry;
}
