/* SPDX-License-Identifier: MIT */
#include "conn/upstream_connect.h"

#include <errno.h>
#include <sys/socket.h>

/* Bytes of a request, and of a reply with what follows it at once. */
#define BYTES_MAX 16384

void egress_upstream_connect_init(struct egress_upstream_connect *talk,
				  struct egress_budget *budget)
{
	*talk = (struct egress_upstream_connect){ .request = KODA_BUF_INIT(BYTES_MAX),
						  .reply.budget = budget };
}

int egress_upstream_connect_start(struct egress_upstream_connect *talk,
				  const struct egress_upstream_proxy *proxy,
				  const struct egress_target *target)
{
	talk->started = true;
	return egress_upstream_connect(proxy, &target->host, target->port, &talk->request);
}

static enum egress_parse read_reply(struct egress_upstream_connect *talk, int fd,
				    struct egress_head *head)
{
	enum egress_input_state state = EGRESS_INPUT_GOT;
	enum egress_parse parse = EGRESS_MORE;
	struct egress_refusal why;
	size_t len = 0;

	while (parse == EGRESS_MORE && state == EGRESS_INPUT_GOT) {
		state = egress_input_fill(&talk->reply, fd, BYTES_MAX);
		if (state == EGRESS_INPUT_GOT)
			parse = egress_head_find(&talk->scan, egress_input_span(&talk->reply), &len,
						 &why);
	}
	if (parse == EGRESS_MORE && state == EGRESS_INPUT_DRY)
		return EGRESS_MORE;
	if (parse != EGRESS_DONE ||
	    !egress_head_response((struct koda_span){ talk->reply.bytes, len }, head, &why) ||
	    head->status < 200 || head->status > 299)
		return EGRESS_BAD;
	egress_input_take(&talk->reply, len);
	return EGRESS_DONE;
}

enum egress_parse egress_upstream_connect_run(struct egress_upstream_connect *talk, int fd,
					      struct egress_head *head)
{
	while (talk->sent < talk->request.len) {
		ssize_t n = send(fd, talk->request.ptr + talk->sent, talk->request.len - talk->sent,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? EGRESS_MORE : EGRESS_BAD;
		talk->sent += (size_t)n;
	}
	return read_reply(talk, fd, head);
}

void egress_upstream_connect_clear(struct egress_upstream_connect *talk)
{
	koda_buf_clear(&talk->request);
	egress_input_clear(&talk->reply);
}
