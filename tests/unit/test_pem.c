/* SPDX-License-Identifier: MIT */
/* T-73. Certificates come out, keys never do. */
#include "koda_test.h"

#include "policy/pem.h"

/* The smallest thing with the shape of a certificate: a sequence of two empty sequences and a bit
 * string of one byte. */
#define CERT              "-----BEGIN CERTIFICATE-----\nMAcwADAAAwEA\n-----END CERTIFICATE-----\n"
#define KEY               "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
#define BODY(label, text) "-----BEGIN " label "-----\n" text "\n-----END " label "-----\n"

static const struct {
	const char *name;
	const char *text;
	const char *want;
} good[] = {
	{ "one", CERT, CERT },
	{ "two", CERT CERT, CERT CERT },
	{ "key behind", CERT KEY, CERT },
	{ "key in front", KEY CERT, CERT },
	{ "RSA key", BODY("RSA PRIVATE KEY", "c2VjcmV0") CERT, CERT },
	{ "EC key", BODY("EC PRIVATE KEY", "c2VjcmV0") CERT, CERT },
	{ "encrypted key", BODY("ENCRYPTED PRIVATE KEY", "c2VjcmV0") CERT, CERT },
	{ "key with headers", BODY("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\nc2VjcmV0") CERT,
	  CERT },
	{ "explanation", "Subject: somebody\n" CERT "# next\nmore\n" CERT, CERT CERT },
	{ "comments at the end", CERT "\n  \n# that is all\n", CERT },
	{ "CR LF", "-----BEGIN CERTIFICATE-----\r\nMAcwADAAAwEA\r\n-----END CERTIFICATE-----\r\n",
	  CERT },
	{ "short lines", BODY("CERTIFICATE", "MAcw\nADAA\nAwEA"), CERT },
	{ "no newline at the end",
	  "-----BEGIN CERTIFICATE-----\nMAcwADAAAwEA\n-----END CERTIFICATE-----", CERT },
};

static const struct {
	const char *name;
	const char *text;
} bad[] = {
	{ "empty", "" },
	{ "no certificate", KEY },
	{ "words", "hello\n" },
	{ "text behind", CERT "hello\n" },
	{ "no end", "-----BEGIN CERTIFICATE-----\nMAcwADAAAwEA\n" },
	{ "end of another",
	  "-----BEGIN CERTIFICATE-----\nMAcwADAAAwEA\n-----END PRIVATE KEY-----\n" },
	{ "end alone", "-----END CERTIFICATE-----\n" CERT },
	{ "damaged boundary", "-----BEGIN CERTIFICATE----\n" CERT },
	{ "small letters", BODY("certificate", "MAcwADAAAwEA") },
	{ "block in a block", "-----BEGIN CERTIFICATE-----\n" KEY CERT },
	{ "other block", CERT BODY("X509 CRL", "MAcwADAAAwEA") },
	{ "trusted certificate", BODY("TRUSTED CERTIFICATE", "MAcwADAAAwEA") },
	{ "not base64", BODY("CERTIFICATE", "MAcwADAA*wEA") },
	{ "blank inside", BODY("CERTIFICATE", "MAcw ADAAAwEA") },
	{ "padding inside", BODY("CERTIFICATE", "MAc=ADAAAwEA") },
	{ "one digit missing", BODY("CERTIFICATE", "MAcwADAAAwE") },
	{ "empty block", BODY("CERTIFICATE", "") },
	/* What stands between the marks only has to be no certificate. */
	{ "a key in disguise", BODY("CERTIFICATE", "MAcCAQAwAAQA") },
	{ "bytes behind", BODY("CERTIFICATE", "MAcwADAAAwEAAAAA") },
	{ "too short for its length", BODY("CERTIFICATE", "MBcwADAAAwEA") },
	{ "bits behind the end", BODY("CERTIFICATE", "MAgwADAAAwIAAB==") },
};

static struct koda_span all_of(const char *text)
{
	return (struct koda_span){ text, strlen(text) };
}

static void extracts_certificates(void **state)
{
	(void)state;
	KODA_EACH(row, good) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
		struct koda_error err = { 0 };

		KODA_EXPECT(row->name,
			    koda_pem_certificates(all_of(row->text), &out, &err) == KODA_OK);
		KODA_EXPECT(row->name, koda_span_is(koda_buf_span(&out), row->want));
	}
}

static void refuses_what_is_not_clean(void **state)
{
	(void)state;
	KODA_EACH(row, bad) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
		struct koda_error err = { 0 };
		int r = koda_pem_certificates(all_of(row->text), &out, &err);

		KODA_EXPECT(row->name, r == KODA_E_POLICY && err.code == r && err.message[0]);
	}
}

static void refuses_nul_bytes(void **state)
{
	static const char text[] = "a\0b\n" CERT;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(
		KODA_E_POLICY,
		koda_pem_certificates((struct koda_span){ text, sizeof(text) - 1 }, &out, &err),
		err);
}

static void keeps_to_the_ceiling(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(sizeof(CERT) - 1);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_pem_certificates(all_of(CERT), &out, &err), err);
	koda_buf_clear(&out);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_pem_certificates(all_of(CERT CERT), &out, &err), err);
}

static void finds_keys(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{ CERT, 0 },
		{ "Subject: somebody\n" CERT CERT "# that is all\n", 0 },
		{ CERT KEY, 1 },
		{ BODY("EC PRIVATE KEY", "c2VjcmV0") CERT, 1 },
		{ KEY, 1 },
		{ " -----BEGIN PRIVATE KEY-----\n c2VjcmV0\n" CERT, KODA_E_POLICY },
		{ "\t-----BEGIN EC PRIVATE KEY-----\n" CERT, KODA_E_POLICY },
		{ CERT "# PRIVATE KEY\n", KODA_E_POLICY },
		{ BODY("CERTIFICATE", "MAcCAQAwAAQA") CERT, KODA_E_POLICY },
		{ CERT BODY("X509 CRL", "MAcwADAAAwEA"), KODA_E_POLICY },
		{ "", KODA_E_POLICY },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };

		KODA_EXPECT(row->text, koda_pem_has_key(all_of(row->text), &err) == row->want);
	}
}

static void names_the_sibling(void **state)
{
	static const struct {
		const char *bundle;
		const char *key;
	} rows[] = {
		{ "/etc/corp/ca.pem", "/etc/corp/ca.key" },
		{ "/etc/corp/ca.crt", "/etc/corp/ca.key" },
		{ "/etc/corp/ca.cer", "/etc/corp/ca.key" },
		{ "/etc/corp/bundle", "/etc/corp/bundle.key" },
		{ "/etc/corp.pem/ca", "/etc/corp.pem/ca.key" },
		{ "/etc/ca.pem.txt", "/etc/ca.pem.txt.key" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(64);
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_pem_key_path(all_of(row->bundle), &out, &err), err);
		KODA_ASSERT_SPAN(koda_buf_span(&out), row->key);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extracts_certificates),
		cmocka_unit_test(refuses_what_is_not_clean),
		cmocka_unit_test(refuses_nul_bytes),
		cmocka_unit_test(keeps_to_the_ceiling),
		cmocka_unit_test(finds_keys),
		cmocka_unit_test(names_the_sibling),
	};

	return KODA_TEST_RUN(tests);
}
