/* SPDX-License-Identifier: MIT */
/* T-70. Parses where a request goes. Target and Host must name one host. */
#include "proto/http_parse.h"

#define PORT_HTTP  80
#define PORT_HTTPS 443

static bool bad_target(struct egress_refusal *why, const char *text)
{
	return egress_http_refuse(why, 400, "bad_target", text);
}

/* Parses HOST, HOST:PORT or [V6]:PORT; *ret_port is 0 without a port. */
static bool read_authority(struct koda_span text, struct koda_host *host, uint16_t *ret_port,
			   struct egress_refusal *why)
{
	struct koda_span name;

	if (text.len && memchr(text.ptr, '@', text.len))
		return bad_target(why, "user names and passwords cannot be in a target");
	if (koda_host_split(text, &name, ret_port, NULL) < 0)
		return egress_http_refuse(why, 400, "bad_host", "the port is not a number");
	if (name.len && name.ptr[0] != '[' && memchr(name.ptr, ':', name.len))
		return egress_http_refuse(why, 400, "bad_host", "an IPv6 address needs brackets");
	if (koda_host_parse(name, host, NULL) < 0)
		return egress_http_refuse(why, 400, "bad_host",
					  "the host is neither a name nor an address");
	return true;
}

bool egress_http_target_same_host(const struct koda_host *a, const struct koda_host *b)
{
	if (a->is_addr != b->is_addr)
		return false;
	if (a->is_addr)
		return koda_addr_equal(&a->addr, &b->addr);
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* Parses scheme://authority[/path][?query]. */
static bool read_absolute(struct egress_head *head, size_t scheme, struct koda_span *ret_authority,
			  struct egress_refusal *why)
{
	struct koda_span rest = koda_span_skip(head->target, scheme);
	size_t len = 0;

	while (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?')
		len++;
	*ret_authority = (struct koda_span){ rest.ptr, len };
	head->form = EGRESS_FORM_ABSOLUTE;
	head->path = koda_span_skip(rest, len);
	if (!read_authority(*ret_authority, &head->host, &head->port, why))
		return false;
	if (head->port == 0)
		head->port = head->tls ? PORT_HTTPS : PORT_HTTP;
	head->has_host = true;
	return true;
}

static bool begins_with(struct koda_span text, const char *lower, size_t len)
{
	return text.len >= len && egress_http_same((struct koda_span){ text.ptr, len }, lower);
}

/* Determines the form of the target. *ret_authority is empty if Host has to name the host. */
static bool read_form(struct egress_head *head, struct koda_span *ret_authority,
		      struct egress_refusal *why)
{
	struct koda_span target = head->target;

	*ret_authority = (struct koda_span){ NULL, 0 };
	if (koda_span_is(head->method, "CONNECT")) {
		*ret_authority = target;
		head->form = EGRESS_FORM_AUTHORITY;
		head->has_host = true;
		if (!read_authority(target, &head->host, &head->port, why))
			return false;
		return head->port ? true : bad_target(why, "CONNECT needs HOST:PORT");
	}
	if (target.ptr[0] == '/') {
		head->form = EGRESS_FORM_ORIGIN;
		head->path = target;
		return true;
	}
	if (koda_span_is(target, "*")) {
		head->form = EGRESS_FORM_ASTERISK;
		head->path = target;
		return koda_span_is(head->method, "OPTIONS")
			       ? true
			       : bad_target(why, "only OPTIONS can be for *");
	}
	if (begins_with(target, "http://", 7))
		return read_absolute(head, 7, ret_authority, why);
	head->tls = begins_with(target, "https://", 8);
	if (head->tls)
		return read_absolute(head, 8, ret_authority, why);
	return bad_target(why, "the target is neither a path nor an http URL");
}

/* Finds the Host header; *ret_host is NULL without one. Returns false if there are two. */
static bool find_host(const struct egress_head *head, const struct egress_header **ret_host,
		      struct egress_refusal *why)
{
	*ret_host = NULL;
	for (size_t i = 0; i < head->count; i++) {
		if (head->headers[i].kind != EGRESS_NAME_HOST)
			continue;
		if (*ret_host)
			return egress_http_refuse(why, 400, "bad_host",
						  "there are two Host headers");
		*ret_host = &head->headers[i];
	}
	if (!*ret_host && head->minor == 1)
		return egress_http_refuse(why, 400, "bad_host", "there is no Host header");
	return true;
}

/* Returns whether Host and the target name one host. */
static bool is_same(const struct egress_head *head, struct koda_span value,
		    struct egress_refusal *why)
{
	struct koda_host host = { .is_addr = false };
	uint16_t port = 0;

	if (!read_authority(value, &host, &port, why))
		return false;
	/* Without a port, Host means the default port of the scheme. CONNECT has no scheme, and
	 * some clients omit the port in its Host. */
	if (port == 0 && head->form == EGRESS_FORM_AUTHORITY)
		port = head->port;
	else if (port == 0)
		port = head->tls ? PORT_HTTPS : PORT_HTTP;
	if (port != head->port || !egress_http_target_same_host(&host, &head->host))
		return egress_http_refuse(why, 400, "host_mismatch",
					  "Host and the request target name different hosts");
	return true;
}

bool egress_http_target(struct egress_head *head, struct egress_refusal *why)
{
	const struct egress_header *header;
	struct koda_span authority;

	if (!find_host(head, &header, why) || !read_form(head, &authority, why))
		return false;
	if (!header)
		return true;
	if (authority.len == 0) {
		head->has_host = true;
		return read_authority(header->value, &head->host, &head->port, why);
	}
	return koda_span_eq(authority, header->value) || is_same(head, header->value, why);
}
