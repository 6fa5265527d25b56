/* SPDX-License-Identifier: MIT */
#include "policy/addr.h"

#include "base/ascii.h"

#include <arpa/inet.h>
#include <stdio.h>

/* One part of an inet_aton address: decimal, 0-octal or 0x-hexadecimal. */
static bool parse_part(struct koda_span *text, uint64_t *ret_value)
{
	unsigned int base = 10;
	uint64_t value = 0;
	size_t i = 0;

	if (text->len >= 2 && text->ptr[0] == '0' && koda_ascii_lower(text->ptr[1]) == 'x') {
		base = 16;
		i = 2;
	} else if (text->len >= 2 && text->ptr[0] == '0' && text->ptr[1] != '.') {
		base = 8;
		i = 1;
	}
	if (i == text->len || text->ptr[i] == '.')
		return false;
	for (; i < text->len && text->ptr[i] != '.'; i++) {
		int digit = koda_ascii_hex(text->ptr[i]);

		if (digit < 0 || (unsigned int)digit >= base)
			return false;
		value = value * base + (unsigned int)digit;
		if (value > UINT32_MAX)
			return false;
	}
	*text = koda_span_skip(*text, i);
	*ret_value = value;
	return true;
}

bool koda_addr_parse4(struct koda_span text, struct koda_addr *ret_addr)
{
	uint64_t parts[4];
	uint64_t whole = 0;
	size_t count = 0;

	for (;;) {
		if (count == 4 || !parse_part(&text, &parts[count]))
			return false;
		count++;
		if (text.len == 0)
			break;
		text = koda_span_skip(text, 1);
	}
	/* The last part fills all bytes that the others leave. */
	for (size_t i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return false;
		whole |= parts[i] << (24 - 8 * i);
	}
	if (parts[count - 1] >> (8 * (5 - count)))
		return false;
	whole |= parts[count - 1];
	*ret_addr = (struct koda_addr){ .family = 4 };
	for (size_t i = 0; i < 4; i++)
		ret_addr->bytes[i] = (uint8_t)(whole >> (24 - 8 * i));
	return true;
}

struct koda_addr koda_addr_unmap(const struct koda_addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct koda_addr v4 = { .family = 4 };

	if (addr->family != 6 || memcmp(addr->bytes, mapped, sizeof(mapped)) != 0)
		return *addr;
	memcpy(v4.bytes, addr->bytes + 12, 4);
	return v4;
}

bool koda_addr_parse6(struct koda_span text, struct koda_addr *ret_addr)
{
	struct koda_addr addr = { .family = 6 };
	char copy[KODA_ADDR_TEXT];

	if (text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET6, copy, addr.bytes) != 1)
		return false;
	*ret_addr = koda_addr_unmap(&addr);
	return true;
}

void koda_addr_format(const struct koda_addr *addr, char out[static KODA_ADDR_TEXT])
{
	if (!inet_ntop(addr->family == 4 ? AF_INET : AF_INET6, addr->bytes, out, KODA_ADDR_TEXT))
		out[0] = '\0'; /* cannot happen: the room suffices */
}

struct koda_addr koda_addr_mask(const struct koda_addr *addr, unsigned int prefix)
{
	struct koda_addr net = *addr;

	for (unsigned int i = 0; i < sizeof(net.bytes); i++) {
		unsigned int keep = prefix > 8 * i ? prefix - 8 * i : 0;

		if (keep < 8)
			net.bytes[i] &= (uint8_t)(0xff00U >> keep);
	}
	return net;
}

bool koda_addr_equal(const struct koda_addr *a, const struct koda_addr *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, koda_addr_bits(a) / 8) == 0;
}

bool koda_addr_in_net(const struct koda_addr *addr, const struct koda_addr *net,
		      unsigned int prefix)
{
	struct koda_addr masked = koda_addr_mask(addr, prefix);

	return koda_addr_equal(&masked, net);
}

/* The special-purpose registries of IANA, and the addresses where clouds serve instance metadata
 * or host services. Narrow entries stand before the wide ones that contain them. */
static const struct special {
	uint8_t family;
	uint8_t prefix;
	uint8_t class_; /* enum koda_addr_class */
	uint8_t bytes[16];
} specials[] = {
	{ 4, 32, KODA_ADDR_METADATA, { 169, 254, 169, 254 } },
	{ 4, 32, KODA_ADDR_METADATA, { 169, 254, 170, 2 } },
	{ 4, 32, KODA_ADDR_METADATA, { 100, 100, 100, 200 } },
	{ 4, 32, KODA_ADDR_METADATA, { 168, 63, 129, 16 } },
	{ 4, 32, KODA_ADDR_METADATA, { 192, 0, 0, 192 } },
	{ 4, 8, KODA_ADDR_UNSPECIFIED, { 0 } },
	{ 4, 8, KODA_ADDR_PRIVATE, { 10 } },
	{ 4, 10, KODA_ADDR_SHARED, { 100, 64 } },
	{ 4, 8, KODA_ADDR_LOOPBACK, { 127 } },
	{ 4, 16, KODA_ADDR_LINK_LOCAL, { 169, 254 } },
	{ 4, 12, KODA_ADDR_PRIVATE, { 172, 16 } },
	{ 4, 24, KODA_ADDR_RESERVED, { 192, 0, 0 } },
	{ 4, 24, KODA_ADDR_RESERVED, { 192, 0, 2 } },
	{ 4, 24, KODA_ADDR_RESERVED, { 192, 88, 99 } },
	{ 4, 16, KODA_ADDR_PRIVATE, { 192, 168 } },
	{ 4, 15, KODA_ADDR_RESERVED, { 198, 18 } },
	{ 4, 24, KODA_ADDR_RESERVED, { 198, 51, 100 } },
	{ 4, 24, KODA_ADDR_RESERVED, { 203, 0, 113 } },
	{ 4, 4, KODA_ADDR_MULTICAST, { 224 } },
	{ 4, 4, KODA_ADDR_RESERVED, { 240 } },
	{ 6, 128, KODA_ADDR_UNSPECIFIED, { 0 } },
	{ 6, 128, KODA_ADDR_LOOPBACK, { [15] = 1 } },
	{ 6, 128, KODA_ADDR_METADATA, { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 } },
	{ 6, 128, KODA_ADDR_METADATA, { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 } },
	{ 6, 7, KODA_ADDR_PRIVATE, { 0xfc } },
	{ 6, 10, KODA_ADDR_LINK_LOCAL, { 0xfe, 0x80 } },
	{ 6, 10, KODA_ADDR_PRIVATE, { 0xfe, 0xc0 } },
	{ 6, 8, KODA_ADDR_MULTICAST, { 0xff } },
	{ 6, 48, KODA_ADDR_PRIVATE, { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 } },
	{ 6, 23, KODA_ADDR_RESERVED, { 0x20, 0x01 } }, /* Teredo, ORCHID, benchmarks ... */
	{ 6, 32, KODA_ADDR_RESERVED, { 0x20, 0x01, 0x0d, 0xb8 } },
	{ 6, 20, KODA_ADDR_RESERVED, { 0x3f, 0xff } },
};

/* IPv6 forms that carry an IPv4 address: where it stands, and whether the form itself is in use
 * (NAT64 is how IPv6-only networks reach the rest) when what it carries is public. */
static const struct embedding {
	uint8_t prefix;
	uint8_t at;
	bool usable;
	uint8_t bytes[16];
} embeddings[] = {
	{ 96, 12, false, { 0 } },                     /* compatible, RFC 4291 */
	{ 96, 12, false, { [8] = 0xff, 0xff } },      /* translated, RFC 2765 */
	{ 96, 12, true, { 0x00, 0x64, 0xff, 0x9b } }, /* NAT64, RFC 6052 */
	{ 16, 2, false, { 0x20, 0x02 } },             /* 6to4, RFC 3056 */
};

/* The narrowest special range of at most bits prefix bits around addr. */
static const struct special *find_special(const struct koda_addr *addr, unsigned int bits)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(specials); i++) {
		struct koda_addr net = { .family = specials[i].family };

		if (specials[i].prefix > bits)
			continue;
		memcpy(net.bytes, specials[i].bytes, sizeof(net.bytes));
		if (koda_addr_in_net(addr, &net, specials[i].prefix))
			return &specials[i];
	}
	return NULL;
}

/* ISATAP (RFC 5214) puts the IPv4 address behind 0:5efe in the interface identifier of any
 * prefix; the universal bit of the identifier may be set. */
static bool is_isatap(const struct koda_addr *addr)
{
	return (addr->bytes[8] & 0xfdU) == 0 && addr->bytes[9] == 0 && addr->bytes[10] == 0x5e &&
	       addr->bytes[11] == 0xfe;
}

static const struct embedding *find_embedding(const struct koda_addr *addr, unsigned int bits)
{
	static const struct embedding isatap = { 96, 12, false, { 0 } };

	for (size_t i = 0; i < KODA_ARRAY_LEN(embeddings); i++) {
		struct koda_addr net = { .family = 6 };

		memcpy(net.bytes, embeddings[i].bytes, sizeof(net.bytes));
		if (embeddings[i].prefix <= bits &&
		    koda_addr_in_net(addr, &net, embeddings[i].prefix))
			return &embeddings[i];
	}
	return isatap.prefix <= bits && is_isatap(addr) ? &isatap : NULL;
}

/* What the IPv4 address inside leads to; *ret_prefix counts from the start of the outer one. */
static enum koda_addr_class classify_inner(const struct koda_addr *addr, unsigned int bits,
					   const struct embedding *form, unsigned int *ret_prefix)
{
	unsigned int before = 8U * form->at;
	struct koda_addr inner = { .family = 4 };
	const struct special *leads;

	memcpy(inner.bytes, addr->bytes + form->at, 4);
	leads = find_special(&inner, bits > before ? bits - before : 0);
	*ret_prefix = leads ? before + leads->prefix : form->usable ? 0 : form->prefix;
	if (leads)
		return (enum koda_addr_class)leads->class_;
	return form->usable ? KODA_ADDR_PUBLIC : KODA_ADDR_RESERVED;
}

enum koda_addr_class koda_addr_classify_net(const struct koda_addr *net, unsigned int bits,
					    unsigned int *ret_prefix)
{
	const struct special *special = find_special(net, bits);
	const struct embedding *form = net->family == 6 ? find_embedding(net, bits) : NULL;

	if (special) {
		*ret_prefix = special->prefix;
		return (enum koda_addr_class)special->class_;
	}
	if (form)
		return classify_inner(net, bits, form, ret_prefix);
	/* Of all IPv6 only 2000::/3 has been given out. */
	if (net->family == 6 && bits >= 3 && (net->bytes[0] & 0xe0) != 0x20) {
		*ret_prefix = 3;
		return KODA_ADDR_RESERVED;
	}
	*ret_prefix = 0;
	return KODA_ADDR_PUBLIC;
}

bool koda_addr_inner(const struct koda_addr *addr, struct koda_addr *ret_inner)
{
	const struct embedding *form = addr->family == 6 ? find_embedding(addr, 128) : NULL;

	if (!form)
		return false;
	*ret_inner = (struct koda_addr){ .family = 4 };
	memcpy(ret_inner->bytes, addr->bytes + form->at, 4);
	return true;
}

enum koda_addr_class koda_addr_classify(const struct koda_addr *addr, unsigned int *ret_prefix)
{
	struct koda_addr plain = koda_addr_unmap(addr);
	unsigned int ignored;

	return koda_addr_classify_net(&plain, koda_addr_bits(&plain),
				      ret_prefix ? ret_prefix : &ignored);
}

const char *koda_addr_class_name(enum koda_addr_class class_)
{
	switch (class_) {
	case KODA_ADDR_UNSPECIFIED:
		return "unspecified";
	case KODA_ADDR_LOOPBACK:
		return "loopback";
	case KODA_ADDR_PRIVATE:
		return "private";
	case KODA_ADDR_LINK_LOCAL:
		return "link-local";
	case KODA_ADDR_SHARED:
		return "shared";
	case KODA_ADDR_METADATA:
		return "metadata";
	case KODA_ADDR_MULTICAST:
		return "multicast";
	case KODA_ADDR_PUBLIC:
		return "public";
	case KODA_ADDR_RESERVED:
		break;
	}
	return "reserved";
}
