/* SPDX-License-Identifier: MIT */
/* T-70. Checks that a request is for the host of its connection. */
#include "proto/exchange_state.h"
#include "proto/http_parse.h"

bool egress_exchange_is_ours(const struct egress_exchange *x, struct egress_head *head,
			     struct egress_refusal *why)
{
	if (!x->fixed) {
		if (head->form == EGRESS_FORM_AUTHORITY)
			return true;
		if (head->form != EGRESS_FORM_ABSOLUTE)
			return egress_http_refuse(why, 400, "not_a_proxy_request",
						  "this is a proxy: ask for a full http URL, or "
						  "CONNECT");
		if (head->tls)
			return egress_http_refuse(why, 400, "https_needs_connect",
						  "https goes through CONNECT only");
		return true;
	}
	if (head->form == EGRESS_FORM_AUTHORITY)
		return egress_http_refuse(why, 405, "nested_connect",
					  "CONNECT is not possible inside a tunnel");
	if (!head->has_host)
		return egress_http_refuse(why, 400, "bad_host", "there is no Host header");
	if (head->port == 0)
		head->port = x->fixed_tls ? 443 : 80;
	/* T-70. The rules allowed the tunnel for this host only. */
	if (head->port != x->fixed_port ||
	    !egress_http_target_same_host(&head->host, &x->fixed_host) ||
	    (head->form == EGRESS_FORM_ABSOLUTE && head->tls != x->fixed_tls))
		return egress_http_refuse(why, 421, "host_mismatch",
					  "the request is for another host than its tunnel");
	head->tls = x->fixed_tls;
	return true;
}
