/* SPDX-License-Identifier: MIT */
#include "policy/hostrule.h"

#include "base/ascii.h"
#include "base/error.h"

#define PUBLIC_MARK "#public"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct koda_span trim(struct koda_span text)
{
	while (text.len > 0 && is_blank(text.ptr[0]))
		text = koda_span_skip(text, 1);
	while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static int bad_rule(struct koda_error *err, struct koda_span text, const char *why)
{
	return koda_fail(err, KODA_E_POLICY, 0, "pattern '%.*s': %s",
			 (int)(text.len > 80 ? 80 : text.len), text.len ? text.ptr : "", why);
}

/* Parses ADDRESS/BITS without brackets and port. */
static int parse_net(struct koda_span text, size_t slash, struct koda_hostrule *rule,
		     struct koda_error *err)
{
	struct koda_span bits = koda_span_skip(text, slash + 1);
	struct koda_addr net;
	unsigned int prefix = 0;
	int r = koda_host_parse((struct koda_span){ text.ptr, slash }, &rule->host, err);

	if (r < 0)
		return r;
	if (!rule->host.is_addr)
		return bad_rule(err, text, "only an address can have a prefix length");
	/* ::ffff:10.0.0.0/104 is 10.0.0.0/8, but which of both lengths was meant is unclear. */
	if (rule->host.addr.family == 4 && memchr(text.ptr, ':', slash))
		return bad_rule(err, text, "write an IPv4 range as IPv4");
	for (size_t i = 0; i < bits.len; i++) {
		if (!koda_ascii_is_digit(bits.ptr[i]) || i == 3)
			return bad_rule(err, text, "the prefix length is not a number");
		prefix = prefix * 10 + (unsigned int)(bits.ptr[i] - '0');
	}
	if (bits.len == 0 || prefix > koda_addr_bits(&rule->host.addr))
		return bad_rule(err, text, "the prefix length is out of range");
	net = koda_addr_mask(&rule->host.addr, prefix);
	if (!koda_addr_equal(&net, &rule->host.addr))
		return bad_rule(err, text, "the address has bits set past its prefix length");
	rule->prefix = (uint8_t)prefix;
	rule->kind = KODA_HOSTRULE_NET;
	return KODA_OK;
}

/* Parses the pattern without its port. */
static int parse_host(struct koda_span text, struct koda_hostrule *rule, struct koda_error *err)
{
	struct koda_span inner = text;
	const char *slash;
	int r;

	if (koda_span_is(text, "*")) {
		rule->kind = KODA_HOSTRULE_ANY;
		return KODA_OK;
	}
	if (text.len >= 2 && text.ptr[0] == '*' && text.ptr[1] == '.') {
		inner = koda_span_skip(text, 2);
		rule->kind = KODA_HOSTRULE_BELOW;
	}
	if (inner.len == 0)
		return bad_rule(err, text, "'*.' needs at least one label after it");
	if (memchr(inner.ptr, '*', inner.len))
		return bad_rule(err, text, "'*' can only stand for the leftmost label");
	slash = memchr(inner.ptr, '/', inner.len);
	if (slash && rule->kind == KODA_HOSTRULE_NAME) {
		if (inner.ptr[0] == '[' && inner.ptr[inner.len - 1] == ']' &&
		    memchr(inner.ptr, ':', inner.len))
			inner = (struct koda_span){ inner.ptr + 1, inner.len - 2 };
		return parse_net(inner, (size_t)(slash - inner.ptr), rule, err);
	}
	r = koda_host_parse(inner, &rule->host, err);
	if (r < 0)
		return r;
	if (rule->host.is_addr && rule->kind == KODA_HOSTRULE_BELOW)
		return bad_rule(err, text, "nothing lies below an address");
	if (rule->host.is_addr) {
		rule->kind = KODA_HOSTRULE_NET;
		rule->prefix = (uint8_t)koda_addr_bits(&rule->host.addr);
	}
	return KODA_OK;
}

int koda_hostrule_parse(struct koda_span text, struct koda_hostrule *ret_rule,
			struct koda_error *err)
{
	const size_t mark_len = strlen(PUBLIC_MARK);
	struct koda_span host;
	int r;

	ret_rule->kind = KODA_HOSTRULE_NAME;
	ret_rule->prefix = 0;
	ret_rule->public_only = false;
	ret_rule->port = 0;
	text = trim(text);
	if (text.len > mark_len &&
	    memcmp(text.ptr + text.len - mark_len, PUBLIC_MARK, mark_len) == 0) {
		ret_rule->public_only = true;
		text.len -= mark_len;
	}
	if (text.len == 0)
		return koda_fail(err, KODA_E_POLICY, 0, "a host pattern must not be empty");
	if (koda_host_read_plain(text, &ret_rule->host, &ret_rule->port))
		return KODA_OK;
	ret_rule->host.is_addr = false;
	ret_rule->host.addr = (struct koda_addr){ .family = 0 };
	ret_rule->host.len = 0;
	ret_rule->host.name[0] = '\0';
	r = koda_host_split(text, &host, &ret_rule->port, err);
	if (r == KODA_OK)
		r = parse_host(host, ret_rule, err);
	if (r == KODA_OK && ret_rule->public_only && ret_rule->kind != KODA_HOSTRULE_NAME)
		return bad_rule(err, text, "only an exact name can be marked " PUBLIC_MARK);
	return r;
}

int koda_hostrule_check_allow(const struct koda_hostrule *rule, struct koda_error *err)
{
	if (rule->kind == KODA_HOSTRULE_ANY)
		return koda_fail(
			err, KODA_E_POLICY, 0,
			"'*' can only be denied; without any entry every public host is allowed");
	if (rule->kind == KODA_HOSTRULE_BELOW && koda_host_is_public_suffix(rule->host.name))
		return koda_fail(
			err, KODA_E_POLICY, 0,
			"'*.%s' is refused: %s is a public suffix, its names have many owners",
			rule->host.name, rule->host.name);
	return KODA_OK;
}

int koda_hostrule_check_deny(const struct koda_hostrule *rule, struct koda_error *err)
{
	if (rule->public_only)
		return koda_fail(err, KODA_E_POLICY, 0,
				 "'" PUBLIC_MARK "' has no meaning in a deny list");
	return KODA_OK;
}

static int add_number(struct koda_buf *out, char before, unsigned int number)
{
	char text[8];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text[--at] = before;
	return koda_buf_add(out, text + at, sizeof(text) - at);
}

static int add_net(const struct koda_hostrule *rule, struct koda_buf *out)
{
	bool brackets = rule->host.addr.family == 6 && rule->port;
	char text[KODA_ADDR_TEXT];
	int r = KODA_OK;

	koda_addr_format(&rule->host.addr, text);
	if (brackets)
		r = koda_buf_add(out, "[", 1);
	if (r == KODA_OK)
		r = koda_buf_add(out, text, strlen(text));
	if (r == KODA_OK && rule->prefix < koda_addr_bits(&rule->host.addr))
		r = add_number(out, '/', rule->prefix);
	if (r == KODA_OK && brackets)
		r = koda_buf_add(out, "]", 1);
	return r;
}

int koda_hostrule_format(const struct koda_hostrule *rule, struct koda_buf *out,
			 struct koda_error *err)
{
	int r = KODA_OK;

	switch (rule->kind) {
	case KODA_HOSTRULE_ANY:
		r = koda_buf_add(out, "*", 1);
		break;
	case KODA_HOSTRULE_BELOW:
		r = koda_buf_add(out, "*.", 2);
		if (r == KODA_OK)
			r = koda_buf_add(out, rule->host.name, rule->host.len);
		break;
	case KODA_HOSTRULE_NAME:
		r = koda_buf_add(out, rule->host.name, rule->host.len);
		break;
	case KODA_HOSTRULE_NET:
		r = add_net(rule, out);
		break;
	}
	if (r == KODA_OK && rule->port)
		r = add_number(out, ':', rule->port);
	if (r == KODA_OK && rule->public_only)
		r = koda_buf_add(out, PUBLIC_MARK, strlen(PUBLIC_MARK));
	return r < 0 ? koda_fail_room(err, r, "the host pattern") : KODA_OK;
}
