/* SPDX-License-Identifier: MIT */
/* Output of an exchange: heads and answers that wait for room, and refusals. */
#include "proto/exchange_state.h"

/* Size up to which a buffer is kept for the next request. */
#define KEEP_MAX ((size_t)8192)

void egress_exchange_text_reset(struct egress_exchange_text *text)
{
	if (text->buf.cap > KEEP_MAX)
		koda_buf_clear(&text->buf);
	text->buf.len = 0;
	text->sent = 0;
}

bool egress_exchange_flush(struct egress_exchange *x, enum egress_side side,
			   struct egress_port port[static 2], struct egress_output *out)
{
	struct egress_exchange_text *text = &x->out[side];
	size_t len = text->buf.len - text->sent;

	if (len > port[side].room)
		len = port[side].room;
	if (len == 0)
		return false;
	egress_exchange_send(port, side, (struct koda_span){ text->buf.ptr + text->sent, len },
			     out);
	text->sent += len;
	return true;
}

void egress_exchange_send(struct egress_port port[static 2], enum egress_side to,
			  struct koda_span bytes, struct egress_output *out)
{
	out->side = to;
	out->bytes = bytes;
	port[to].room -= bytes.len;
}

void egress_exchange_fail(struct egress_exchange *x, const struct egress_refusal *why)
{
	char authority[EGRESS_AUTHORITY_MAX] = "";
	char answer[EGRESS_ANSWER_MAX];
	size_t len;

	if (x->state == EGRESS_STATE_END)
		return;
	x->drop_origin = x->has_origin;
	/* An upgraded connection was logged with its upgrade. */
	x->log_due = x->state != EGRESS_STATE_RAW || x->log_due;
	x->state = EGRESS_STATE_END;
	x->refused = true;
	x->refusal = *why;
	if (why->rule.len > sizeof(x->rule))
		x->refusal.rule.len = sizeof(x->rule);
	if (x->refusal.rule.len)
		memcpy(x->rule, why->rule.ptr, x->refusal.rule.len);
	x->refusal.rule.ptr = x->rule;
	if (x->answered) {
		/* The client has got the head of a response, so the response is cut off. */
		egress_exchange_text_reset(&x->out[EGRESS_CLIENT]);
		return;
	}
	if (x->has_request)
		(void)egress_http_write_authority(&x->host, x->port, authority);
	len = egress_answer(&x->refusal, koda_span_of(authority), x->is_head, answer);
	/* An interim response may wait in the buffer. */
	if (koda_buf_add(&x->out[EGRESS_CLIENT].buf, answer, len) == KODA_OK)
		x->status = x->refusal.status;
}
