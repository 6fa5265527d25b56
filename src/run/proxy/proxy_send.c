/* SPDX-License-Identifier: MIT */
/* Messages from the host to the proxy process. */
#include "base/clock.h"
#include "base/fd.h"
#include "run/proxy/listener.h"

#include <errno.h>
#include <string.h>

/* How long a message may wait for room in the socket. The process never blocks outside its event
 * loop, so only one that is stopped or spins takes that long. */
#define ORDER_NS 2000000000ULL

int koda_proxy_send(const struct koda_proxy *proxy, const struct koda_egress_message *message,
		    const int *fds, size_t count, struct koda_error *err)
{
	uint64_t deadline = koda_clock_now() + ORDER_NS;
	struct koda_error why = { 0 };
	int r;

	while ((r = koda_fd_send(proxy->control, message, sizeof(*message), fds, count, &why)) <
		       0 &&
	       why.sys_errno == EAGAIN && koda_clock_now() < deadline) {
		struct pollfd polled = { .fd = proxy->control, .events = POLLOUT };

		(void)poll(&polled, 1, 10);
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

int koda_proxy_send_order(struct koda_listener *listener, enum koda_egress_kind kind,
			  const int *fds, size_t count, struct koda_error *err)
{
	struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
					       .kind = kind,
					       .id = listener->id,
					       .flags = kind == KODA_EGRESS_ADD && listener->can_ask
								? (uint32_t)KODA_EGRESS_CAN_ASK
								: 0 };

	if (kind == KODA_EGRESS_ADD && listener->blob.all_passthrough)
		message.flags |= KODA_EGRESS_TLS_PASSTHROUGH;
	if (kind == KODA_EGRESS_ADD && listener->token[0]) {
		message.flags |= KODA_EGRESS_TOKEN;
		memcpy(message.text, listener->token, sizeof(listener->token));
	}
	return koda_proxy_send(listener->proxy, &message, fds, count, err);
}
