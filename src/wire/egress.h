/* SPDX-License-Identifier: MIT */
/*
 * What the host process and koda-egress say to each other: records of one size, one to a datagram
 * of a SOCK_SEQPACKET socket, descriptors beside them. The proxy finds its end on descriptor 3, and
 * ends when the other end closes.
 *
 *   host   ADD      id, flags, text: a token, with that flag; descriptors: listener, policy, [CA
 *                   certificate, CA key]
 *          RULES    id; descriptor: policy. New connections meet it, and existing ones that it
 *                   would refuse are closed
 *          REMOVE   id; its listener and connections are closed
 *          ANSWER   id, question, verdict
 *   proxy  READY    locked down, and taking orders
 *          ADDED    id
 *          RULED    id: the new rules are in force
 *          REFUSED  id, text: why an order was not followed; an ADD leaves nothing behind, RULES
 *                   leaves the old ones in force. With id 0: nobody can be served, and it ends
 *          GONE     id, dropped: nothing more comes about it
 *          ASK      id, question, host, port
 *          EVENT    id and everything else
 *
 * A policy is a sealed memory file with the canonical JSON text, and behind it, each after a zero
 * byte, the patterns of hosts whose TLS is not terminated although the policy does that. Every text
 * field holds a terminator; what is longer is cut.
 */
#ifndef KODA_WIRE_EGRESS_H
#define KODA_WIRE_EGRESS_H

#include <stddef.h>
#include <stdint.h>

#define KODA_EGRESS_CONTROL_FD 3
/* Exit status of the proxy when it cannot start, or when the host breaks the agreement. */
#define KODA_EGRESS_FAILED 88
#define KODA_EGRESS_MAGIC  0x6b656731U /* of this layout */
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
	KODA_EGRESS_CAN_ASK = 1U << 0, /* ADD: names that no rule speaks of are asked about */
	KODA_EGRESS_TOKEN = 1U << 1    /* ADD: connections begin with a token */
};

enum koda_egress_verdict {
	KODA_EGRESS_DENY = 0,
	KODA_EGRESS_ALLOW
};

/* Why a connection or request ended as it did: enumerator, code as printed, text for people. */
#define KODA_EGRESS_REASONS(X)                                                                     \
	X(OK, "ok", "allowed")                                                                     \
	X(RULE_DENIED, "rule_denied", "a rule of denied_domains refuses this host")                \
	X(NOT_LISTED, "not_listed", "no rule of allowed_domains allows this host and port")        \
	X(ASK_DENIED, "ask_denied", "the user was asked and did not allow it")                     \
	X(ADDRESS_GUARD, "address_guard", "the address is not public and not listed")              \
	X(BAD_REQUEST, "bad_request", "the request is malformed")                                  \
	X(BAD_METHOD, "bad_method", "the proxy does not serve this method")                        \
	X(HEAD_TOO_LARGE, "head_too_large", "the head of the request is too large")                \
	X(MISDIRECTED, "misdirected", "the request names another host than the connection")        \
	X(SNI_MISMATCH, "sni_mismatch", "the TLS server name is not the host that was asked for")  \
	X(BAD_HELLO, "bad_hello", "the TLS greeting is malformed")                                 \
	X(ECH, "ech", "encrypted client hello hides the server name")                              \
	X(RESOLVE_FAILED, "resolve_failed", "the name has no address")                             \
	X(CONNECT_FAILED, "connect_failed", "the server cannot be reached")                        \
	X(CONNECT_TIMEOUT, "connect_timeout", "the server does not answer")                        \
	X(UPSTREAM_FAILED, "upstream_failed", "the upstream proxy refused or failed")              \
	X(BAD_RESPONSE, "bad_response", "the server's response is malformed")                      \
	X(TLS_FAILED, "tls_failed", "the TLS connection failed")                                   \
	X(CLIENT_TIMEOUT, "client_timeout", "the client did not finish its request in time")       \
	X(IDLE, "idle", "nothing was sent for too long")                                           \
	X(NO_TOKEN, "no_token", "the connection does not come from the sandbox")                   \
	X(LIMIT, "limit", "too many connections")                                                  \
	X(RULES_CHANGED, "rules_changed", "the rules changed and refuse this host now")            \
	X(REMOVED, "removed", "the sandbox ended")                                                 \
	X(RESET, "reset", "a side broke the connection off")                                       \
	X(NO_MEMORY, "no_memory", "the proxy is out of memory")                                    \
	X(PROXY_FAILED, "proxy_failed", "the proxy ended, and its connections with it")            \
	X(EVENTS_LOST, "events_lost", "events were lost, because nobody read them")

enum koda_egress_reason {
#define KODA_EGRESS_REASON_ENUM(name, code, text) KODA_EGRESS_##name,
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
	uint32_t id; /* of the sandbox; the host chooses it */
	uint32_t flags;
	uint32_t question; /* ASK, ANSWER */
	uint32_t verdict;  /* ANSWER, EVENT */
	uint32_t reason;   /* EVENT */
	uint32_t dropped;  /* EVENT, GONE: events of this sandbox that were lost before it,
			    * because nobody read them */
	uint64_t bytes_up; /* EVENT: from the sandbox */
	uint64_t bytes_down;
	uint32_t ms;
	uint16_t port;
	uint16_t status;  /* EVENT of a request: of the response; 0 if there was none */
	char method[16];  /* EVENT of a request */
	char address[48]; /* that was connected to; may be empty */
	char host[256];   /* canonical */
	char rule[272];   /* that decided; may be empty */
	char path[256];   /* EVENT of a request, without the query */
	char text[160];   /* ADD: token; REFUSED; EVENT: detail, may be empty */
};

_Static_assert(sizeof(struct koda_egress_message) == 1064, "the layout is fixed");

#endif
