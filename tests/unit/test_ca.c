/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "tls/ca.h"

#include "../lib/certs.h"
#include "base/fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM ((size_t)64 << 10)

/* Keys are made once: RSA takes its time. */
static EVP_PKEY *key_ec, *key_other, *key_rsa, *key_short, *key_ed;

static int make_keys(void **state)
{
	(void)state;
	key_ec = EVP_EC_gen("P-256");
	key_other = EVP_EC_gen("P-256");
	key_rsa = EVP_RSA_gen(2048);
	key_short = EVP_RSA_gen(1024);
	key_ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return !(key_ec && key_other && key_rsa && key_short && key_ed);
}

static int free_keys(void **state)
{
	(void)state;
	EVP_PKEY_free(key_ec);
	EVP_PKEY_free(key_other);
	EVP_PKEY_free(key_rsa);
	EVP_PKEY_free(key_short);
	EVP_PKEY_free(key_ed);
	return 0;
}

static void add_cert(const struct cert_spec *spec, EVP_PKEY *key, struct koda_buf *out)
{
	X509 *cert = certs_make(spec, key, NULL, NULL);

	certs_add_pem(cert, out);
	X509_free(cert);
}

/* The message of a refusal; "" if it was accepted. */
static const char *why(const struct koda_buf *bundle, const struct koda_buf *key)
{
	static struct koda_error err;
	struct egress_ca *ca = NULL;
	struct koda_span second = key ? koda_buf_span(key) : (struct koda_span){ NULL, 0 };
	int r;

	err = (struct koda_error){ 0 };
	r = egress_ca_parse(koda_buf_span(bundle), second, time(NULL), &ca, &err);
	if (r == KODA_OK) {
		egress_ca_free(ca);
		return "";
	}
	if (r != KODA_E_POLICY || err.code != r || !err.message[0])
		fail_msg("code %d, message \"%s\"", r, err.message);
	return err.message;
}

static bool says(const char *message, const char *words)
{
	return *words ? strstr(message, words) != NULL : *message == '\0';
}

/* Each refusal next to its accepted twin, which differs in one thing. */
static void checks_the_certificate(void **state)
{
	static const struct {
		const char *name;
		struct cert_spec spec;
		const char *want;
	} rows[] = {
		{ "plain CA", { 0 }, "" },
		{ "not a CA", { .basic = "critical,CA:FALSE" }, "not a CA" },
		{ "no basicConstraints", { .basic = "" }, "not a CA" },
		{ "length of path", { .basic = "critical,CA:TRUE,pathlen:0" }, "" },
		{ "no keyUsage", { .usage = "" }, "" },
		{ "may not sign", { .usage = "critical,digitalSignature" }, "may not sign" },
		{ "for servers", { .extended = "serverAuth" }, "" },
		{ "for mail", { .extended = "emailProtection" }, "not for servers" },
		{ "expired", { .from_days = -20, .until_days = -1 }, "has expired" },
		{ "ends tomorrow", { .from_days = -20, .until_days = 1 }, "" },
		{ "starts tomorrow", { .from_days = 1 }, "not valid yet" },
		{ "started yesterday", { .from_days = -1 }, "" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
		const char *got;

		add_cert(&row->spec, key_ec, &text);
		certs_add_key_pem(key_ec, NULL, &text);
		got = why(&text, NULL);
		if (!says(got, row->want))
			fail_msg("%s: \"%s\", expected \"%s\"", row->name, got, row->want);
	}
}

static void checks_the_key(void **state)
{
	const struct {
		const char *name;
		EVP_PKEY *cert;
		EVP_PKEY *key;
		const char *passphrase;
		const char *want;
	} rows[] = {
		{ "EC", key_ec, key_ec, NULL, "" },
		{ "RSA", key_rsa, key_rsa, NULL, "" },
		{ "short RSA", key_short, key_short, NULL, "too short" },
		{ "another's key", key_ec, key_other, NULL, "does not belong" },
		{ "another kind", key_rsa, key_ec, NULL, "does not belong" },
		{ "encrypted", key_ec, key_ec, "secret", "encrypted" },
		{ "no key", key_ec, NULL, NULL, "is missing" },
		{ "no certificate", NULL, key_ec, NULL, "no certificate" },
		{ "neither", NULL, NULL, NULL, "no certificate" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf together = KODA_BUF_INIT(ROOM);
		koda_auto_buf struct koda_buf cert = KODA_BUF_INIT(ROOM);
		koda_auto_buf struct koda_buf key = KODA_BUF_INIT(ROOM);
		const struct cert_spec spec = { 0 };

		if (row->cert)
			add_cert(&spec, row->cert, &cert);
		if (row->key)
			certs_add_key_pem(row->key, row->passphrase, &key);
		assert_int_equal(koda_buf_add(&together, key.ptr, key.len), KODA_OK);
		assert_int_equal(koda_buf_add(&together, cert.ptr, cert.len), KODA_OK);
		KODA_EXPECT(row->name, says(why(&together, NULL), row->want));
		KODA_EXPECT(row->name, says(why(&cert, &key), row->want));
	}
}

static void refuses_other_kinds_of_key(void **state)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	const struct cert_spec spec = { 0 };

	(void)state;
	add_cert(&spec, key_ec, &text);
	certs_add_key_pem(key_ed, NULL, &text);
	assert_true(says(why(&text, NULL), "neither RSA nor EC"));
}

static void checks_the_text(void **state)
{
	static const struct {
		const char *name;
		const char *front;
		const char *behind;
		const char *want;
	} rows[] = {
		{ "clean", "", "", "" },
		{ "explanation", "Bag Attributes\n  name: x\n", "\n# end\n", "" },
		{ "trailing garbage", "", "garbage\n", "behind the last PEM block" },
		{ "block without end", "", "-----BEGIN CERTIFICATE-----\nMAcw\n", "no end" },
		{ "other block", "", "-----BEGIN X509 CRL-----\nMAcw\n-----END X509 CRL-----\n",
		  "neither certificate nor key" },
		{ "damaged certificate", "",
		  "-----BEGIN CERTIFICATE-----\nMAcw\n-----END CERTIFICATE-----\n", "damaged" },
		{ "not base64", "",
		  "-----BEGIN CERTIFICATE-----\nMA*w\n-----END CERTIFICATE-----\n", "not base64" },
		{ "two keys", "", "-----BEGIN PRIVATE KEY-----\nMAcw\n-----END PRIVATE KEY-----\n",
		  "more than one" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
		const struct cert_spec spec = { 0 };

		assert_int_equal(koda_buf_addf(&text, "%s", row->front), KODA_OK);
		add_cert(&spec, key_ec, &text);
		certs_add_key_pem(key_ec, NULL, &text);
		assert_int_equal(koda_buf_addf(&text, "%s", row->behind), KODA_OK);
		KODA_EXPECT(row->name, says(why(&text, NULL), row->want));
	}
}

/* DER with a byte more than it says, inside PEM that is clean. */
static void refuses_bytes_behind_the_certificate(void **state)
{
	static const struct cert_spec spec = { 0 };

	(void)state;
	for (int more = 0; more < 2; more++) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
		X509 *cert = certs_make(&spec, key_ec, NULL, NULL);
		BIO *bio = BIO_new(BIO_s_mem());
		unsigned char der[2048] = { 0 };
		unsigned char *end = der;
		int len = i2d_X509(cert, &end);

		assert_true(len > 0 && len < (int)sizeof(der));
		assert_true(PEM_write_bio(bio, "CERTIFICATE", "", der, len + more) > 0);
		certs_take(bio, &text);
		certs_add_key_pem(key_ec, NULL, &text);
		assert_true(says(why(&text, NULL), more ? "bytes behind" : ""));
		X509_free(cert);
	}
}

/* Every prefix of a good file is refused, and never with anything but a message. */
static void refuses_what_was_cut(void **state)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	const struct cert_spec spec = { 0 };
	size_t len;

	(void)state;
	add_cert(&spec, key_ec, &text);
	certs_add_key_pem(key_ec, NULL, &text);
	assert_string_equal(why(&text, NULL), "");
	/* The last byte is only the end of the line. */
	for (len = text.len - 2; len > 0; len--) {
		text.len = len;
		assert_true(*why(&text, NULL) != '\0');
	}
}

static void finds_signer_and_chain(void **state)
{
	const struct cert_spec root_spec = { .name = "Root" };
	const struct cert_spec sub_spec = { .name = "Intermediate" };
	const struct cert_spec stranger_spec = { .name = "Stranger" };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	X509 *root = certs_make(&root_spec, key_rsa, NULL, NULL);
	X509 *sub = certs_make(&sub_spec, key_ec, root, key_rsa);
	X509 *stranger = certs_make(&stranger_spec, key_other, NULL, NULL);
	koda_auto_ca struct egress_ca *ca = NULL;
	struct koda_error err = { 0 };

	(void)state;
	certs_add_pem(stranger, &text);
	certs_add_pem(root, &text);
	certs_add_pem(sub, &text);
	certs_add_key_pem(key_ec, NULL, &text);
	KODA_ASSERT_OK(egress_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				       time(NULL), &ca, &err),
		       err);
	assert_int_equal(X509_cmp(ca->cert, sub), 0);
	assert_int_equal(sk_X509_num(ca->chain), 1);
	assert_int_equal(X509_cmp(sk_X509_value(ca->chain, 0), sub), 0);
	X509_free(root);
	X509_free(sub);
	X509_free(stranger);
}

static int sealed(const struct koda_buf *text)
{
	struct koda_error err = { 0 };
	int fd = -1;

	KODA_ASSERT_OK(koda_fd_sealed("pem", text->ptr, text->len, &fd, &err), err);
	return fd;
}

static void reads_descriptors(void **state)
{
	koda_auto_buf struct koda_buf cert = KODA_BUF_INIT(ROOM);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(ROOM);
	const struct cert_spec spec = { 0 };
	koda_auto_ca struct egress_ca *ca = NULL;
	struct koda_error err = { 0 };
	koda_auto_fd int cert_fd = -1, key_fd = -1, other = -1;

	(void)state;
	add_cert(&spec, key_ec, &cert);
	certs_add_key_pem(key_ec, NULL, &key);
	cert_fd = sealed(&cert);
	key_fd = sealed(&key);
	/* Where the descriptor stands does not matter. */
	assert_true(lseek(cert_fd, 0, SEEK_END) > 0);
	KODA_ASSERT_OK(egress_ca_read(cert_fd, key_fd, time(NULL), &ca, &err), err);
	egress_ca_free(KODA_TAKE(ca));
	KODA_ASSERT_FAILS(KODA_E_POLICY, egress_ca_read(cert_fd, -1, time(NULL), &ca, &err), err);
	other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	KODA_ASSERT_FAILS(KODA_E_POLICY, egress_ca_read(other, key_fd, time(NULL), &ca, &err), err);
	KODA_ASSERT_FAILS(KODA_E_SYS, egress_ca_read(-1, key_fd, time(NULL), &ca, &err), err);
	koda_fd_close(&other);
	other = memfd_create("empty", MFD_CLOEXEC);
	KODA_ASSERT_FAILS(KODA_E_POLICY, egress_ca_read(other, key_fd, time(NULL), &ca, &err), err);
	assert_int_equal(ftruncate(other, (off_t)2 << 20), 0);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, egress_ca_read(other, key_fd, time(NULL), &ca, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_the_certificate),
		cmocka_unit_test(checks_the_key),
		cmocka_unit_test(refuses_other_kinds_of_key),
		cmocka_unit_test(checks_the_text),
		cmocka_unit_test(refuses_bytes_behind_the_certificate),
		cmocka_unit_test(refuses_what_was_cut),
		cmocka_unit_test(finds_signer_and_chain),
		cmocka_unit_test(reads_descriptors),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
