/* SPDX-License-Identifier: MIT */
#include "route/record.h"

#include <stdlib.h>
#include <string.h>

int egress_route_record_set(struct egress_route_record *record, const struct koda_host *host,
			    uint16_t port)
{
	egress_route_record_clear(record);
	return egress_target_of(&record->target, host, port);
}

void egress_route_record_clear(struct egress_route_record *record)
{
	egress_ruleset_unref(record->ruleset);
	free(record->named);
	memset(record, 0, sizeof(*record));
}

bool egress_route_record_is_socket(const struct egress_route_record *record)
{
	return record->upstream && record->upstream->port == 0;
}
