/* SPDX-License-Identifier: MIT */
#include "serve.h"

/* Tells the client why the connection ends. */
static void tell_end(struct fscompat_conn *conn, const struct koda_error *why)
{
	fscompat_auto_reply struct fscompat_reply reply = { .failure = KODA_OK };

	fscompat_reply_error(&reply, FSCOMPAT_CODE_PROTOCOL, koda_span_of(why->field),
			     why->message);
	if (fscompat_reply_end(&reply, NULL) == KODA_OK)
		(void)!fscompat_conn_write(conn, koda_buf_span(&reply.frame), NULL);
}

/* Returns 1 if there may be another request, 0 if this was the last one. */
static int serve_request(struct fscompat_conn *conn, struct fscompat_worker *worker,
			 const struct fscompat_request *request, struct koda_error *err)
{
	fscompat_auto_reply struct fscompat_reply reply = { .failure = KODA_OK };
	bool is_last = request->op == KODA_FS_OP_SHUTDOWN;
	int r = 1;

	if (is_last) {
		fscompat_reply_begin(&reply, "{\"kind\":\"pong\"");
		r = fscompat_reply_end(&reply, err) < 0 ? KODA_E_NOMEM : 1;
	} else {
		r = fscompat_operate(worker, request, conn->stop, &reply, err);
	}
	if (r > 0)
		r = fscompat_conn_write(conn, koda_buf_span(&reply.frame), err);
	return is_last && r > 0 ? 0 : r;
}

int fscompat_serve(struct fscompat_conn *conn, struct fscompat_worker *worker,
		   struct koda_error *err)
{
	for (;;) {
		fscompat_auto_request struct fscompat_request request = FSCOMPAT_REQUEST_INIT;
		struct koda_span payload;
		int r = fscompat_conn_read(conn, &payload, err);

		if (r == 0)
			return KODA_OK;
		if (r > 0)
			r = fscompat_request_read(payload, &request, err);
		if (r < 0) {
			tell_end(conn, err);
			return r;
		}
		r = serve_request(conn, worker, &request, err);
		if (r <= 0)
			return r;
	}
}
