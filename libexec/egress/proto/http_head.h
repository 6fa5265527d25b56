/* SPDX-License-Identifier: MIT */
/*
 * A strict parser of HTTP/1 heads. It refuses everything that two parsers could understand
 * differently: the proxy decides by what it parsed, so the origin must not see anything else.
 *
 * Parsing has two steps. The scan finds the end of a head while bytes arrive, and stores a few
 * numbers. The parser then reads the whole head once and copies nothing; its spans point into the
 * bytes. Parsing the bytes again gives an equal result.
 */
#ifndef KODA_EGRESS_PROTO_HTTP_HEAD_H
#define KODA_EGRESS_PROTO_HTTP_HEAD_H

#include "proto/answer.h"
#include "proto/latch.h"

#include "policy/host.h"

#define EGRESS_HEAD_MAX    ((size_t)64 * 1024) /* first line, headers and the empty line */
#define EGRESS_HEADERS_MAX 200
#define EGRESS_METHOD_MAX  24
/* Bytes by which a written head may exceed the one that was parsed. */
#define EGRESS_HEAD_EXTRA ((size_t)4096)

/* Zero it for a new head. */
struct egress_head_scan {
	uint32_t at;               /* bytes scanned */
	uint32_t lines;            /* complete lines among them */
	struct egress_latch latch; /* egress_parse */
};

/* Scans bytes, which is everything received since the first byte of the head; it may have moved in
 * memory since the last call. DONE: *ret_len is the length of the head with its empty line. BAD:
 * *why says why (400 for a bare CR or LF and an empty first line, 431 for too much). Both are
 * final; another head needs another scan. */
enum egress_parse egress_head_find(struct egress_head_scan *scan, struct koda_span bytes,
				   size_t *ret_len, struct egress_refusal *why);

/* Headers that the proxy evaluates. */
enum egress_name {
	EGRESS_NAME_OTHER = 0,
	EGRESS_NAME_HOST,
	EGRESS_NAME_CONTENT_LENGTH,
	EGRESS_NAME_TRANSFER_ENCODING,
	EGRESS_NAME_CONNECTION,
	EGRESS_NAME_UPGRADE,
	EGRESS_NAME_EXPECT,
	EGRESS_NAME_HOP /* for one hop only; never forwarded */
};
/* Returns which header this is; the case of letters is ignored. */
enum egress_name egress_http_field_name(struct koda_span name);

struct egress_header {
	struct koda_span name;
	struct koda_span value; /* without surrounding blanks */
	enum egress_name kind;
	bool hop; /* named by Connection */
};

enum egress_form {
	EGRESS_FORM_ORIGIN = 0, /* /path?query */
	EGRESS_FORM_ABSOLUTE,   /* http://host/path?query */
	EGRESS_FORM_AUTHORITY,  /* host:port, CONNECT only */
	EGRESS_FORM_ASTERISK    /* *, OPTIONS only */
};

enum egress_framing {
	EGRESS_BODY_NONE = 0,
	EGRESS_BODY_LENGTH,
	EGRESS_BODY_CHUNKED,
	EGRESS_BODY_CLOSE /* responses only: until the connection ends */
};

struct egress_head {
	unsigned int minor; /* HTTP/1.minor, 0 or 1 */
	/* Requests. */
	struct koda_span method;
	struct koda_span target; /* as sent */
	enum egress_form form;
	bool tls;              /* absolute form with https */
	struct koda_span path; /* with query; may be empty or begin with "?" in absolute form */
	struct koda_host host; /* of the target, or of Host in origin and asterisk form */
	uint16_t port;         /* 0: neither the target (or Host) nor the scheme says it */
	bool has_host;         /* host and port are set; false only for HTTP/1.0 origin form */
	/* Responses. */
	int status;
	struct koda_span reason;
	/* Both. */
	enum egress_framing framing; /* as the headers say; see egress_head_response_body */
	uint64_t length;             /* EGRESS_BODY_LENGTH */
	bool close;                  /* Connection: close, or HTTP/1.0 */
	bool upgrade; /* Connection: upgrade, and Upgrade names a protocol that may pass (never
			 HTTP, which would not be checked) */
	bool expect;  /* Expect: 100-continue */
	size_t count;
	struct egress_header headers[EGRESS_HEADERS_MAX];
};

/* Parses bytes, which is exactly one head, as long as egress_head_find said. Returns false with
 * *why; of *head only method is valid then (empty if it was not parsed). */
bool egress_head_request(struct koda_span bytes, struct egress_head *head,
			 struct egress_refusal *why);
/* Like egress_head_request, for an origin's response; the status of *why is 502. */
bool egress_head_response(struct koda_span bytes, struct egress_head *head,
			  struct egress_refusal *why);

/* Returns whether the request has a body. Some origins do not read it. */
static inline bool egress_head_has_body(const struct egress_head *request)
{
	return request->framing == EGRESS_BODY_CHUNKED ||
	       (request->framing == EGRESS_BODY_LENGTH && request->length > 0);
}

/* Returns the framing of a response: HEAD, 1xx, 204 and 304 have no body; without length or coding
 * the body ends with the connection. */
enum egress_framing egress_head_response_body(const struct egress_head *response, bool to_head);

/* Writes a name, IPv4 address or bracketed IPv6 address, with ":port" unless port is 0, and a
 * terminator. Returns the length. */
#define EGRESS_AUTHORITY_MAX (KODA_HOST_NAME_MAX + 8)
size_t egress_http_write_authority(const struct koda_host *host, uint16_t port,
				   char out[static EGRESS_AUTHORITY_MAX]);
bool egress_http_target_same_host(const struct koda_host *a, const struct koda_host *b);

/* How a request reaches its origin. */
struct egress_route {
	bool via_proxy;        /* through an upstream HTTP proxy: absolute form */
	struct koda_span auth; /* value of Proxy-Authorization for it; may be empty. Borrowed */
};

/* Appends the request for the next hop: origin form (absolute form for a proxy), one Host, no hop-
 * by-hop header, no Via. head->port and head->tls must be those of the origin. close asks the next
 * hop to close the connection. The limit of out must be at least EGRESS_HEAD_MAX +
 * EGRESS_HEAD_EXTRA. Fails: LIMIT, NOMEM. */
KODA_CHECK int egress_head_write_request(const struct egress_head *head,
					 const struct egress_route *route, bool close,
					 struct koda_buf *out);
/* Appends the response for the client, like egress_head_write_request. */
KODA_CHECK int egress_head_write_response(const struct egress_head *head, bool close,
					  struct koda_buf *out);

#endif
