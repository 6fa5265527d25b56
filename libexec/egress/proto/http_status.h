/* SPDX-License-Identifier: MIT */
/* The statuses of the proxy's own answers. */
#ifndef KODA_EGRESS_PROTO_HTTP_STATUS_H
#define KODA_EGRESS_PROTO_HTTP_STATUS_H

#include "wire/egress.h"

struct egress_http_status {
	int status;
	enum koda_egress_reason reason; /* of a refusal whose code is not a reason's */
	const char *phrase;
	const char *advice; /* what the reader of the answer can do */
};

/* Returns the row of a status, or NULL if the proxy does not answer with it. */
const struct egress_http_status *egress_http_status_find(int status);

#endif
