/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the host process and koda-egress: messages of one size, one in each datagram
 * of a SOCK_SEQPACKET socket, with descriptors in SCM_RIGHTS. The proxy's end is descriptor 3. The
 * proxy ends when the host closes its end.
 *
 *   host   ADD      id, flags, text: a token, with that flag; descriptors: listener, policy, [CA
 *                   certificate, CA key]
 *          RULES    id; descriptor: policy. It applies to new connections, and existing ones that
 *                   it refuses are closed
 *          REMOVE   id; the listener and all connections are closed
 *          ANSWER   id, question, verdict
 *   proxy  READY    locked, and ready for messages
 *          ADDED    id
 *          RULED    id: the new rules are in force
 *          REFUSED  id, text: why a message was refused; after ADD there is no such tenant, after
 *                   RULES the old rules stay in force. With id 0: the proxy cannot start, and ends
 *          GONE     id, dropped: no further messages about this id
 *          ASK      id, question, host, port
 *          EVENT    id and all other fields
 *
 * A policy is a sealed memory file with its canonical JSON text. Patterns of hosts whose TLS is not
 * terminated follow, each after a zero byte. Every text field has a terminator; longer text is
 * truncated.
 */
#ifndef KODA_WIRE_EGRESS_H
#define KODA_WIRE_EGRESS_H

#include <stddef.h>
#include <stdint.h>

#define KODA_EGRESS_CONTROL_FD 3
/* Exit status of the proxy when it cannot start, or when the host violates the protocol. */
#define KODA_EGRESS_FAILED 88
#define KODA_EGRESS_MAGIC  0x6b656732U /* of this layout */
#define KODA_EGRESS_FDS    4
/* Longest token, without its terminator. */
#define KODA_EGRESS_TOKEN_MAX 128

enum koda_egress_kind {
	KODA_EGRESS_ADD = 1,
	KODA_EGRESS_RULES,
	KODA_EGRESS_REMOVE,
	KODA_EGRESS_ANSWER,
	KODA_EGRESS_READY,
	KODA_EGRESS_ADDED,
	KODA_EGRESS_RULED,
	KODA_EGRESS_REFUSED,
	KODA_EGRESS_GONE,
	KODA_EGRESS_ASK,
	KODA_EGRESS_EVENT
};

enum koda_egress_flag {
	/* Of ADD. */
	KODA_EGRESS_CAN_ASK = 1U << 0, /* the host is asked about names that no rule covers */
	KODA_EGRESS_TOKEN = 1U << 1,   /* connections begin with a token */
	/* The policy's CA bundle has no key and is for clients to trust: TLS is not terminated, and
	 * no CA is sent. */
	KODA_EGRESS_TLS_PASSTHROUGH = 1U << 2
};

enum koda_egress_verdict {
	KODA_EGRESS_DENY = 0,
	KODA_EGRESS_ALLOW
};

/* Why a connection or request ended as it did. Columns: enumerator; verdict of the event, DENY if
 * the proxy refused; status of the HTTP answer; reply of the SOCKS5 answer (RFC 1928: 1 general
 * failure, 2 not allowed, 4 host unreachable); code for programs; text for people. Reasons that are
 * never an answer have 403 and 2. */
#define KODA_EGRESS_REASONS(X)                                                                     \
	X(OK, ALLOW, 403, 2, "ok", "allowed")                                                      \
	X(RULE_DENIED, DENY, 403, 2, "rule_denied", "a rule of denied_domains refuses this host")  \
	X(NOT_LISTED, DENY, 403, 2, "not_listed",                                                  \
	  "no rule of allowed_domains allows this host and port")                                  \
	X(ASK_DENIED, DENY, 403, 2, "ask_denied", "the user was asked and did not allow it")       \
	X(ADDRESS_GUARD, DENY, 403, 2, "address_guard",                                            \
	  "the address is not public and not listed")                                              \
	X(BAD_REQUEST, DENY, 400, 1, "bad_request", "the request is malformed")                    \
	X(BAD_METHOD, DENY, 405, 1, "bad_method", "the proxy does not serve this method")          \
	X(HEAD_TOO_LARGE, DENY, 431, 1, "head_too_large", "the head of the request is too large")  \
	X(MISDIRECTED, DENY, 421, 1, "misdirected",                                                \
	  "the request names another host than the connection")                                    \
	X(SNI_MISMATCH, DENY, 403, 2, "sni_mismatch",                                              \
	  "the TLS server name is not the host that was asked for")                                \
	X(BAD_HELLO, DENY, 400, 1, "bad_hello", "the TLS greeting is malformed")                   \
	X(ECH, DENY, 403, 2, "ech", "encrypted client hello hides the server name")                \
	X(RESOLVE_FAILED, ALLOW, 502, 4, "resolve_failed", "the name has no address")              \
	X(CONNECT_FAILED, ALLOW, 502, 1, "connect_failed", "the server cannot be reached")         \
	X(CONNECT_TIMEOUT, ALLOW, 504, 4, "connect_timeout", "the server does not answer")         \
	X(UPSTREAM_FAILED, ALLOW, 502, 1, "upstream_failed",                                       \
	  "the upstream proxy refused or failed")                                                  \
	X(BAD_RESPONSE, ALLOW, 502, 1, "bad_response", "the server's response is malformed")       \
	X(TLS_FAILED, ALLOW, 502, 1, "tls_failed", "the TLS connection failed")                    \
	X(CLIENT_TIMEOUT, DENY, 408, 1, "client_timeout",                                          \
	  "the client did not finish its request in time")                                         \
	X(IDLE, ALLOW, 504, 1, "idle", "nothing was sent for too long")                            \
	X(NO_TOKEN, DENY, 503, 1, "no_token", "the connection does not come from the sandbox")     \
	X(LIMIT, DENY, 503, 1, "limit", "too many connections")                                    \
	X(RULES_CHANGED, DENY, 403, 2, "rules_changed",                                            \
	  "the rules changed and refuse this host now")                                            \
	X(REMOVED, ALLOW, 403, 2, "removed", "the sandbox ended")                                  \
	X(RESET, ALLOW, 502, 1, "reset", "a side broke the connection off")                        \
	X(NO_MEMORY, ALLOW, 503, 1, "no_memory", "the proxy is out of memory")                     \
	X(PROXY_FAILED, ALLOW, 403, 2, "proxy_failed",                                             \
	  "the proxy ended, and its connections with it")                                          \
	X(EVENTS_LOST, ALLOW, 403, 2, "events_lost", "events were lost, because they were not read")

enum koda_egress_reason {
#define KODA_EGRESS_REASON_ENUM(name, ...) KODA_EGRESS_##name,
	KODA_EGRESS_REASONS(KODA_EGRESS_REASON_ENUM)
#undef KODA_EGRESS_REASON_ENUM
	KODA_EGRESS_REASON_COUNT
};

/* Descriptors of an ADD, in this order. */
enum koda_egress_fd {
	KODA_EGRESS_FD_LISTENER,
	KODA_EGRESS_FD_POLICY,
	KODA_EGRESS_FD_CA,
	KODA_EGRESS_FD_CA_KEY
};

struct koda_egress_message {
	uint32_t magic;
	uint32_t kind;
	uint32_t id; /* of the tenant; the host chooses it */
	uint32_t flags;
	uint32_t question; /* ASK, ANSWER */
	uint32_t verdict;  /* ANSWER, EVENT */
	uint32_t reason;   /* EVENT */
	uint32_t dropped;  /* EVENT, GONE: events of this tenant that were lost before it,
			    * because the host did not read */
	uint64_t bytes_up; /* EVENT: from the sandbox */
	uint64_t bytes_down;
	uint32_t ms;
	uint16_t port;
	uint16_t status;    /* EVENT of a request: of the response; 0 if there was none */
	char method[16];    /* EVENT of a request */
	char address[48];   /* of the origin; may be empty */
	char host[256];     /* canonical */
	char rule[272];     /* that decided; may be empty */
	char path[256];     /* EVENT of a request, without the query */
	char tls_name[256]; /* EVENT: server name of TLS, if it is not host; may be empty */
	char text[160];     /* ADD: token; REFUSED; EVENT: detail, may be empty */
};

_Static_assert(sizeof(struct koda_egress_message) == 1320, "the layout is fixed");

#endif
