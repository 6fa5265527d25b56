/* SPDX-License-Identifier: MIT */
/* T-72. Finds the server name of a ClientHello. */
#include "proto/hello.h"

#define RECORD_HEAD         5
#define RECORD_FIRST        0x14 /* change_cipher_spec */
#define RECORD_LAST         0x18 /* heartbeat */
#define RECORD_HANDSHAKE    22
#define RECORD_DATA         23
#define RECORD_MAX          16384
#define HANDSHAKE_HEAD      4
#define CLIENT_HELLO        1
#define EXT_SERVER_NAME     0
#define EXT_ALPN            16
#define EXT_VERSIONS        43
#define EXT_ESNI            0xffce
#define EXT_ECH_OLD_FIRST   0xff02 /* drafts 7 and 8 */
#define EXT_ECH_OLD_LAST    0xff03
#define EXT_ECH_DRAFT_FIRST 0xfe08 /* later drafts: 0xfe00 and the draft's number */
#define EXT_ECH             0xfe0d
#define NAME_HOST           0
#define TLS_1_2             0x0303
#define RANDOM_LEN          32
#define SESSION_MAX         32

/* Unread bytes. A read beyond the end sets bad; all later reads fail too. */
struct cursor {
	const unsigned char *at;
	size_t left;
	bool bad;
};

static const unsigned char *take(struct cursor *c, size_t len)
{
	const unsigned char *at = c->at;

	if (c->bad || len > c->left) {
		c->bad = true;
		c->left = 0;
		return NULL;
	}
	c->at += len;
	c->left -= len;
	return at;
}

static unsigned int take_number(struct cursor *c, size_t bytes)
{
	const unsigned char *p = take(c, bytes);
	unsigned int n = 0;

	for (size_t i = 0; p && i < bytes; i++)
		n = n << 8 | p[i];
	return n;
}

/* Returns a vector (length and bytes) as a cursor. */
static struct cursor take_vector(struct cursor *c, size_t length_bytes)
{
	size_t len = take_number(c, length_bytes);
	const unsigned char *at = take(c, len);

	return (struct cursor){ .at = at, .left = at ? len : 0, .bad = c->bad };
}

/* Accepts exactly one host name: servers could disagree about which of two counts. */
static bool read_name(struct cursor ext, struct egress_hello *hello)
{
	struct cursor list = take_vector(&ext, 2);
	unsigned int type = take_number(&list, 1);
	struct cursor name = take_vector(&list, 2);

	if (ext.bad || ext.left || list.bad || list.left || name.bad || type != NAME_HOST)
		return false;
	if (hello->has_name || name.left == 0 || name.left > EGRESS_HELLO_NAME_MAX ||
	    memchr(name.at, 0, name.left))
		return false;
	memcpy(hello->name, name.at, name.left);
	hello->name[name.left] = '\0';
	hello->name_len = name.left;
	hello->has_name = true;
	return true;
}

static bool read_alpn(struct cursor ext, struct egress_hello *hello)
{
	struct cursor list = take_vector(&ext, 2);
	struct cursor walk = list;

	if (ext.bad || ext.left || hello->alpn_len || list.left == 0 ||
	    list.left > EGRESS_HELLO_ALPN_MAX)
		return false;
	while (walk.left && !walk.bad)
		if (take_vector(&walk, 1).left == 0)
			return false;
	if (walk.bad)
		return false;
	memcpy(hello->alpn, list.at, list.left);
	hello->alpn_len = list.left;
	return true;
}

static bool read_versions(struct cursor ext, struct egress_hello *hello, bool *seen)
{
	struct cursor list = take_vector(&ext, 1);
	uint16_t best = 0;

	if (*seen || ext.bad || ext.left || list.left == 0 || list.left % 2)
		return false;
	*seen = true;
	while (list.left) {
		uint16_t version = (uint16_t)take_number(&list, 2);

		/* 0x?A?A are GREASE (RFC 8701), 0x7f?? drafts of TLS 1.3. */
		if (version >> 8 == 3 && version > best)
			best = version;
		hello->retriable = hello->retriable || version > TLS_1_2;
	}
	hello->version = best;
	return best != 0;
}

static const char *read_extensions(struct cursor all, struct egress_hello *hello)
{
	bool versions = false;

	while (all.left && !all.bad) {
		unsigned int type = take_number(&all, 2);
		struct cursor ext = take_vector(&all, 2);

		if (ext.bad)
			return "bad_client_hello";
		if (type == EXT_SERVER_NAME && !read_name(ext, hello))
			return "bad_sni";
		if (type == EXT_ALPN && !read_alpn(ext, hello))
			return "bad_alpn";
		if (type == EXT_VERSIONS && !read_versions(ext, hello, &versions))
			return "bad_client_hello";
		if (type == EXT_ESNI || (type >= EXT_ECH_DRAFT_FIRST && type <= EXT_ECH) ||
		    (type >= EXT_ECH_OLD_FIRST && type <= EXT_ECH_OLD_LAST))
			hello->ech = true;
	}
	return all.bad ? "bad_client_hello" : NULL;
}

/* Parses the handshake message without its header. Returns a code if it is invalid, else NULL. */
static const char *read_message(const unsigned char *message, size_t len,
				struct egress_hello *hello)
{
	struct cursor c = { .at = message, .left = len };
	struct cursor session;
	struct cursor ciphers;
	struct cursor compression;
	struct cursor extensions;

	hello->version = (uint16_t)take_number(&c, 2);
	hello->retriable = hello->version > TLS_1_2;
	(void)take(&c, RANDOM_LEN);
	session = take_vector(&c, 1);
	ciphers = take_vector(&c, 2);
	compression = take_vector(&c, 1);
	if (c.bad || hello->version >> 8 != 3 || session.left > SESSION_MAX || ciphers.left < 2 ||
	    ciphers.left % 2 || compression.left == 0)
		return "bad_client_hello";
	if (c.left == 0)
		return NULL; /* TLS 1.1 and older may have no extensions */
	extensions = take_vector(&c, 2);
	if (c.bad || c.left)
		return "bad_client_hello";
	return read_extensions(extensions, hello);
}

/* Joins a message that is spread over several records, which were scanned. */
static const char *gather(struct koda_span raw, size_t need, struct egress_hello *hello)
{
	const unsigned char *p = (const unsigned char *)raw.ptr;
	unsigned char message[EGRESS_HELLO_MAX];
	size_t have = 0;
	size_t at = 0;

	while (have < need) {
		size_t len = (size_t)p[at + 3] << 8 | p[at + 4];

		memcpy(message + have, p + at + RECORD_HEAD, len);
		have += len;
		at += RECORD_HEAD + len;
	}
	return read_message(message + HANDSHAKE_HEAD, need - HANDSHAKE_HEAD, hello);
}

/* Returns the length in the handshake header, which may be spread over records; 0: incomplete. */
static uint32_t message_len(struct koda_span raw, uint32_t end)
{
	const unsigned char *p = (const unsigned char *)raw.ptr;
	unsigned char head[HANDSHAKE_HEAD];
	size_t have = 0;
	size_t at = 0;

	while (at < end && have < sizeof(head)) {
		size_t len = (size_t)p[at + 3] << 8 | p[at + 4];

		for (size_t i = 0; i < len && have < sizeof(head); i++)
			head[have++] = p[at + RECORD_HEAD + i];
		at += RECORD_HEAD + len;
	}
	if (have < sizeof(head))
		return 0;
	return HANDSHAKE_HEAD + ((uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3]);
}

/* Refuses the hello of SSL 2, which some servers accept, and which has no server name. */
static enum egress_hello_state scan_old(const unsigned char *p, size_t left)
{
	if (left < 4 && (left < 3 || p[2] == CLIENT_HELLO))
		return EGRESS_HELLO_MORE;
	return p[2] == CLIENT_HELLO && (p[3] == 3 || p[3] == 0) ? EGRESS_HELLO_BAD
								: EGRESS_HELLO_NOT_TLS;
}

/* Scans the record at scan->at. At least one byte of the record was received. */
static enum egress_hello_state scan_record(struct egress_hello_scan *scan, struct koda_span raw,
					   const char **ret_code)
{
	const unsigned char *p = (const unsigned char *)raw.ptr + scan->at;
	size_t left = raw.len - scan->at;
	size_t len;

	*ret_code = "bad_tls_record";
	if (scan->at == 0 && (p[0] & 0x80))
		return scan_old(p, left);
	if (scan->at == 0 && (p[0] < RECORD_FIRST || p[0] > RECORD_LAST))
		return EGRESS_HELLO_NOT_TLS;
	/* Some servers skip records of other types before the ClientHello, and ignore the version
	 * of the first record. So these are refused: a ClientHello that is not parsed would hide
	 * its name. */
	if (p[0] != RECORD_HANDSHAKE || (left > 1 && p[1] != 3))
		return EGRESS_HELLO_BAD;
	if (left < RECORD_HEAD)
		return EGRESS_HELLO_MORE;
	len = (size_t)p[3] << 8 | p[4];
	if (len == 0 || len > RECORD_MAX || scan->records == EGRESS_HELLO_RECORDS_MAX)
		return EGRESS_HELLO_BAD;
	/* The type of the message shows early that it is not a ClientHello. */
	if (scan->have == 0 && left > RECORD_HEAD && p[RECORD_HEAD] != CLIENT_HELLO)
		return EGRESS_HELLO_BAD;
	if (scan->have + len > EGRESS_HELLO_MAX)
		return EGRESS_HELLO_BAD;
	if (left < RECORD_HEAD + len)
		return EGRESS_HELLO_MORE;
	scan->at += (uint32_t)(RECORD_HEAD + len);
	scan->have += (uint32_t)len;
	scan->records++;
	return EGRESS_HELLO_DONE;
}

static enum egress_hello_state read_hello(struct egress_hello_scan *scan, struct koda_span raw,
					  struct egress_hello *hello, const char **ret_code)
{
	while (scan->need == 0 || scan->have < scan->need) {
		enum egress_hello_state state;

		if (scan->at >= raw.len)
			return EGRESS_HELLO_MORE;
		state = scan_record(scan, raw, ret_code);
		if (state != EGRESS_HELLO_DONE)
			return state;
		if (scan->need == 0)
			scan->need = message_len(raw, scan->at);
		if (scan->need > EGRESS_HELLO_MAX)
			return EGRESS_HELLO_BAD;
	}
	*ret_code = "bad_client_hello";
	*hello = (struct egress_hello){ .has_name = false };
	/* No client sends another message in that record before the server has answered. */
	if (scan->have != scan->need)
		return EGRESS_HELLO_BAD;
	*ret_code = gather(raw, scan->need, hello);
	return *ret_code ? EGRESS_HELLO_BAD : EGRESS_HELLO_DONE;
}

enum egress_hello_state egress_hello_read(struct egress_hello_scan *scan, struct koda_span raw,
					  struct egress_hello *hello, const char **ret_code)
{
	enum egress_hello_state state;

	if (scan->latch.fallen) {
		*ret_code = "bad_client_hello";
		return (enum egress_hello_state)scan->latch.answer;
	}
	state = read_hello(scan, raw, hello, ret_code);
	if (state == EGRESS_HELLO_DONE)
		(void)egress_latch_fall(&scan->latch, EGRESS_HELLO_BAD);
	else if (state != EGRESS_HELLO_MORE)
		(void)egress_latch_fall(&scan->latch, state);
	return state;
}

enum egress_hello_state egress_hello_second(struct koda_span raw, size_t *ret_at)
{
	const unsigned char *p = (const unsigned char *)raw.ptr;
	size_t at = 0;

	while (at < raw.len) {
		if (p[at] == RECORD_HANDSHAKE) {
			*ret_at = at;
			return EGRESS_HELLO_DONE;
		}
		if (p[at] != RECORD_FIRST && p[at] != RECORD_DATA)
			return EGRESS_HELLO_NOT_TLS;
		if (raw.len - at < RECORD_HEAD)
			break;
		at += RECORD_HEAD + ((size_t)p[at + 3] << 8 | p[at + 4]);
	}
	return EGRESS_HELLO_MORE;
}

bool egress_hello_offers(const struct egress_hello *hello, const char *protocol)
{
	struct koda_span want = koda_span_of(protocol);
	size_t at = 0;

	while (at < hello->alpn_len) {
		struct koda_span name = { hello->alpn + at + 1, (unsigned char)hello->alpn[at] };

		if (koda_span_eq(name, want))
			return true;
		at += 1 + name.len;
	}
	return false;
}
