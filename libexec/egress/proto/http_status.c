/* SPDX-License-Identifier: MIT */
#include "proto/http_status.h"

#include "base/macros.h"

#include <stddef.h>

static const char not_allowed[] =
	"The sandbox's policy decides this; trying again will not help. Use an allowed host, or "
	"ask the user to allow this one.";
static const char unreachable[] =
	"The destination was allowed but could not be reached; trying again later may help.";
static const char not_forwarded[] = "The request was not forwarded.";

static const struct egress_http_status rows[] = {
	{ 400, KODA_EGRESS_BAD_REQUEST, "Bad Request", not_forwarded },
	{ 403, KODA_EGRESS_NOT_LISTED, "Forbidden", not_allowed },
	{ 405, KODA_EGRESS_BAD_METHOD, "Method Not Allowed", not_forwarded },
	{ 408, KODA_EGRESS_CLIENT_TIMEOUT, "Request Timeout", not_forwarded },
	{ 421, KODA_EGRESS_MISDIRECTED, "Misdirected Request", not_forwarded },
	{ 431, KODA_EGRESS_HEAD_TOO_LARGE, "Request Header Fields Too Large", not_forwarded },
	{ 502, KODA_EGRESS_BAD_RESPONSE, "Bad Gateway", unreachable },
	{ 503, KODA_EGRESS_LIMIT, "Service Unavailable", unreachable },
	{ 504, KODA_EGRESS_CONNECT_TIMEOUT, "Gateway Timeout", unreachable },
};

const struct egress_http_status *egress_http_status_find(int status)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++)
		if (rows[i].status == status)
			return &rows[i];
	return NULL;
}
