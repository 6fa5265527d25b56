/* SPDX-License-Identifier: MIT */
#include "tls/mint.h"

#include "base/error.h"
#include "tls/lru.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

/* Certificates begin a day ago, for slow clocks, and end in three days; after one day they are
 * renewed. */
#define DAY          ((time_t)24 * 60 * 60)
#define BACKDATED    DAY
#define VALID        (3 * DAY)
#define RENEWED      DAY
#define SERIAL_BYTES 16
/* Longest common name (X.520). Clients use the alternative name. */
#define COMMON_NAME_MAX 64

struct egress_mint {
	struct egress_ca *ca; /* owned */
	EVP_PKEY *key;        /* owned */
	struct egress_lru kept;
};

struct leaf {
	X509 *cert; /* owned */
	time_t minted;
};

static void leaf_free(void *value)
{
	struct leaf *leaf = value;

	X509_free(leaf->cert);
	free(leaf);
}

static int fail_crypto(struct koda_error *err, const char *what)
{
	unsigned long last = ERR_peek_last_error();
	const char *reason = ERR_reason_error_string(last);
	/* Without an entry in the error queue, an allocation outside OpenSSL failed. */
	bool dry = last == 0 || ERR_GET_REASON(last) == ERR_R_MALLOC_FAILURE;

	ERR_clear_error();
	if (dry)
		return koda_fail_nomem(err);
	return koda_fail(err, KODA_E_INTERNAL, 0, "%s: %s", what,
			 reason ? reason : "OpenSSL failed");
}

int egress_mint_new(struct egress_ca *ca, struct egress_mint **ret_mint, struct koda_error *err)
{
	struct egress_mint *mint = calloc(1, sizeof(*mint));
	int r = KODA_OK;

	if (!mint) {
		egress_ca_free(ca);
		return koda_fail_nomem(err);
	}
	egress_lru_init(&mint->kept, EGRESS_MINT_NAMES, leaf_free);
	mint->ca = ca;
	mint->key = EVP_EC_gen("P-256");
	if (!mint->key) {
		r = fail_crypto(err, "make a key");
		egress_mint_free(mint);
		return r;
	}
	*ret_mint = mint;
	return r;
}

void egress_mint_free(struct egress_mint *mint)
{
	if (!mint)
		return;
	egress_lru_clear(&mint->kept);
	EVP_PKEY_free(mint->key);
	egress_ca_free(mint->ca);
	free(mint);
}

EVP_PKEY *egress_mint_key(const struct egress_mint *mint)
{
	return mint->key;
}

const struct egress_ca *egress_mint_ca(const struct egress_mint *mint)
{
	return mint->ca;
}

static bool set_serial(X509 *cert)
{
	unsigned char bytes[SERIAL_BYTES];
	ASN1_INTEGER *serial = X509_get_serialNumber(cert);
	BIGNUM *number;
	bool ok;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	/* A positive number of constant length. */
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = number && BN_to_ASN1_INTEGER(number, serial);
	BN_free(number);
	return ok;
}

static bool set_dates(X509 *cert, const struct egress_ca *ca, time_t now)
{
	time_t from = now - BACKDATED;
	time_t until = now + VALID;

	from = from < ca->not_before ? ca->not_before : from;
	until = until > ca->not_after ? ca->not_after : until;
	return ASN1_TIME_set(X509_getm_notBefore(cert), from) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), until);
}

/* Sets the common name to the host's text. */
static bool set_subject(X509 *cert, const char *text)
{
	if (strlen(text) > COMMON_NAME_MAX)
		return true;
	return X509_NAME_add_entry_by_NID(X509_get_subject_name(cert), NID_commonName, MBSTRING_ASC,
					  (const unsigned char *)text, -1, -1, 0) == 1;
}

/* Adds the subject alternative name. */
static bool add_alternative_name(X509 *cert, const struct koda_host *host)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *name = GENERAL_NAME_new();
	ASN1_STRING *value = host->is_addr ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
	const void *bytes = host->is_addr ? (const void *)host->addr.bytes : host->name;
	int len = host->is_addr ? (int)koda_addr_bits(&host->addr) / 8 : (int)host->len;
	bool ok = names && name && value && ASN1_STRING_set(value, bytes, len) == 1;
	bool no_subject = X509_NAME_entry_count(X509_get_subject_name(cert)) == 0;

	if (ok) {
		GENERAL_NAME_set0_value(name, host->is_addr ? GEN_IPADD : GEN_DNS, value);
		value = NULL;
		ok = sk_GENERAL_NAME_push(names, name) > 0;
		name = ok ? NULL : name;
	}
	ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, no_subject, 0) == 1;
	ASN1_STRING_free(value);
	GENERAL_NAME_free(name);
	GENERAL_NAMES_free(names);
	return ok;
}

static bool add_extension(X509 *cert, X509V3_CTX *ctx, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
	bool ok = ext && X509_add_ext(cert, ext, -1) == 1;

	X509_EXTENSION_free(ext);
	return ok;
}

static bool add_extensions(X509 *cert, X509 *issuer, const struct koda_host *host)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509V3_set_ctx_nodb(&ctx);
	/* Strict clients find the issuer by its key identifier. */
	if (X509_get0_subject_key_id(issuer) &&
	    !add_extension(cert, &ctx, NID_authority_key_identifier, "keyid:always"))
		return false;
	return add_extension(cert, &ctx, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(cert, &ctx, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(cert, &ctx, NID_ext_key_usage, "serverAuth") &&
	       add_extension(cert, &ctx, NID_subject_key_identifier, "hash") &&
	       add_alternative_name(cert, host);
}

static X509 *sign_leaf(struct egress_mint *mint, const struct koda_host *host, const char *text,
		       time_t now)
{
	X509 *cert = X509_new();

	if (cert && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
	    set_dates(cert, mint->ca, now) && set_subject(cert, text) &&
	    X509_set_issuer_name(cert, X509_get_subject_name(mint->ca->cert)) == 1 &&
	    X509_set_pubkey(cert, mint->key) == 1 && add_extensions(cert, mint->ca->cert, host) &&
	    X509_sign(cert, mint->ca->key, EVP_sha256()) > 0)
		return cert;
	X509_free(cert);
	return NULL;
}

static const struct leaf *mint_leaf(struct egress_mint *mint, const struct koda_host *host,
				    const char *text, time_t now)
{
	struct leaf *leaf = calloc(1, sizeof(*leaf));

	if (!leaf)
		return NULL;
	leaf->minted = now;
	leaf->cert = sign_leaf(mint, host, text, now);
	if (leaf->cert && egress_lru_put(&mint->kept, koda_span_of(text), leaf) == KODA_OK)
		return leaf;
	leaf_free(leaf);
	return NULL;
}

int egress_mint_leaf(struct egress_mint *mint, const struct koda_host *host, time_t now,
		     X509 **ret_leaf, struct koda_error *err)
{
	char room[KODA_ADDR_TEXT];
	const char *text = host->name;
	const struct leaf *leaf;

	if (host->is_addr) {
		koda_addr_format(&host->addr, room);
		text = room;
	}
	if (now >= mint->ca->not_after)
		return koda_fail(err, KODA_E_DENIED, 0, "the CA certificate has expired");
	leaf = egress_lru_get(&mint->kept, koda_span_of(text));
	/* Renews also if the clock was set back to before the certificate's beginning. */
	if (!leaf || now > leaf->minted + RENEWED || now < leaf->minted - BACKDATED)
		leaf = mint_leaf(mint, host, text, now);
	if (!leaf)
		return fail_crypto(err, "make a certificate");
	*ret_leaf = leaf->cert;
	return KODA_OK;
}
