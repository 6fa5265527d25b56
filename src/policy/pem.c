/* SPDX-License-Identifier: MIT */
/* T-73. See pem.h. */
#include "policy/pem.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/wipe.h"

#define BEGIN      "-----BEGIN "
#define END        "-----END "
#define DASHES     "-----"
#define KEY        "PRIVATE KEY"
#define LABEL_MAX  64
#define LINE_WIDTH 64

const char *const koda_pem_system_places[] = {
	"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch, Gentoo */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
	"/etc/pki/tls/certs/ca-bundle.crt",                  /* RHEL */
	"/etc/ssl/ca-bundle.pem",                            /* SUSE */
	"/etc/ssl/cert.pem",                                 /* Alpine, BSD */
	NULL,
};

/* Takes one line off *text, without its LF or CR LF. */
static struct koda_span next_line(struct koda_span *text)
{
	const char *end = memchr(text->ptr, '\n', text->len);
	size_t len = end ? (size_t)(end - text->ptr) : text->len;
	struct koda_span line = { text->ptr, len };

	*text = koda_span_skip(*text, end ? len + 1 : len);
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool starts_with(struct koda_span line, const char *text)
{
	size_t len = strlen(text);

	return line.len >= len && memcmp(line.ptr, text, len) == 0;
}

/* Returns the label of a boundary line; false if the line is none of this kind. */
static bool boundary(struct koda_span line, const char *kind, struct koda_span *ret_label)
{
	size_t front = strlen(kind), back = strlen(DASHES);
	struct koda_span label;

	if (!starts_with(line, kind) || line.len < front + back + 1)
		return false;
	label = (struct koda_span){ line.ptr + front, line.len - front - back };
	if (memcmp(label.ptr + label.len, DASHES, back) != 0 || label.len > LABEL_MAX)
		return false;
	for (size_t i = 0; i < label.len; i++) {
		char c = label.ptr[i];

		if (!(c >= 'A' && c <= 'Z') && !koda_ascii_is_digit(c) && c != ' ')
			return false;
	}
	*ret_label = label;
	return true;
}

/* Blank or a comment. */
static bool says_nothing(struct koda_span line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '#')
			return true;
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t')
			return false;
	}
	return true;
}

static int read_block(struct koda_span *text, struct koda_span label,
		      struct koda_pem_block *ret_block, struct koda_error *err)
{
	const char *start = text->ptr;
	struct koda_span end_label;

	while (text->len) {
		struct koda_span line = next_line(text);

		if (boundary(line, END, &end_label)) {
			if (!koda_span_eq(label, end_label))
				return koda_fail(err, KODA_E_POLICY, 0,
						 "a PEM block ends with another label");
			ret_block->label = label;
			ret_block->body = (struct koda_span){ start, (size_t)(line.ptr - start) };
			return 1;
		}
		if (memchr(line.ptr, '\0', line.len) || starts_with(line, DASHES))
			break;
	}
	return koda_fail(err, KODA_E_POLICY, 0, "a PEM block has no end");
}

int koda_pem_next(struct koda_span *text, struct koda_pem_block *ret_block, struct koda_error *err)
{
	bool explained = false;

	while (text->len) {
		struct koda_span line = next_line(text);
		struct koda_span label;

		if (boundary(line, BEGIN, &label))
			return read_block(text, label, ret_block, err);
		if (starts_with(line, DASHES))
			return koda_fail(err, KODA_E_POLICY, 0,
					 "a PEM boundary is damaged or out of place");
		if (memchr(line.ptr, '\0', line.len))
			return koda_fail(err, KODA_E_POLICY, 0, "this is not PEM text");
		explained |= !says_nothing(line);
	}
	if (explained)
		return koda_fail(err, KODA_E_POLICY, 0, "there is text behind the last PEM block");
	return 0;
}

bool koda_pem_is_key(struct koda_span label)
{
	size_t len = strlen(KEY);

	return label.len >= len && memcmp(label.ptr + label.len - len, KEY, len) == 0;
}

/* Returns the value of a base64 digit, 0 to 63, or -1. */
static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (koda_ascii_is_digit(c))
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Appends the digits of body without line ends. Returns false if it is not canonical base64. */
static bool collect_digits(struct koda_span body, char *digits, size_t *ret_len)
{
	size_t len = 0, pad = 0;
	int last = 0;

	while (body.len) {
		struct koda_span line = next_line(&body);

		for (size_t i = 0; i < line.len; i++) {
			char c = line.ptr[i];

			if (c == '=') {
				pad++;
			} else {
				if (pad || base64_value(c) < 0)
					return false;
				last = base64_value(c);
			}
			digits[len++] = c;
		}
	}
	*ret_len = len;
	/* Unused bits must be zero, so that they cannot carry data. */
	if ((pad == 1 && last & 0x3) || (pad == 2 && last & 0xf))
		return false;
	return len && len % 4 == 0 && pad <= 2;
}

/* Decodes digits (a multiple of four) into der; returns the length. */
static size_t decode(const char *digits, size_t len, unsigned char *der)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i += 4) {
		unsigned int bits = 0, pad = 0;

		for (size_t k = 0; k < 4; k++) {
			pad += digits[i + k] == '=';
			bits = bits << 6 |
			       (digits[i + k] == '=' ? 0
						     : (unsigned int)base64_value(digits[i + k]));
		}
		for (size_t k = 0; k < 3 - pad; k++)
			der[out++] = (unsigned char)(bits >> (16 - 8 * k));
	}
	return out;
}

struct der {
	const unsigned char *ptr;
	size_t len;
};

/* Takes an element with this tag off *rest. Returns false if the next one has another tag. */
static bool take_element(struct der *rest, unsigned char tag, struct der *ret_content)
{
	size_t head = 2, len;

	if (rest->len < 2 || rest->ptr[0] != tag)
		return false;
	len = rest->ptr[1];
	if (len & 0x80) {
		size_t count = len & 0x7f;

		if (count == 0 || count > 3 || rest->len < 2 + count)
			return false;
		len = 0;
		for (size_t i = 0; i < count; i++)
			len = len << 8 | rest->ptr[2 + i];
		head += count;
	}
	if (len > rest->len - head)
		return false;
	*ret_content = (struct der){ rest->ptr + head, len };
	rest->ptr += head + len;
	rest->len -= head + len;
	return true;
}

/* Returns true for the structure of a certificate: a sequence of body, algorithm and signature. A
 * key that is labelled as a certificate has another. */
static bool is_certificate(const unsigned char *bytes, size_t len)
{
	enum {
		BIT_STRING = 0x03,
		SEQUENCE = 0x30
	};
	struct der rest = { bytes, len };
	struct der all, part;

	return take_element(&rest, SEQUENCE, &all) && rest.len == 0 &&
	       take_element(&all, SEQUENCE, &part) && take_element(&all, SEQUENCE, &part) &&
	       take_element(&all, BIT_STRING, &part) && all.len == 0;
}

static int write_block(const char *digits, size_t len, struct koda_buf *out)
{
	int r = koda_buf_addf(out, BEGIN "CERTIFICATE" DASHES "\n");

	for (size_t i = 0; i < len && r == KODA_OK; i += LINE_WIDTH) {
		r = koda_buf_add(out, digits + i, len - i < LINE_WIDTH ? len - i : LINE_WIDTH);
		if (r == KODA_OK)
			r = koda_buf_add(out, "\n", 1);
	}
	return r == KODA_OK ? koda_buf_addf(out, END "CERTIFICATE" DASHES "\n") : r;
}

static int add_certificate(struct koda_span body, struct koda_buf *out, struct koda_error *err)
{
	koda_auto_free char *digits = malloc(body.len + 1);
	koda_auto_free unsigned char *der = malloc(body.len + 1);
	bool good = false;
	size_t len = 0;
	int r = KODA_OK;

	if (!digits || !der)
		return koda_fail_nomem(err);
	if (collect_digits(body, digits, &len))
		good = is_certificate(der, decode(digits, len, der));
	if (good)
		r = write_block(digits, len, out);
	/* A block that is wrongly labelled as a certificate may be a key. */
	koda_wipe(digits, body.len + 1);
	koda_wipe(der, body.len + 1);
	if (!good)
		return koda_fail(err, KODA_E_POLICY, 0, "a certificate in the PEM text is damaged");
	return r < 0 ? koda_fail_room(err, r, "the certificate bundle") : KODA_OK;
}

int koda_pem_certificates(struct koda_span text, struct koda_buf *out, struct koda_error *err)
{
	struct koda_pem_block block = { 0 };
	size_t count = 0;
	int r;

	while ((r = koda_pem_next(&text, &block, err)) > 0) {
		if (koda_span_is(block.label, "CERTIFICATE")) {
			r = add_certificate(block.body, out, err);
			count++;
		} else if (!koda_pem_is_key(block.label)) {
			r = koda_fail(err, KODA_E_POLICY, 0,
				      "a PEM block is neither certificate nor private key");
		}
		if (r < 0)
			return r;
	}
	if (r == 0 && count == 0)
		return koda_fail(err, KODA_E_POLICY, 0, "there is no certificate");
	return r;
}

int koda_pem_has_key(struct koda_span text, struct koda_error *err)
{
	/* Lines that are written anew may be shorter, so there are more ends of lines. */
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(2 * KODA_PEM_MAX);
	struct koda_span rest = text;
	struct koda_pem_block block = { 0 };
	bool found = false;
	int r;

	while ((r = koda_pem_next(&rest, &block, err)) > 0)
		found = found || koda_pem_is_key(block.label);
	if (r < 0 || found)
		return r < 0 ? r : 1;
	if (text.len && memmem(text.ptr, text.len, KEY, strlen(KEY)))
		return koda_fail(err, KODA_E_POLICY, 0,
				 "there may be a private key outside of the PEM blocks");
	return koda_pem_certificates(text, &out, err);
}

int koda_pem_key_path(struct koda_span bundle, struct koda_buf *out, struct koda_error *err)
{
	static const char *const endings[] = { ".pem", ".crt", ".cer" };
	size_t keep = bundle.len;
	int r;

	for (size_t i = 0; i < KODA_ARRAY_LEN(endings); i++) {
		size_t len = strlen(endings[i]);

		if (bundle.len > len && memcmp(bundle.ptr + bundle.len - len, endings[i], len) == 0)
			keep = bundle.len - len;
	}
	r = koda_buf_add(out, bundle.ptr, keep);
	if (r == KODA_OK)
		r = koda_buf_addf(out, ".key");
	return r < 0 ? koda_fail_room(err, r, "the path of the key") : KODA_OK;
}
