/* SPDX-License-Identifier: MIT */
#include "route/target.h"

#include "base/error.h"

int egress_target_set(struct egress_target *target, struct koda_span host, uint16_t port,
		      struct koda_error *err)
{
	struct koda_host parsed;
	int r = koda_host_parse(host, &parsed, err);

	if (r == KODA_OK)
		r = egress_target_of(target, &parsed, port);
	return r == KODA_OK ? r : koda_fail(err, r, 0, "not a host and port");
}

int egress_target_of(struct egress_target *target, const struct koda_host *host, uint16_t port)
{
	if (port == 0)
		return KODA_E_POLICY;
	target->host = *host;
	target->port = port;
	if (target->host.is_addr)
		koda_addr_format(&target->host.addr, target->text);
	else
		memcpy(target->text, target->host.name, target->host.len + 1);
	return KODA_OK;
}

bool egress_target_equal(const struct egress_target *a, const struct egress_target *b)
{
	return a->port == b->port && strcmp(a->text, b->text) == 0;
}

static bool is_below(const struct koda_host *host, struct koda_span name)
{
	size_t len = name.len;

	return host->len >= len && memcmp(host->name + host->len - len, name.ptr, len) == 0 &&
	       (host->len == len || host->name[host->len - len - 1] == '.');
}

const struct koda_addr *egress_target_address(const struct egress_target *target)
{
	static const struct koda_addr loopback = { .family = 4, .bytes = { 127, 0, 0, 1 } };
	/* RFC 6761, with subdomains, and the names in common hosts files. */
	static const char *const names[] = {
		"localhost",    "localhost.localdomain",   "localhost4",
		"localhost6",   "localhost4.localdomain4", "localhost6.localdomain6",
		"ip6-loopback", "ip6-localhost",
	};

	if (target->host.is_addr)
		return &target->host.addr;
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		if (is_below(&target->host, koda_span_of(names[i])))
			return &loopback;
	return NULL;
}
