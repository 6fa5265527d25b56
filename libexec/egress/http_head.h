/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1 heads, strictly. Whatever two readers could understand differently is refused: the proxy
 * decides by what it read, so the origin must not be able to read something else.
 *
 * Reading has two steps. The scan finds the end of a head while bytes trickle in and remembers a
 * few numbers only; the parser then looks at the whole head once, copies nothing, and its spans
 * point into the bytes it was given. Parsing the same bytes again gives the same result.
 */
#ifndef EGRESS_HTTP_HEAD_H
#define EGRESS_HTTP_HEAD_H

#include "answer.h"

#include "policy/host.h"

#define EGRESS_HEAD_MAX    ((size_t)64 * 1024) /* first line, headers and the empty line */
#define EGRESS_HEADERS_MAX 200
#define EGRESS_METHOD_MAX  24
/* What a serialised head may need beyond the one it was made from. */
#define EGRESS_HEAD_EXTRA ((size_t)4096)

/* All zero for a new head. */
struct egress_head_scan {
	uint32_t at;    /* bytes looked at */
	uint32_t lines; /* complete lines among them */
};

/* bytes is everything received from the first byte of the head on; it may have moved in memory
 * since the last call. DONE: *ret_len is the length of the head, its empty line included. BAD:
 * *why says so (400 for a bare CR or LF and an empty first line, 431 for too much). */
enum egress_parse egress_head_find(struct egress_head_scan *scan, struct koda_span bytes,
				   size_t *ret_len, struct egress_refusal *why);

/* Headers that mean something to a proxy. */
enum egress_name {
	EGRESS_NAME_OTHER = 0,
	EGRESS_NAME_HOST,
	EGRESS_NAME_CONTENT_LENGTH,
	EGRESS_NAME_TRANSFER_ENCODING,
	EGRESS_NAME_CONNECTION,
	EGRESS_NAME_UPGRADE,
	EGRESS_NAME_EXPECT,
	EGRESS_NAME_HOP /* for one hop only, whatever Connection says; never forwarded */
};
/* Which one it is, in any case of letters. */
enum egress_name egress_head_name(struct koda_span name);

struct egress_header {
	struct koda_span name;
	struct koda_span value; /* without blanks around it */
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
	bool tls;              /* the absolute form says https */
	struct koda_span path; /* with query; may be empty or begin with "?" in absolute form */
	struct koda_host host; /* of the target, or of Host for origin and asterisk form */
	uint16_t port;         /* 0: the target (or Host) names none and its scheme is unknown */
	bool has_host;         /* host and port are set; false only for HTTP/1.0 origin form */
	/* Responses. */
	int status;
	struct koda_span reason;
	/* Both. */
	enum egress_framing framing; /* as the headers say; see egress_head_response_body */
	uint64_t length;             /* EGRESS_BODY_LENGTH */
	bool close;                  /* Connection: close, or HTTP/1.0 */
	bool upgrade; /* Connection: upgrade, and Upgrade names a protocol that we let
		       * through (never HTTP itself: it would go unchecked) */
	bool expect;  /* Expect: 100-continue */
	size_t count;
	struct egress_header headers[EGRESS_HEADERS_MAX];
};

/* bytes is exactly one head, as long as egress_head_find said. On false *why is filled in, and of
 * *head only method may be looked at (empty if not even that was read). */
bool egress_head_request(struct koda_span bytes, struct egress_head *head,
			 struct egress_refusal *why);
/* The same for what an origin sent; the status of *why is 502. */
bool egress_head_response(struct koda_span bytes, struct egress_head *head,
			  struct egress_refusal *why);

/* The framing of a response, which depends on the request: HEAD, 1xx, 204 and 304 have no body,
 * and without length or coding it goes until close. */
enum egress_framing egress_head_response_body(const struct egress_head *response, bool to_head);

/* Name, dotted quad or bracketed IPv6 address, with ":port" unless port is 0. Returns its length;
 * out is NUL-terminated. */
#define EGRESS_AUTHORITY_MAX (KODA_HOST_NAME_MAX + 8)
size_t egress_head_authority(const struct koda_host *host, uint16_t port,
			     char out[static EGRESS_AUTHORITY_MAX]);
bool egress_head_same_host(const struct koda_host *a, const struct koda_host *b);

/* Where a request goes. */
struct egress_route {
	bool via_proxy;        /* an upstream HTTP proxy: absolute form */
	struct koda_span auth; /* value of Proxy-Authorization for it; may be empty. Borrowed */
};

/* Appends the request for the next hop: origin form (absolute for a proxy), one Host, no hop-by-hop
 * header, no Via. head->port and head->tls have to be what the request is sent to. close asks the
 * next hop to close afterwards. out's ceiling has to be at least
 * EGRESS_HEAD_MAX + EGRESS_HEAD_EXTRA. Fails: LIMIT, NOMEM. */
KODA_CHECK int egress_head_write_request(const struct egress_head *head,
					 const struct egress_route *route, bool close,
					 struct koda_buf *out);
/* Appends the response for the client in the same way. */
KODA_CHECK int egress_head_write_response(const struct egress_head *head, bool close,
					  struct koda_buf *out);

#endif
