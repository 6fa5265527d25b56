/* SPDX-License-Identifier: MIT */
/* Writes heads for the next hop, without hop-by-hop headers; framing is written anew. */
#include "proto/http_parse.h"

#include <stdio.h>

/* Bytes besides headers, target, reason and credentials: versions, blanks, authorities, Connection,
 * line ends, and a new length. */
#define FIXED_MAX (2 * EGRESS_AUTHORITY_MAX + 256)

/* Writes into room that was reserved for the whole head. */
struct pen {
	char *at;
};

static void put(struct pen *pen, struct koda_span bytes)
{
	if (bytes.len)
		memcpy(pen->at, bytes.ptr, bytes.len);
	pen->at += bytes.len;
}

static void put_text(struct pen *pen, const char *text)
{
	put(pen, koda_span_of(text));
}

size_t egress_http_write_authority(const struct koda_host *host, uint16_t port,
				   char out[static EGRESS_AUTHORITY_MAX])
{
	bool v6 = host->is_addr && host->addr.family == 6;
	char text[KODA_ADDR_TEXT];
	int len;

	if (host->is_addr)
		koda_addr_format(&host->addr, text);
	len = snprintf(out, EGRESS_AUTHORITY_MAX, "%s%s%s", v6 ? "[" : "",
		       host->is_addr ? text : host->name, v6 ? "]" : "");
	if (len > 0 && port)
		len += snprintf(out + len, EGRESS_AUTHORITY_MAX - (size_t)len, ":%u",
				(unsigned int)port);
	return len < 0 ? 0 : (size_t)len;
}

static size_t headers_size(const struct egress_head *head)
{
	size_t size = 0;

	/* A length may be longer than the one that was read; FIXED_MAX covers that. */
	for (size_t i = 0; i < head->count; i++)
		size += head->headers[i].name.len + head->headers[i].value.len + 4;
	return size;
}

static void put_length(struct pen *pen, uint64_t length)
{
	char line[48];
	int len = snprintf(line, sizeof(line), "Content-Length: %llu\r\n",
			   (unsigned long long)length);

	put(pen, (struct koda_span){ line, len < 0 ? 0 : (size_t)len });
}

/* Writes the headers. framed: the message may say how long its body is. */
static void put_headers(struct pen *pen, const struct egress_head *head, bool framed, bool upgrade)
{
	for (size_t i = 0; i < head->count; i++) {
		const struct egress_header *header = &head->headers[i];

		switch (header->kind) {
		case EGRESS_NAME_HOST:
		case EGRESS_NAME_CONNECTION:
		case EGRESS_NAME_HOP:
			continue;
		case EGRESS_NAME_CONTENT_LENGTH:
			if (framed)
				put_length(pen, head->length);
			continue;
		case EGRESS_NAME_TRANSFER_ENCODING:
			if (framed)
				put_text(pen, "Transfer-Encoding: chunked\r\n");
			continue;
		case EGRESS_NAME_UPGRADE:
			if (!upgrade)
				continue;
			break;
		case EGRESS_NAME_OTHER:
		case EGRESS_NAME_EXPECT:
			if (header->hop)
				continue;
			break;
		}
		put(pen, header->name);
		put(pen, (struct koda_span){ ": ", 2 });
		put(pen, header->value);
		put(pen, (struct koda_span){ "\r\n", 2 });
	}
}

static void put_connection(struct pen *pen, bool upgrade, bool close)
{
	if (upgrade)
		put_text(pen, "Connection: Upgrade\r\n");
	else if (close)
		put_text(pen, "Connection: close\r\n");
	put_text(pen, "\r\n");
}

static void put_target(struct pen *pen, const struct egress_head *head, bool absolute,
		       const char *authority)
{
	bool asterisk = head->form == EGRESS_FORM_ASTERISK;

	if (absolute) {
		put_text(pen, head->tls ? "https://" : "http://");
		put_text(pen, authority);
	}
	/* RFC 9112 3.2.4: "OPTIONS *" becomes the bare authority for a proxy, and vice versa. */
	if (!absolute && head->path.len == 0 && koda_span_is(head->method, "OPTIONS"))
		put_text(pen, "*");
	else if (asterisk ? !absolute : head->path.len > 0 && head->path.ptr[0] == '/')
		put(pen, head->path);
	else if (!asterisk) {
		put_text(pen, "/");
		put(pen, head->path);
	}
}

int egress_head_write_request(const struct egress_head *head, const struct egress_route *route,
			      bool close, struct koda_buf *out)
{
	char authority[EGRESS_AUTHORITY_MAX];
	struct pen pen;
	char *start;
	int r;

	r = koda_buf_room(out,
			  headers_size(head) + head->method.len + head->path.len + route->auth.len +
				  FIXED_MAX,
			  &start);
	if (r < 0)
		return r;
	pen.at = start;
	(void)egress_http_write_authority(
		&head->host, head->port == (head->tls ? 443 : 80) ? 0 : head->port, authority);
	put(&pen, head->method);
	put_text(&pen, " ");
	put_target(&pen, head, route->via_proxy, authority);
	put_text(&pen, head->minor ? " HTTP/1.1\r\nHost: " : " HTTP/1.0\r\nHost: ");
	put_text(&pen, authority);
	put_text(&pen, "\r\n");
	put_headers(&pen, head, true, head->upgrade);
	if (route->via_proxy && route->auth.len) {
		put_text(&pen, "Proxy-Authorization: ");
		put(&pen, route->auth);
		put_text(&pen, "\r\n");
	}
	put_connection(&pen, head->upgrade, close);
	koda_buf_grew(out, (size_t)(pen.at - start));
	return KODA_OK;
}

int egress_head_write_response(const struct egress_head *head, bool close, struct koda_buf *out)
{
	/* RFC 9110 8.6: parsers disagree about a length in these responses. */
	bool framed = head->status >= 200 && head->status != 204;
	bool upgrade = head->upgrade && head->status == 101;
	char line[32];
	struct pen pen;
	char *start;
	int len;
	int r;

	r = koda_buf_room(out, headers_size(head) + head->reason.len + FIXED_MAX, &start);
	if (r < 0)
		return r;
	pen.at = start;
	len = snprintf(line, sizeof(line), "HTTP/1.1 %03d ", head->status);
	put(&pen, (struct koda_span){ line, len < 0 ? 0 : (size_t)len });
	put(&pen, head->reason);
	put_text(&pen, "\r\n");
	put_headers(&pen, head, framed, upgrade);
	put_connection(&pen, upgrade, close);
	koda_buf_grew(out, (size_t)(pen.at - start));
	return KODA_OK;
}
