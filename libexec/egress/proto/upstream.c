/* SPDX-License-Identifier: MIT */
#include "proto/upstream.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/wipe.h"
#include "proto/http_head.h"

#define USERINFO_MAX 1024 /* "user:password", decoded */
#define PROXY_PORT   80   /* default port */

/* One entry of NO_PROXY. */
struct egress_bypass {
	struct koda_host host; /* a name with its subdomains, or an address */
	unsigned int prefix;   /* bits of an address */
	uint16_t port;         /* 0: any */
};

static void proxy_clear(struct egress_upstream_proxy *proxy)
{
	/* Wipes the password. */
	if (proxy->auth)
		koda_wipe(proxy->auth, strlen(proxy->auth));
	free(proxy->auth);
	*proxy = (struct egress_upstream_proxy){ .set = false };
}

void egress_upstream_clear(struct egress_upstream *up)
{
	proxy_clear(&up->http);
	proxy_clear(&up->https);
	free(up->bypass);
	*up = (struct egress_upstream){ .bypass = NULL };
}

static int bad(struct koda_error *err, const char *name, const char *why)
{
	return koda_fail_at(err, KODA_E_INVALID, 0, name, "%s", why);
}

static struct koda_span trim(struct koda_span text)
{
	while (text.len && (*text.ptr == ' ' || *text.ptr == '\t'))
		text = koda_span_skip(text, 1);
	while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* Returns the value of a variable, or NULL if it is unset or blank. Lower case takes precedence, as
 * in curl. */
static const char *lookup(char *const *envp, const char *lower, const char *upper)
{
	const char *found = NULL;

	for (char *const *e = envp; e && *e; e++) {
		const char *equals = strchr(*e, '=');
		struct koda_span name;

		if (!equals || trim(koda_span_of(equals + 1)).len == 0)
			continue;
		name = (struct koda_span){ *e, (size_t)(equals - *e) };
		if (koda_span_is(name, lower))
			return equals + 1;
		if (!found && koda_span_is(name, upper))
			found = equals + 1;
	}
	return found;
}

static char *base64(struct koda_span in, const char *before)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t head = strlen(before);
	char *text = malloc(head + (in.len + 2) / 3 * 4 + 1);
	char *p = text;

	if (!text)
		return NULL;
	memcpy(p, before, head);
	p += head;
	for (size_t i = 0; i < in.len; i += 3) {
		size_t left = in.len - i;
		unsigned int n = (unsigned int)(unsigned char)in.ptr[i] << 16;

		if (left > 1)
			n |= (unsigned int)(unsigned char)in.ptr[i + 1] << 8;
		if (left > 2)
			n |= (unsigned char)in.ptr[i + 2];
		*p++ = digits[n >> 18];
		*p++ = digits[n >> 12 & 63];
		*p++ = left > 1 ? digits[n >> 6 & 63] : '=';
		*p++ = left > 2 ? digits[n & 63] : '=';
	}
	*p = '\0';
	return text;
}

/* Decodes %XX. Returns the length, or -1. */
static int decode(struct koda_span in, char out[static USERINFO_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < in.len; i++) {
		char c = in.ptr[i];

		if (at == USERINFO_MAX)
			return -1;
		if (c == '%') {
			int high = i + 2 < in.len ? koda_ascii_hex(in.ptr[i + 1]) : -1;
			int low = i + 2 < in.len ? koda_ascii_hex(in.ptr[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -1;
			c = (char)(high << 4 | low);
			i += 2;
		}
		/* RFC 7617 forbids control characters in both parts. */
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return -1;
		out[at++] = c;
	}
	return (int)at;
}

static int read_userinfo(struct egress_upstream_proxy *proxy, struct koda_span info,
			 const char *name, struct koda_error *err)
{
	const char *colon = info.len ? memchr(info.ptr, ':', info.len) : NULL;
	size_t user_len = colon ? (size_t)(colon - info.ptr) : info.len;
	char plain[USERINFO_MAX + 1];
	struct koda_span user = { info.ptr, user_len };
	int len = decode(info, plain);
	int r = KODA_OK;

	/* An escaped colon in the user name would end it too early. */
	for (size_t i = 0; i + 2 < user.len; i++)
		if (memcmp(user.ptr + i, "%3A", 3) == 0 || memcmp(user.ptr + i, "%3a", 3) == 0)
			len = -1;
	if (len < 0) {
		r = bad(err, name, "the user name or password in it cannot be read");
	} else {
		if (!colon)
			plain[len++] = ':';
		proxy->auth = base64((struct koda_span){ plain, (size_t)len }, "Basic ");
		if (!proxy->auth)
			r = koda_fail_nomem(err);
	}
	koda_wipe(plain, sizeof(plain));
	return r;
}

static bool starts_with(struct koda_span text, const char *lower)
{
	size_t len = strlen(lower);

	return text.len >= len && strncasecmp(text.ptr, lower, len) == 0;
}

/* Parses [http://][user[:password]@]host[:port][/]. */
static int read_proxy(struct egress_upstream_proxy *proxy, const char *value, const char *name,
		      struct koda_error *err)
{
	struct koda_span url = trim(koda_span_of(value));
	struct koda_span host;
	const char *at;
	int r;

	if (url.len > EGRESS_PROXY_URL_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, name, "longer than %d bytes",
				    EGRESS_PROXY_URL_MAX);
	if (starts_with(url, "https://"))
		return bad(err, name,
			   "a proxy that itself speaks TLS is not supported; use http://");
	if (starts_with(url, "socks"))
		return bad(err, name, "a SOCKS proxy is not supported; use http://");
	if (starts_with(url, "http://"))
		url = koda_span_skip(url, 7);
	else if (url.len && memmem(url.ptr, url.len, "://", 3))
		return bad(err, name, "not a URL of an HTTP proxy");
	if (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	at = url.len ? memrchr(url.ptr, '@', url.len) : NULL;
	if (at) {
		size_t len = (size_t)(at - url.ptr);

		r = read_userinfo(proxy, (struct koda_span){ url.ptr, len }, name, err);
		if (r < 0)
			return r;
		url = koda_span_skip(url, len + 1);
	}
	if (koda_host_split(url, &host, &proxy->port, NULL) < 0 ||
	    koda_host_parse(host, &proxy->host, NULL) < 0)
		return bad(err, name, "has no host and port that can be understood");
	if (proxy->port == 0)
		proxy->port = PROXY_PORT;
	proxy->set = true;
	return KODA_OK;
}

/* Parses ADDRESS/BITS. Returns false if text is not a network. */
static bool read_net(struct koda_span text, struct egress_bypass *entry)
{
	const char *slash = memchr(text.ptr, '/', text.len);
	struct koda_span addr = { text.ptr, slash ? (size_t)(slash - text.ptr) : 0 };
	struct koda_span bits = slash ? koda_span_skip(text, addr.len + 1) : text;
	unsigned int n = 0;

	if (!slash || bits.len == 0 || bits.len > 3 ||
	    koda_host_parse(addr, &entry->host, NULL) < 0 || !entry->host.is_addr)
		return false;
	for (size_t i = 0; i < bits.len; i++) {
		if (!koda_ascii_is_digit(bits.ptr[i]))
			return false;
		n = n * 10 + (unsigned int)(bits.ptr[i] - '0');
	}
	/* An IPv4-mapped network has become an IPv4 one; its prefix is 96 bits shorter. */
	if (entry->host.addr.family == 4 && memchr(addr.ptr, ':', addr.len)) {
		if (n < 96)
			return false;
		n -= 96;
	}
	entry->prefix = n;
	return n <= koda_addr_bits(&entry->host.addr);
}

/* Parses one entry. Returns false if it is invalid. */
static bool read_bypass(struct koda_span text, struct egress_bypass *entry)
{
	struct koda_span host;

	*entry = (struct egress_bypass){ .port = 0 };
	if (memchr(text.ptr, '/', text.len))
		return read_net(text, entry);
	if (starts_with(text, "*."))
		text = koda_span_skip(text, 1);
	if (text.len > 1 && text.ptr[0] == '.')
		text = koda_span_skip(text, 1);
	if (koda_host_split(text, &host, &entry->port, NULL) < 0 ||
	    koda_host_parse(host, &entry->host, NULL) < 0)
		return false;
	entry->prefix = entry->host.is_addr ? koda_addr_bits(&entry->host.addr) : 0;
	return true;
}

/* Removes the next entry, delimited by commas or blanks, from *rest. */
static struct koda_span next_entry(struct koda_span *rest)
{
	struct koda_span entry;

	while (rest->len && strchr(", \t", *rest->ptr))
		*rest = koda_span_skip(*rest, 1);
	entry = (struct koda_span){ rest->ptr, 0 };
	while (rest->len && !strchr(", \t", *rest->ptr)) {
		*rest = koda_span_skip(*rest, 1);
		entry.len++;
	}
	return entry;
}

static int read_no_proxy(struct egress_upstream *up, const char *value, struct koda_error *err)
{
	struct koda_span rest = koda_span_of(value);
	struct koda_span entry;
	size_t count = 0;

	if (rest.len > EGRESS_NO_PROXY_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, "NO_PROXY", "longer than 64 KiB");
	while (next_entry(&rest).len)
		count++;
	if (count > EGRESS_BYPASS_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, "NO_PROXY", "more than %d entries",
				    EGRESS_BYPASS_MAX);
	up->bypass = calloc(count ? count : 1, sizeof(*up->bypass));
	if (!up->bypass)
		return koda_fail_nomem(err);
	rest = koda_span_of(value);
	while ((entry = next_entry(&rest)).len) {
		if (koda_span_is(entry, "*"))
			up->bypass_all = true;
		else if (read_bypass(entry, &up->bypass[up->bypass_count]))
			up->bypass_count++;
		/* Other programs skip invalid entries too; the proxy is used then. */
	}
	return KODA_OK;
}

int egress_upstream_read(struct egress_upstream *up, char *const *envp, struct koda_error *err)
{
	const char *all = lookup(envp, "all_proxy", "ALL_PROXY");
	const char *http = lookup(envp, "http_proxy", "HTTP_PROXY");
	const char *https = lookup(envp, "https_proxy", "HTTPS_PROXY");
	const char *no_proxy = lookup(envp, "no_proxy", "NO_PROXY");
	int r = KODA_OK;

	if (http || all)
		r = read_proxy(&up->http, http ? http : all, http ? "HTTP_PROXY" : "ALL_PROXY",
			       err);
	if (r == KODA_OK && (https || all))
		r = read_proxy(&up->https, https ? https : all, https ? "HTTPS_PROXY" : "ALL_PROXY",
			       err);
	if (r == KODA_OK && no_proxy)
		r = read_no_proxy(up, no_proxy, err);
	if (r < 0)
		egress_upstream_clear(up);
	return r;
}

static bool matches(const struct egress_bypass *entry, const struct koda_host *host, uint16_t port)
{
	const struct koda_host *below = &entry->host;

	if ((entry->port && entry->port != port) || below->is_addr != host->is_addr)
		return false;
	if (host->is_addr)
		return koda_addr_in_net(&host->addr, &below->addr, entry->prefix);
	if (host->len < below->len ||
	    memcmp(host->name + host->len - below->len, below->name, below->len) != 0)
		return false;
	return host->len == below->len || host->name[host->len - below->len - 1] == '.';
}

const struct egress_upstream_proxy *egress_upstream_for(const struct egress_upstream *up,
							const struct koda_host *host, uint16_t port,
							bool tls)
{
	const struct egress_upstream_proxy *proxy = tls ? &up->https : &up->http;

	if (!proxy->set || up->bypass_all)
		return NULL;
	for (size_t i = 0; i < up->bypass_count; i++)
		if (matches(&up->bypass[i], host, port))
			return NULL;
	return proxy;
}

int egress_upstream_connect(const struct egress_upstream_proxy *proxy, const struct koda_host *host,
			    uint16_t port, struct koda_buf *out)
{
	char authority[EGRESS_AUTHORITY_MAX];

	(void)egress_http_write_authority(host, port, authority);
	return koda_buf_addf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", authority,
			     authority, proxy->auth ? "Proxy-Authorization: " : "",
			     proxy->auth ? proxy->auth : "", proxy->auth ? "\r\n" : "");
}
