/* SPDX-License-Identifier: MIT */
#include "tls/ca.h"

#include "base/error.h"
#include "policy/pem.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

/* Weaker signatures can be forged (NIST SP 800-57, 112 bits). */
#define SECURITY_BITS_MIN 112
#define CERTIFICATES_MAX  512

/* Everything that one call of egress_ca_parse collects. */
struct reading {
	struct egress_ca *ca;
	STACK_OF(X509) * certs;
	struct koda_error *err;
};

static int refuse(struct koda_error *err, const char *text)
{
	ERR_clear_error();
	return koda_fail(err, KODA_E_POLICY, 0, "%s", text);
}

/* Returns whether OpenSSL ran out of memory, which only its error queue says. */
static bool ran_dry(void)
{
	return ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE;
}

static int refuse_or_nomem(struct koda_error *err, const char *text)
{
	bool dry = ran_dry();

	ERR_clear_error();
	return dry ? koda_fail_nomem(err) : koda_fail(err, KODA_E_POLICY, 0, "%s", text);
}

/* Decodes base64 with OpenSSL; the caller wipes and frees the bytes. */
static int decode_body(struct koda_span body, unsigned char **ret_der, size_t *ret_len)
{
	unsigned char *der = malloc(body.len + 1);
	EVP_ENCODE_CTX *ctx = EVP_ENCODE_CTX_new();
	int len = 0, rest = 0;
	int r = KODA_E_NOMEM;

	if (der && ctx) {
		EVP_DecodeInit(ctx);
		r = KODA_E_POLICY;
		if (EVP_DecodeUpdate(ctx, der, &len, (const unsigned char *)body.ptr,
				     (int)body.len) >= 0 &&
		    EVP_DecodeFinal(ctx, der + len, &rest) == 1)
			r = KODA_OK;
	}
	EVP_ENCODE_CTX_free(ctx);
	if (r < 0) {
		if (der)
			OPENSSL_cleanse(der, body.len + 1);
		free(der);
		return r;
	}
	*ret_der = der;
	*ret_len = (size_t)len + (size_t)rest;
	return KODA_OK;
}

static int add_certificate(struct reading *reading, const unsigned char *der, size_t len)
{
	const unsigned char *end = der;
	X509 *cert = d2i_X509(NULL, &end, (long)len);

	if (!cert)
		return refuse_or_nomem(reading->err, "a certificate of the CA bundle is damaged");
	if (end != der + len) {
		X509_free(cert);
		return refuse(reading->err,
			      "there are bytes behind a certificate of the CA bundle");
	}
	if (sk_X509_num(reading->certs) >= CERTIFICATES_MAX) {
		X509_free(cert);
		return refuse(reading->err, "the CA bundle holds too many certificates");
	}
	if (!sk_X509_push(reading->certs, cert)) {
		X509_free(cert);
		ERR_clear_error();
		return koda_fail_nomem(reading->err);
	}
	return KODA_OK;
}

static int add_key(struct reading *reading, const unsigned char *der, size_t len)
{
	const unsigned char *end = der;

	if (reading->ca->key)
		return refuse(reading->err, "there is more than one private key for the CA");
	reading->ca->key = d2i_AutoPrivateKey(NULL, &end, (long)len);
	if (!reading->ca->key)
		return refuse_or_nomem(reading->err, "the private key of the CA is damaged");
	if (end != der + len)
		return refuse(reading->err, "there are bytes behind the private key of the CA");
	return KODA_OK;
}

static bool is_encrypted(const struct koda_pem_block *block)
{
	return koda_span_is(block->label, "ENCRYPTED PRIVATE KEY") ||
	       memmem(block->body.ptr, block->body.len, "ENCRYPTED", 9);
}

static int add_block(struct reading *reading, const struct koda_pem_block *block)
{
	bool is_key = koda_pem_is_key(block->label);
	unsigned char *der = NULL;
	size_t len = 0;
	int r;

	if (!is_key && !koda_span_is(block->label, "CERTIFICATE"))
		return refuse(reading->err,
			      "a block of the CA files is neither certificate nor key");
	if (is_key && is_encrypted(block))
		return refuse(reading->err, "the private key of the CA is encrypted: store it "
					    "without a passphrase, which cannot be typed here");
	r = decode_body(block->body, &der, &len);
	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(reading->err);
	if (r < 0)
		return refuse(reading->err, is_key ? "the private key of the CA is not base64"
						   : "a certificate of the CA is not base64");
	r = is_key ? add_key(reading, der, len) : add_certificate(reading, der, len);
	OPENSSL_cleanse(der, len);
	free(der);
	return r;
}

static int add_text(struct reading *reading, struct koda_span text)
{
	struct koda_pem_block block = { 0 };
	int r;

	while ((r = koda_pem_next(&text, &block, reading->err)) > 0) {
		r = add_block(reading, &block);
		if (r < 0)
			return r;
	}
	if (r < 0)
		koda_error_prefix(reading->err, "the CA files: ");
	return r;
}

static int check_key(const EVP_PKEY *key, struct koda_error *err)
{
	int kind = EVP_PKEY_get_base_id(key);

	if (kind != EVP_PKEY_RSA && kind != EVP_PKEY_EC)
		return refuse(err, "the private key of the CA is neither RSA nor EC");
	if (EVP_PKEY_get_security_bits(key) < SECURITY_BITS_MIN)
		return refuse(err, "the private key of the CA is too short (at least RSA 2048 or "
				   "EC P-224)");
	return KODA_OK;
}

/* Converts to seconds since 1970. Returns false if the field is not a time. */
static bool read_time(const ASN1_TIME *field, time_t *ret_time)
{
	struct tm tm;

	if (!field || ASN1_TIME_to_tm(field, &tm) != 1)
		return false;
	*ret_time = timegm(&tm);
	return true;
}

static int check_signer(struct egress_ca *ca, time_t now, struct koda_error *err)
{
	uint32_t flags = X509_get_extension_flags(ca->cert);

	if (flags & EXFLAG_INVALID)
		return refuse(err, "the extensions of the CA certificate are damaged");
	if (!(flags & EXFLAG_CA))
		return refuse(err, "the certificate is not a CA (basicConstraints)");
	if ((flags & EXFLAG_KUSAGE) && !(X509_get_key_usage(ca->cert) & KU_KEY_CERT_SIGN))
		return refuse(err, "the CA certificate may not sign certificates (keyUsage)");
	if ((flags & EXFLAG_XKUSAGE) &&
	    !(X509_get_extended_key_usage(ca->cert) & (XKU_SSL_SERVER | XKU_ANYEKU)))
		return refuse(err, "the CA certificate is not for servers (extendedKeyUsage)");
	if (!read_time(X509_get0_notBefore(ca->cert), &ca->not_before) ||
	    !read_time(X509_get0_notAfter(ca->cert), &ca->not_after))
		return refuse(err, "the CA certificate has no readable dates");
	if (now < ca->not_before)
		return refuse(err, "the CA certificate is not valid yet");
	if (now >= ca->not_after)
		return refuse(err, "the CA certificate has expired");
	return KODA_OK;
}

/* Returns the certificate in certs that signed cert, or NULL. */
static X509 *issuer_of(X509 *cert, STACK_OF(X509) * certs)
{
	for (int i = 0; i < sk_X509_num(certs); i++) {
		X509 *other = sk_X509_value(certs, i);

		if (X509_check_issued(other, cert) == X509_V_OK)
			return other;
	}
	return NULL;
}

/* Collects the signer and its issuers, without the root, which clients have. */
static int build_chain(struct egress_ca *ca, STACK_OF(X509) * certs, struct koda_error *err)
{
	X509 *cert = ca->cert;

	ca->chain = sk_X509_new_null();
	if (!ca->chain)
		return koda_fail_nomem(err);
	while (cert && X509_self_signed(cert, 0) != 1 && sk_X509_num(ca->chain) < 8) {
		if (X509_up_ref(cert) != 1)
			return koda_fail_nomem(err);
		if (!sk_X509_push(ca->chain, cert)) {
			X509_free(cert);
			return koda_fail_nomem(err);
		}
		cert = issuer_of(cert, certs);
	}
	ERR_clear_error();
	return KODA_OK;
}

static int choose_signer(struct reading *reading, time_t now)
{
	struct egress_ca *ca = reading->ca;
	int r;

	if (sk_X509_num(reading->certs) == 0)
		return refuse(reading->err, ca->key ? "there is a private key for the CA, but no "
						      "certificate"
						    : "the CA bundle holds no certificate");
	if (!ca->key)
		return refuse(reading->err,
			      "the private key of the CA is missing: it belongs in "
			      "the bundle or next to it, in a file that ends in .key");
	r = check_key(ca->key, reading->err);
	if (r < 0)
		return r;
	for (int i = 0; i < sk_X509_num(reading->certs) && !ca->cert; i++) {
		X509 *cert = sk_X509_value(reading->certs, i);

		if (X509_check_private_key(cert, ca->key) == 1 && X509_up_ref(cert) == 1)
			ca->cert = cert;
	}
	if (!ca->cert)
		return refuse(reading->err,
			      "the private key does not belong to the CA certificate");
	r = check_signer(ca, now, reading->err);
	return r < 0 ? r : build_chain(ca, reading->certs, reading->err);
}

int egress_ca_parse(struct koda_span bundle, struct koda_span key, time_t now,
		    struct egress_ca **ret_ca, struct koda_error *err)
{
	koda_auto_ca struct egress_ca *ca = calloc(1, sizeof(*ca));
	struct reading reading = { ca, sk_X509_new_null(), err };
	int r;

	if (!ca || !reading.certs) {
		sk_X509_free(reading.certs);
		return koda_fail_nomem(err);
	}
	r = add_text(&reading, bundle);
	if (r == KODA_OK && !ca->key)
		r = add_text(&reading, key);
	if (r == KODA_OK)
		r = choose_signer(&reading, now);
	sk_X509_pop_free(reading.certs, X509_free);
	ERR_clear_error();
	if (r == KODA_OK)
		*ret_ca = KODA_TAKE(ca);
	return r;
}

void egress_ca_free(struct egress_ca *ca)
{
	if (!ca)
		return;
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	sk_X509_pop_free(ca->chain, X509_free);
	free(ca);
}

/* A file's bytes in a buffer of exactly that size: a buffer that grows would leave copies of the
 * key behind. */
struct secret {
	char *ptr;
	size_t len;
};

static void wipe(struct secret *secret)
{
	if (secret->ptr)
		OPENSSL_cleanse(secret->ptr, secret->len);
	free(secret->ptr);
}

static int read_secret(int fd, const char *what, struct secret *secret, struct koda_error *err)
{
	struct stat st;
	size_t done = 0;

	if (fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "look at the %s", what);
	if (!S_ISREG(st.st_mode))
		return koda_fail(err, KODA_E_POLICY, 0, "the %s is not a regular file", what);
	if (st.st_size == 0)
		return koda_fail(err, KODA_E_POLICY, 0, "the %s is empty", what);
	if ((uint64_t)st.st_size > KODA_PEM_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "the %s is too large", what);
	secret->len = (size_t)st.st_size;
	secret->ptr = malloc(secret->len);
	if (!secret->ptr)
		return koda_fail_nomem(err);
	while (done < secret->len) {
		ssize_t n = pread(fd, secret->ptr + done, secret->len - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return koda_fail(err, KODA_E_SYS, n < 0 ? errno : 0, "read the %s", what);
		done += (size_t)n;
	}
	return KODA_OK;
}

int egress_ca_read(int bundle_fd, int key_fd, time_t now, struct egress_ca **ret_ca,
		   struct koda_error *err)
{
	__attribute__((cleanup(wipe))) struct secret bundle = { 0 };
	__attribute__((cleanup(wipe))) struct secret key = { 0 };
	int r = read_secret(bundle_fd, "CA bundle", &bundle, err);

	if (r == KODA_OK && key_fd >= 0)
		r = read_secret(key_fd, "key of the CA", &key, err);
	if (r < 0)
		return r;
	return egress_ca_parse((struct koda_span){ bundle.ptr, bundle.len },
			       (struct koda_span){ key.ptr, key.len }, now, ret_ca, err);
}
