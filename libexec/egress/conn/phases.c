/* SPDX-License-Identifier: MIT */
#include "conn/phases.h"

const struct egress_conn_phase *const egress_phases[EGRESS_PHASE_COUNT] = {
	[EGRESS_PHASE_TOKEN] = &egress_token_phase,
	[EGRESS_PHASE_GREETING] = &egress_greeting_phase,
	[EGRESS_PHASE_SOCKS] = &egress_socks_phase,
	[EGRESS_PHASE_CONNECT] = &egress_connect_phase,
	[EGRESS_PHASE_TUNNEL] = &egress_tunnel_phase,
	[EGRESS_PHASE_HTTP] = &egress_http_phase,
	[EGRESS_PHASE_HTTP_IN_TUNNEL] = &egress_http_in_tunnel_phase,
	[EGRESS_PHASE_TERMINATION] = &egress_termination_phase,
};
