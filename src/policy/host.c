/* SPDX-License-Identifier: MIT */
#include "policy/host.h"

#include "base/ascii.h"
#include "base/error.h"

#include <idn2.h>
#include <libpsl.h>

#define LABEL_MAX 63
/* Longest text that is parsed: enough for U-labels. */
#define TEXT_MAX 1024

static const char out_of_memory[] = "out of memory";

static int bad_host(struct koda_error *err, struct koda_span text, const char *why)
{
	if (why == out_of_memory)
		return koda_fail_nomem(err);
	return koda_fail(err, KODA_E_POLICY, 0, "host '%.*s': %s",
			 (int)(text.len > 80 ? 80 : text.len), text.len ? text.ptr : "", why);
}

/* Letters (as lower case), digits, hyphen, underscore and dot map to themselves, everything else to
 * 0. No host name has an underscore (RFC 952), but names in the DNS do, and clients connect to
 * them. */
static const char ldh[256] = {
	['-'] = '-', ['.'] = '.', ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4',
	['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9', ['A'] = 'a', ['B'] = 'b',
	['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i',
	['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p',
	['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w',
	['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd',
	['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k',
	['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r',
	['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y',
	['z'] = 'z', ['_'] = '_',
};

/* Checks one label, and whether it needs the IDNA library. */
static const char *check_label(const char *label, size_t len, bool *idn)
{
	if (len == 0)
		return "the name has an empty label";
	if (len > LABEL_MAX)
		return "a label is longer than 63 bytes";
	if (label[0] == '-' || label[len - 1] == '-')
		return "a label begins or ends with a hyphen";
	if (len < 4 || memcmp(label, "xn--", 4) != 0)
		return NULL;
	*idn = true;
	return memchr(label, '_', len) ? "an international label has an underscore" : NULL;
}

/* Lower-cases text into out and checks its form: labels of letters, digits, underscores and
 * inner hyphens. */
static const char *copy_ldh(struct koda_span text, char *out, bool *ret_idn)
{
	size_t label = 0;
	const char *why;

	*ret_idn = false;
	if (text.len > KODA_HOST_NAME_MAX)
		return "the name is too long";
	for (size_t i = 0; i < text.len; i++) {
		char c = ldh[(unsigned char)text.ptr[i]];

		out[i] = c;
		if (c > '.') /* a letter, a digit or an underscore */
			continue;
		if (!c)
			return "only letters, digits, hyphens, underscores and dots can be in a "
			       "name";
		if (c == '.') {
			why = check_label(out + label, i - label, ret_idn);
			if (why)
				return why;
			label = i + 1;
		}
	}
	out[text.len] = '\0';
	return check_label(out + label, text.len - label, ret_idn);
}

/* Unicode and A-labels: mapped and checked by IDNA 2008 (UTS 46, non-transitional). dotted: a
 * trailing dot was taken off already. */
static const char *copy_idn(struct koda_span text, bool dotted, struct koda_host *host)
{
	/* Not IDN2_USE_STD3_ASCII_RULES: it drops forbidden characters ("a@b" with a wide @ becomes
	 * "ab") instead of refusing the name. Without it they become ASCII, which copy_ldh refuses.
	 */
	const int flags = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_ALABEL_ROUNDTRIP;
	char copy[TEXT_MAX + 1];
	uint8_t *ascii = NULL;
	const char *why;
	bool idn;
	size_t len;
	int rc;

	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (strlen(copy) != text.len)
		return "the name contains a NUL byte";
	rc = idn2_lookup_u8((const uint8_t *)copy, &ascii, flags);
	if (rc == IDN2_MALLOC)
		return out_of_memory;
	if (rc != IDN2_OK)
		return "not a valid international name";
	len = strlen((const char *)ascii);
	/* Ideographic full stops have become dots only now; one at the end is the root label. */
	if (len > 0 && ascii[len - 1] == '.' && !dotted)
		len--;
	why = copy_ldh((struct koda_span){ (const char *)ascii, len }, host->name, &idn);
	idn2_free(ascii);
	host->len = len;
	return why;
}

static bool is_ascii(struct koda_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}

/* T-08. A name whose last label is a number, decimal or hexadecimal, is an address or nothing: some
 * resolver would read it as one. */
static bool ends_in_number(const struct koda_host *host)
{
	size_t start = host->len;
	bool digits = true;

	while (start > 0 && host->name[start - 1] != '.')
		start--;
	if (host->name[start] == '0' && host->name[start + 1] == 'x') {
		for (size_t i = start + 2; i < host->len; i++)
			if (koda_ascii_hex(host->name[i]) < 0)
				return false;
		return true;
	}
	for (size_t i = start; i < host->len; i++)
		digits = digits && koda_ascii_is_digit(host->name[i]);
	return digits;
}

static int parse_name(struct koda_span text, struct koda_host *host, struct koda_error *err)
{
	bool dotted = text.len > 1 && text.ptr[text.len - 1] == '.';
	const char *why;
	bool idn;

	if (dotted)
		text.len--; /* the root label does not change the name */
	why = copy_ldh(text, host->name, &idn);
	host->len = text.len;
	/* Text that is no plain name may be a name in Unicode. */
	if (why ? !is_ascii(text) : idn)
		why = copy_idn(text, dotted, host);
	if (why)
		return bad_host(err, text, why);
	if (ends_in_number(host)) {
		if (!koda_addr_parse4((struct koda_span){ host->name, host->len }, &host->addr))
			return bad_host(err, text, "looks like an IPv4 address but is none");
		host->is_addr = true;
		host->len = 0;
		host->name[0] = '\0';
	}
	return KODA_OK;
}

int koda_host_parse(struct koda_span text, struct koda_host *ret_host, struct koda_error *err)
{
	struct koda_span v6 = text;

	/* The name's bytes past its terminator mean nothing: clearing them all would cost more
	 * than the rest. */
	ret_host->is_addr = false;
	ret_host->addr = (struct koda_addr){ .family = 0 };
	ret_host->len = 0;
	ret_host->name[0] = '\0';
	if (text.len == 0)
		return bad_host(err, text, "the name is empty");
	if (text.len > TEXT_MAX)
		return koda_fail(err, KODA_E_POLICY, 0, "the host is longer than %d bytes",
				 TEXT_MAX);
	if (text.ptr[0] != '[' && !memchr(text.ptr, ':', text.len))
		return parse_name(text, ret_host, err);
	if (text.ptr[0] == '[') {
		if (text.len < 2 || text.ptr[text.len - 1] != ']')
			return bad_host(err, text, "the bracket is not closed");
		v6 = (struct koda_span){ text.ptr + 1, text.len - 2 };
	}
	if (v6.len && memchr(v6.ptr, '%', v6.len))
		return bad_host(err, text, "an address with a zone is not accepted");
	if (!koda_addr_parse6(v6, &ret_host->addr))
		return bad_host(err, text, "not an IPv6 address");
	ret_host->is_addr = true;
	return KODA_OK;
}

static bool read_port(struct koda_span text, uint16_t *ret_port)
{
	unsigned int port = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (!koda_ascii_is_digit(text.ptr[i]) || i == 5)
			return false;
		port = port * 10 + (unsigned int)(text.ptr[i] - '0');
	}
	if (port == 0 || port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

bool koda_host_read_plain(struct koda_span text, struct koda_host *ret_host, uint16_t *ret_port)
{
	const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
	struct koda_span name = { text.ptr, colon ? (size_t)(colon - text.ptr) : text.len };
	uint16_t port = 0;
	bool idn;

	if (copy_ldh(name, ret_host->name, &idn) || idn)
		return false;
	ret_host->len = name.len;
	if (ends_in_number(ret_host) ||
	    (colon && !read_port(koda_span_skip(text, name.len + 1), &port)))
		return false;
	ret_host->is_addr = false;
	ret_host->addr = (struct koda_addr){ .family = 0 };
	*ret_port = port;
	return true;
}

static int parse_port(struct koda_span text, uint16_t *ret_port, struct koda_error *err)
{
	if (read_port(text, ret_port))
		return KODA_OK;
	return koda_fail(err, KODA_E_POLICY, 0, "'%.*s' is not a port (1 to 65535)",
			 (int)(text.len > 16 ? 16 : text.len), text.len ? text.ptr : "");
}

int koda_host_split(struct koda_span text, struct koda_span *ret_host, uint16_t *ret_port,
		    struct koda_error *err)
{
	const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
	size_t host_len = text.len;

	*ret_port = 0;
	*ret_host = text;
	if (colon && text.len - (size_t)(colon - text.ptr) > 2 && memcmp(colon, "://", 3) == 0)
		return bad_host(err, text, "is a URL; give its host alone, or HOST:PORT");
	if (text.len > 0 && text.ptr[0] == '[') {
		const char *close = memchr(text.ptr, ']', text.len);

		if (!close)
			return bad_host(err, text, "the bracket is not closed");
		host_len = (size_t)(close - text.ptr) + 1;
		if (host_len < text.len && text.ptr[host_len] != ':')
			return bad_host(err, text, "something stands between bracket and port");
	} else if (colon) {
		host_len = (size_t)(colon - text.ptr);
		if (memchr(colon + 1, ':', text.len - host_len - 1))
			return KODA_OK; /* two colons and no bracket: an IPv6 address without port
					 */
	}
	if (host_len == text.len)
		return KODA_OK;
	ret_host->len = host_len;
	return parse_port(koda_span_skip(text, host_len + 1), ret_port, err);
}

bool koda_host_is_public_suffix(const char *name)
{
	/* RFC 6761, 6762 (appendix G), 8375 and ICANN's choice of "internal": never delegated. */
	static const char *const private_names[] = { "corp",     "home", "home.arpa", "internal",
						     "intranet", "lan",  "local",     "localhost",
						     "private",  "test" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(private_names); i++)
		if (strcmp(name, private_names[i]) == 0)
			return false;
	/* Only ICANN's part of the list: the private part names hosting domains such as
	 * githubusercontent.com that people do mean as a whole. */
	return psl_is_public_suffix2(psl_builtin(), name, PSL_TYPE_ICANN) == 1;
}

void koda_host_format(const struct koda_host *host, char out[KODA_HOST_NAME_MAX + 1])
{
	if (host->is_addr)
		koda_addr_format(&host->addr, out);
	else
		memcpy(out, host->name, host->len + 1);
}
