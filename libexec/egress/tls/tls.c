/* SPDX-License-Identifier: MIT */
#include "tls/tls.h"

#include "base/error.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#define RECORD_MAX SSL3_RT_MAX_PLAIN_LENGTH
/* Limit of the output buffer: above the high mark there is room for what one call may add, such as
 * handshake messages with certificates, or answers to key updates. */
#define OUT_MAX (EGRESS_TLS_OUT_HIGH + ((size_t)256 << 10))
/* Memory of one certificate, however small. */
#define CERT_SIZE ((size_t)5 << 10)
/* Size up to which an empty buffer is kept. */
#define OUT_KEPT 4096

struct egress_tls {
	SSL *ssl;            /* owned, with its BIO */
	struct koda_span in; /* borrowed during feed: input of the BIO */
	struct koda_buf out; /* output of the BIO */
	size_t out_done;     /* bytes of out that were sent */
	enum egress_tls_state state;
	struct koda_host host;
	uint16_t port;
};

/* The type of all BIOs: created in egress_tls_setup, then constant. */
static BIO_METHOD *span_method;

static int span_read(BIO *bio, char *to, size_t size, size_t *ret_len)
{
	struct egress_tls *tls = BIO_get_data(bio);
	size_t len = size < tls->in.len ? size : tls->in.len;

	BIO_clear_retry_flags(bio);
	if (len == 0) {
		BIO_set_retry_read(bio);
		*ret_len = 0;
		return 0;
	}
	memcpy(to, tls->in.ptr, len);
	tls->in = koda_span_skip(tls->in, len);
	*ret_len = len;
	return 1;
}

static int span_write(BIO *bio, const char *from, size_t len, size_t *ret_len)
{
	struct egress_tls *tls = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	*ret_len = 0;
	if (koda_buf_add(&tls->out, from, len) < 0)
		return 0;
	*ret_len = len;
	return 1;
}

static long span_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

int egress_tls_setup(struct koda_error *err)
{
	uint64_t flags = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS |
			 OPENSSL_INIT_LOAD_CRYPTO_STRINGS;

	if (span_method)
		return KODA_OK;
	if (OPENSSL_init_ssl(flags, NULL) == 1)
		span_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "span");
	if (!span_method || BIO_meth_set_read_ex(span_method, span_read) != 1 ||
	    BIO_meth_set_write_ex(span_method, span_write) != 1 ||
	    BIO_meth_set_ctrl(span_method, span_ctrl) != 1)
		return koda_fail(err, KODA_E_INTERNAL, 0, "OpenSSL cannot be set up");
	return KODA_OK;
}

int egress_tls_new(SSL *ssl, const struct koda_host *host, uint16_t port,
		   struct egress_tls **ret_tls, struct koda_error *err)
{
	struct egress_tls *tls = calloc(1, sizeof(*tls));
	BIO *bio = span_method ? BIO_new(span_method) : NULL;

	if (!tls || !bio || SSL_set_app_data(ssl, tls) != 1) {
		BIO_free(bio);
		SSL_free(ssl);
		free(tls);
		return koda_fail_nomem(err);
	}
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
	tls->ssl = ssl;
	tls->out = (struct koda_buf)KODA_BUF_INIT(OUT_MAX);
	tls->state = EGRESS_TLS_HANDSHAKE;
	tls->host = *host;
	tls->port = port;
	*ret_tls = tls;
	return KODA_OK;
}

void egress_tls_free(struct egress_tls *tls)
{
	if (!tls)
		return;
	/* OpenSSL discards the session of a connection that ends without close_notify. Only a
	 * failure makes a session unusable here. */
	if (tls->state == EGRESS_TLS_OPEN || tls->state == EGRESS_TLS_ENDED)
		SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(tls->ssl);
	koda_buf_clear(&tls->out);
	free(tls);
}

enum egress_tls_state egress_tls_state(const struct egress_tls *tls)
{
	return tls->state;
}

const struct koda_host *egress_tls_host(const struct egress_tls *tls)
{
	return &tls->host;
}

uint16_t egress_tls_port(const struct egress_tls *tls)
{
	return tls->port;
}

bool egress_tls_is_resumed(const struct egress_tls *tls)
{
	return SSL_session_reused(tls->ssl) == 1;
}

static const char *host_text(const struct egress_tls *tls, char room[static KODA_ADDR_TEXT])
{
	if (!tls->host.is_addr)
		return tls->host.name;
	koda_addr_format(&tls->host.addr, room);
	return room;
}

/* Records why the session is over. */
static int fail_tls(struct egress_tls *tls, struct koda_error *err)
{
	const char *who = SSL_is_server(tls->ssl) ? "the client for" : "the server";
	long verdict = SSL_is_server(tls->ssl) ? X509_V_OK : SSL_get_verify_result(tls->ssl);
	unsigned long last = ERR_peek_error();
	const char *reason = ERR_reason_error_string(last);
	char room[KODA_ADDR_TEXT];
	const char *name = host_text(tls, room);

	tls->state = EGRESS_TLS_FAILED;
	ERR_clear_error();
	if (ERR_GET_REASON(last) == ERR_R_MALLOC_FAILURE)
		return koda_fail_nomem(err);
	if (verdict != X509_V_OK)
		return koda_fail(err, KODA_E_DENIED, 0, "the certificate of %s is not trusted: %s",
				 name, X509_verify_cert_error_string(verdict));
	return koda_fail(err, KODA_E_DENIED, 0, "TLS with %s %s failed: %s", who, name,
			 reason ? reason : "the connection was damaged");
}

/* Fails like the first time: bytes after lost ones cannot be decrypted. */
static int fail_again(const struct egress_tls *tls, struct koda_error *err)
{
	char room[KODA_ADDR_TEXT];

	return koda_fail(err, KODA_E_DENIED, 0, "TLS with %s has failed before",
			 host_text(tls, room));
}

/* Returns whether the server chose HTTP/1.1, or no protocol. */
static bool protocol_is_ours(const SSL *ssl)
{
	const unsigned char *name = NULL;
	unsigned int len = 0;

	SSL_get0_alpn_selected(ssl, &name, &len);
	return len == 0 || (len == 8 && memcmp(name, "http/1.1", 8) == 0);
}

int egress_tls_handshake(struct egress_tls *tls, struct koda_error *err)
{
	int n;

	if (tls->state != EGRESS_TLS_HANDSHAKE)
		return KODA_OK;
	ERR_clear_error();
	n = SSL_do_handshake(tls->ssl);
	if (n == 1 && protocol_is_ours(tls->ssl)) {
		tls->state = EGRESS_TLS_OPEN;
		return KODA_OK;
	}
	if (n != 1 && SSL_get_error(tls->ssl, n) == SSL_ERROR_WANT_READ)
		return KODA_OK;
	return fail_tls(tls, err);
}

/* Reads one record. Returns 1 if there may be more, 0 if not. */
static int read_record(struct egress_tls *tls, struct koda_buf *plain, struct koda_error *err)
{
	size_t len = 0;
	char *room;
	int n;

	if (plain->max - plain->len < RECORD_MAX)
		return 0;
	if (koda_buf_room(plain, RECORD_MAX, &room) < 0) {
		tls->state = EGRESS_TLS_FAILED;
		return koda_fail_nomem(err);
	}
	ERR_clear_error();
	n = SSL_read_ex(tls->ssl, room, RECORD_MAX, &len);
	if (n == 1) {
		koda_buf_grew(plain, len);
		return 1;
	}
	switch (SSL_get_error(tls->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		tls->state = EGRESS_TLS_ENDED;
		return 0;
	default:
		return fail_tls(tls, err);
	}
}

int egress_tls_feed(struct egress_tls *tls, struct koda_span *in, struct koda_buf *plain,
		    struct koda_error *err)
{
	int r;

	if (tls->state == EGRESS_TLS_FAILED)
		return fail_again(tls, err);
	tls->in = *in;
	r = egress_tls_handshake(tls, err);
	if (r == KODA_OK && tls->state == EGRESS_TLS_OPEN)
		while ((r = read_record(tls, plain, err)) > 0)
			;
	/* Discards bytes after close_notify. */
	*in = tls->state == EGRESS_TLS_ENDED ? koda_span_skip(tls->in, tls->in.len) : tls->in;
	tls->in = (struct koda_span){ NULL, 0 };
	return r;
}

size_t egress_tls_room(const struct egress_tls *tls)
{
	size_t waiting = egress_tls_out(tls).len;

	if (tls->state != EGRESS_TLS_OPEN && tls->state != EGRESS_TLS_ENDED)
		return 0;
	return waiting < EGRESS_TLS_OUT_HIGH ? EGRESS_TLS_OUT_HIGH - waiting : 0;
}

int egress_tls_write(struct egress_tls *tls, struct koda_span plain, struct koda_error *err)
{
	if (tls->state == EGRESS_TLS_FAILED)
		return fail_again(tls, err);
	while (plain.len) {
		size_t len = 0;

		ERR_clear_error();
		if (SSL_write_ex(tls->ssl, plain.ptr, plain.len, &len) != 1)
			return fail_tls(tls, err);
		plain = koda_span_skip(plain, len);
	}
	return KODA_OK;
}

void egress_tls_end(struct egress_tls *tls)
{
	if (tls->state != EGRESS_TLS_OPEN && tls->state != EGRESS_TLS_ENDED)
		return;
	/* An error does not matter: the connection is about to be closed. */
	if (!(SSL_get_shutdown(tls->ssl) & SSL_SENT_SHUTDOWN))
		(void)SSL_shutdown(tls->ssl);
	ERR_clear_error();
}

size_t egress_tls_held(const struct egress_tls *tls)
{
	return tls->out.cap + egress_tls_chain(tls);
}

size_t egress_tls_chain(const struct egress_tls *tls)
{
	int count = sk_X509_num(SSL_get_peer_cert_chain(tls->ssl));

	return count > 0 ? (size_t)count * CERT_SIZE : 0;
}

struct koda_span egress_tls_out(const struct egress_tls *tls)
{
	return (struct koda_span){ tls->out.ptr + tls->out_done, tls->out.len - tls->out_done };
}

void egress_tls_sent(struct egress_tls *tls, size_t len)
{
	tls->out_done += len;
	if (tls->out_done < tls->out.len)
		return;
	tls->out_done = 0;
	if (tls->out.cap > OUT_KEPT)
		koda_buf_clear(&tls->out);
	tls->out.len = 0;
}
