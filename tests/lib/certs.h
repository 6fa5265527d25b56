/* SPDX-License-Identifier: MIT */
/* Certificates and keys for tests, made on the spot. */
#ifndef KODA_TEST_CERTS_H
#define KODA_TEST_CERTS_H

#include "base/buf.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* What a certificate says; all zero is a CA for a year around now. */
struct cert_spec {
	const char *name;     /* common name; default "Test CA" */
	const char *basic;    /* basicConstraints; default "critical,CA:TRUE"; "" for none */
	const char *usage;    /* keyUsage; default "critical,keyCertSign,cRLSign"; "" for none */
	const char *extended; /* extendedKeyUsage; default none */
	const char *alt;      /* subjectAltName; default none */
	long from_days;       /* default -180 */
	long until_days;      /* default 180 */
};

static inline void certs_need(bool condition)
{
	if (!condition) {
		(void)fprintf(stderr, "certs.h: OpenSSL failed\n");
		abort();
	}
}

static inline void certs_extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;

	if (!value || !*value)
		return;
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	certs_need(ext && X509_add_ext(cert, ext, -1) == 1);
	X509_EXTENSION_free(ext);
}

/* A certificate for key, signed by issuer_key as issuer (NULL: by itself). */
static inline X509 *certs_make(const struct cert_spec *spec, EVP_PKEY *key, X509 *issuer,
			       EVP_PKEY *issuer_key)
{
	static long serial = 1000;
	const char *name = spec->name ? spec->name : "Test CA";
	X509 *cert = X509_new();

	certs_need(cert && X509_set_version(cert, X509_VERSION_3) == 1);
	certs_need(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++) == 1);
	certs_need(X509_time_adj_ex(X509_getm_notBefore(cert),
				    (int)(spec->from_days ? spec->from_days : -180), 0, NULL) &&
		   X509_time_adj_ex(X509_getm_notAfter(cert),
				    (int)(spec->until_days ? spec->until_days : 180), 0, NULL));
	certs_need(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
					      (const unsigned char *)name, -1, -1, 0) == 1);
	certs_need(X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert)) == 1);
	certs_need(X509_set_pubkey(cert, key) == 1);
	certs_extend(cert, issuer ? issuer : cert, NID_subject_key_identifier, "hash");
	certs_extend(cert, issuer ? issuer : cert, NID_basic_constraints,
		     spec->basic ? spec->basic : "critical,CA:TRUE");
	certs_extend(cert, issuer ? issuer : cert, NID_key_usage,
		     spec->usage ? spec->usage : "critical,keyCertSign,cRLSign");
	certs_extend(cert, issuer ? issuer : cert, NID_ext_key_usage, spec->extended);
	certs_extend(cert, issuer ? issuer : cert, NID_subject_alt_name, spec->alt);
	certs_need(X509_sign(cert, issuer_key ? issuer_key : key, EVP_sha256()) > 0);
	return cert;
}

/* A certificate of a server for one alternative name ("DNS:a.example"). */
static inline X509 *certs_server(const char *alt, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
	const struct cert_spec spec = { .name = "server",
					.basic = "critical,CA:FALSE",
					.usage = "critical,digitalSignature",
					.extended = "serverAuth",
					.alt = alt };

	return certs_make(&spec, key, issuer, issuer_key);
}

static inline void certs_take(BIO *bio, struct koda_buf *out)
{
	char *text = NULL;
	long len = BIO_get_mem_data(bio, &text);

	certs_need(koda_buf_add(out, text, (size_t)len) == KODA_OK);
	BIO_free(bio);
}

static inline void certs_add_pem(X509 *cert, struct koda_buf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());

	certs_need(bio && PEM_write_bio_X509(bio, cert) == 1);
	certs_take(bio, out);
}

/* With a passphrase the key is encrypted. */
static inline void certs_add_key_pem(EVP_PKEY *key, const char *passphrase, struct koda_buf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());
	const EVP_CIPHER *cipher = passphrase ? EVP_aes_128_cbc() : NULL;
	int len = passphrase ? (int)strlen(passphrase) : 0;

	certs_need(bio && PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, passphrase, len, NULL,
							NULL) == 1);
	certs_take(bio, out);
}

#endif
