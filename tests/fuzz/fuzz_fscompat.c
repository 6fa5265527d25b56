/* SPDX-License-Identifier: MIT */
/*
 * What a client of the older file worker sends, cut into frames and decoded as
 * koda-fs-worker-compat does. A request that is decoded has all that its operation needs, lies
 * within what came, and its texts can be written as a reply, which is a frame again and valid JSON.
 */
#include "target.h"

#include "frame.h"
#include "place.h"
#include "policy/json.h"
#include "reply.h"
#include "request.h"

static void check_reply(struct fscompat_reply *reply)
{
	koda_auto_json struct koda_json *document = NULL;
	size_t need;

	CHECK(fscompat_reply_end(reply, NULL) == KODA_OK);
	CHECK(fscompat_frame_need(koda_buf_span(&reply->frame), &need, NULL) == KODA_OK);
	CHECK(need == 0);
	CHECK(koda_json_load(fscompat_frame_payload(koda_buf_span(&reply->frame)),
			     FSCOMPAT_FRAME_MAX, 16, &document, NULL) == KODA_OK);
}

/* Writes the texts of a request, and then an error about its path. */
static void check_texts(const struct fscompat_request *request)
{
	fscompat_auto_reply struct fscompat_reply reply = { .failure = KODA_OK };

	fscompat_reply_begin(&reply, "{\"kind\":\"glob\",\"paths\":[");
	fscompat_reply_element(&reply);
	fscompat_reply_string(&reply, request->text);
	/* These need not be UTF-8. The strict decoder takes no NUL. */
	if (request->bytes.len > 0 && !memchr(request->bytes.ptr, '\0', request->bytes.len)) {
		fscompat_reply_element(&reply);
		fscompat_reply_string(&reply, koda_buf_span(&request->bytes));
	}
	fscompat_reply_add(&reply, "]");
	check_reply(&reply);
	fscompat_reply_error(&reply, FSCOMPAT_CODE_IO, request->path, "fails");
	check_reply(&reply);
}

static void check_place(const struct fscompat_request *request)
{
	fscompat_auto_place struct fscompat_place place = FSCOMPAT_PLACE_INIT;

	CHECK(fscompat_place_find("/w", request, &place, NULL) == KODA_OK);
	CHECK(place.path[0] == '/' || place.path[0] == '\0');
	CHECK(place.text.len <= request->text.len);
}

static void check_request(struct koda_span payload)
{
	fscompat_auto_request struct fscompat_request request = FSCOMPAT_REQUEST_INIT;

	if (fscompat_request_read(payload, &request, NULL) < 0)
		return;
	CHECK(request.op < KODA_FS_OP_COUNT);
	CHECK(request.bytes.len <= payload.len);
	CHECK(request.op == KODA_FS_OP_WRITE || request.op == KODA_FS_OP_GETENV ||
	      request.bytes.len == 0);
	CHECK(request.op != KODA_FS_OP_GETENV || request.bytes.len == 0 ||
	      request.bytes.ptr[request.bytes.len - 1] == '\0');
	CHECK(!request.path.len || !memchr(request.path.ptr, '\0', request.path.len));
	check_texts(&request);
	check_place(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct koda_span rest = { (const char *)data, size };
	size_t need = 0;

	while (rest.len > 0) {
		struct koda_span frame = { rest.ptr, 0 };

		do {
			frame.len += need;
			if (fscompat_frame_need(frame, &need, NULL) < 0 ||
			    need > rest.len - frame.len)
				return 0;
		} while (need > 0);
		check_request(fscompat_frame_payload(frame));
		rest = koda_span_skip(rest, frame.len);
	}
	return 0;
}
