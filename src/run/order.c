/* SPDX-License-Identifier: MIT */
/* What the proxy is told. */
#include "base/fd.h"
#include "run/member.h"

#include <errno.h>
#include <string.h>

/* A proxy that takes no order for so long is as good as dead. It never waits for anything but
 * events, so that only one that is stopped, or spins, comes near. */
#define ORDER_NS 2000000000ULL

int koda_egress_tell(const struct koda_egress *egress, const struct koda_egress_message *message,
		     const int *fds, size_t count, struct koda_error *err)
{
	uint64_t deadline = koda_clock_now() + ORDER_NS;
	struct koda_error why = { 0 };
	int r;

	while ((r = koda_fd_send(egress->control, message, sizeof(*message), fds, count, &why)) <
		       0 &&
	       why.sys_errno == EAGAIN && koda_clock_now() < deadline) {
		struct pollfd polled = { .fd = egress->control, .events = POLLOUT };

		(void)poll(&polled, 1, 10);
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

int koda_egress_order(struct koda_member *member, enum koda_egress_kind kind, const int *fds,
		      size_t count, struct koda_error *err)
{
	struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
					       .kind = kind,
					       .id = member->id,
					       .flags = kind == KODA_EGRESS_ADD && member->can_ask
								? (uint32_t)KODA_EGRESS_CAN_ASK
								: 0 };

	if (kind == KODA_EGRESS_ADD && member->token[0]) {
		message.flags |= KODA_EGRESS_TOKEN;
		memcpy(message.text, member->token, sizeof(member->token));
	}
	return koda_egress_tell(member->egress, &message, fds, count, err);
}
