/* SPDX-License-Identifier: MIT */
#include "proto/socks5.h"

#include <errno.h>

#define VERSION      5
#define NO_AUTH      0
#define CMD_CONNECT  1
#define CMD_UDP      3
#define TYPE_IPV4    1
#define TYPE_NAME    3
#define TYPE_IPV6    4
#define REQUEST_HEAD 4 /* version, command, reserved, address type */

static const char accept_no_auth[] = { VERSION, NO_AUTH };
static const char accept_none[] = { VERSION, (char)0xff };

/* Version, reply, reserved, and 0.0.0.0:0 instead of the bound address, which clients need not
 * know. */
#define REPLY(code)                                                                                \
	{                                                                                          \
		VERSION, (code), 0, TYPE_IPV4, 0, 0, 0, 0, 0, 0                                    \
	}
#define REPLY_LEN 10
static const char replies[][REPLY_LEN] = { REPLY(0), REPLY(1), REPLY(2), REPLY(3), REPLY(4),
					   REPLY(5), REPLY(6), REPLY(7), REPLY(8) };

struct koda_span egress_socks5_answer(enum egress_socks_reply reply)
{
	size_t i = (size_t)reply < KODA_ARRAY_LEN(replies) ? (size_t)reply : EGRESS_SOCKS_FAILURE;

	return (struct koda_span){ replies[i], REPLY_LEN };
}

enum egress_socks_reply egress_socks5_reply_for(int sys_errno)
{
	switch (sys_errno) {
	case ECONNREFUSED:
		return EGRESS_SOCKS_REFUSED;
	case ENETUNREACH:
	case ENETDOWN:
		return EGRESS_SOCKS_NET_UNREACHABLE;
	case EHOSTUNREACH:
	case EHOSTDOWN:
		return EGRESS_SOCKS_HOST_UNREACHABLE;
	case ETIMEDOUT:
		return EGRESS_SOCKS_TTL_EXPIRED;
	case EACCES:
	case EPERM:
		return EGRESS_SOCKS_NOT_ALLOWED;
	default:
		return EGRESS_SOCKS_FAILURE;
	}
}

static enum egress_socks_event end(struct egress_socks *socks, struct egress_socks_output *out,
				   struct koda_span bytes, const char *code)
{
	(void)egress_latch_fall(&socks->latch, EGRESS_SOCKS_CLOSE);
	out->bytes = bytes;
	out->code = code;
	return EGRESS_SOCKS_CLOSE;
}

static enum egress_socks_event end_with(struct egress_socks *socks, struct egress_socks_output *out,
					enum egress_socks_reply reply, const char *code)
{
	return end(socks, out, egress_socks5_answer(reply), code);
}

static const struct koda_span nothing;

/* Reads version, number of methods, methods. */
static enum egress_socks_event greet(struct egress_socks *socks, struct koda_span *in,
				     struct egress_socks_output *out)
{
	const unsigned char *p = (const unsigned char *)in->ptr;
	size_t len;
	bool ok;

	if (in->len >= 1 && p[0] != VERSION)
		return end(socks, out, nothing, "bad_socks_version");
	if (in->len < 2)
		return EGRESS_SOCKS_MORE;
	len = 2 + (size_t)p[1];
	if (in->len < len)
		return EGRESS_SOCKS_MORE;
	ok = p[1] > 0 && memchr(p + 2, NO_AUTH, p[1]) != NULL;
	*in = koda_span_skip(*in, len);
	if (!ok)
		return end(socks, out, (struct koda_span){ accept_none, sizeof(accept_none) },
			   "socks_no_method");
	socks->greeted = true;
	out->bytes = (struct koda_span){ accept_no_auth, sizeof(accept_no_auth) };
	return EGRESS_SOCKS_SEND;
}

/* Returns the length of the address (with a length byte for names); 0 for an unknown type, SIZE_MAX
 * if the length byte is missing. */
static size_t address_len(const unsigned char *p, size_t available)
{
	switch (p[3]) {
	case TYPE_IPV4:
		return 4;
	case TYPE_IPV6:
		return 16;
	case TYPE_NAME:
		return available > REQUEST_HEAD ? 1 + (size_t)p[REQUEST_HEAD] : SIZE_MAX;
	default:
		return 0;
	}
}

static bool read_host(unsigned char type, const unsigned char *p, size_t len,
		      struct koda_host *host)
{
	struct koda_addr addr = { .family = type == TYPE_IPV4 ? 4 : 6 };

	if (type == TYPE_NAME) {
		/* Addresses have types of their own, but some clients send them as text. */
		return koda_host_parse((struct koda_span){ (const char *)p + 1, len - 1 }, host,
				       NULL) >= 0;
	}
	memcpy(addr.bytes, p, len);
	*host = (struct koda_host){ .is_addr = true, .addr = koda_addr_unmap(&addr) };
	return true;
}

/* Reads version, command, reserved, address type, address, port. */
static enum egress_socks_event request(struct egress_socks *socks, struct koda_span *in,
				       struct egress_socks_output *out)
{
	const unsigned char *p = (const unsigned char *)in->ptr;
	unsigned char command;
	size_t len;
	bool ok;

	if (in->len >= 1 && p[0] != VERSION)
		return end(socks, out, nothing, "bad_socks_version");
	if (in->len < REQUEST_HEAD)
		return EGRESS_SOCKS_MORE;
	command = p[1];
	if (command < CMD_CONNECT || command > CMD_UDP || p[2] != 0)
		return end_with(socks, out, p[2] ? EGRESS_SOCKS_FAILURE : EGRESS_SOCKS_NO_COMMAND,
				"bad_socks_request");
	len = address_len(p, in->len);
	if (len == 0)
		return end_with(socks, out, EGRESS_SOCKS_NO_ADDRESS_TYPE, "bad_socks_address");
	if (len == SIZE_MAX || in->len < REQUEST_HEAD + len + 2)
		return EGRESS_SOCKS_MORE;
	*in = koda_span_skip(*in, REQUEST_HEAD + len + 2);
	if (command != CMD_CONNECT)
		return end_with(socks, out, EGRESS_SOCKS_NO_COMMAND, "socks_no_command");
	out->port = (uint16_t)(p[REQUEST_HEAD + len] << 8 | p[REQUEST_HEAD + len + 1]);
	ok = read_host(p[3], p + REQUEST_HEAD, len, &out->host);
	if (!ok || out->port == 0)
		return end_with(socks, out, EGRESS_SOCKS_FAILURE, "bad_host");
	(void)egress_latch_fall(&socks->latch, EGRESS_SOCKS_CLOSE);
	return EGRESS_SOCKS_CONNECT;
}

enum egress_socks_event egress_socks5_next(struct egress_socks *socks, struct koda_span *in,
					   struct egress_socks_output *out)
{
	out->bytes = nothing;
	out->code = NULL;
	if (socks->latch.fallen)
		return end(socks, out, nothing, "socks_over");
	return socks->greeted ? request(socks, in, out) : greet(socks, in, out);
}
