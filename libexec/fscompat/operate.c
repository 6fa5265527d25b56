/* SPDX-License-Identifier: MIT */
#include "operate.h"

#include "base/error.h"
#include "place.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

/* The older worker had no deadline, and its host waited as long as a request took. */
#define DEADLINE_MS 60000

/* The JSON in front of what a request finds, and behind it. */
struct shape {
	const char *opening;
	const char *closing;
	uint32_t flags; /* enum koda_fs_flag */
};

/* clang-format off */
static const struct shape shapes[KODA_FS_OP_COUNT] = {
	[KODA_FS_OP_PING] = { "{\"kind\":\"pong\"", "", 0 },
	[KODA_FS_OP_READ] = { "{\"kind\":\"read\",\"content\":[", "]", 0 },
	[KODA_FS_OP_WRITE] = { "{\"kind\":\"write\",\"bytes_written\":", "", KODA_FS_PARENTS },
	[KODA_FS_OP_EDIT] = { "{\"kind\":\"edit\",\"replacements\":", "", 0 },
	/* The older worker's glob knows no ignore files. */
	[KODA_FS_OP_GLOB] = { "{\"kind\":\"glob\",\"paths\":[", "]", KODA_FS_WALK },
	[KODA_FS_OP_GREP] = { "{\"kind\":\"grep\",\"matches\":[", "]", 0 },
	[KODA_FS_OP_STAT] = { "{\"kind\":\"stat\",\"size\":", "", 0 },
	[KODA_FS_OP_GETENV] = { "{\"kind\":\"get_env\",\"values\":[", "]", 0 },
};
/* clang-format on */

struct operation {
	const struct fscompat_request *request;
	const struct fscompat_place *place;
	struct fscompat_reply *reply;
	uint64_t left; /* READ: bytes that the client wants */
	bool is_done;
	bool has_crashed;
};

static int take_content(void *ctx, const char *bytes, size_t len)
{
	struct operation *operation = ctx;
	struct fscompat_reply *reply = operation->reply;

	for (size_t i = 0; i < len && operation->left > 0 && reply->failure == KODA_OK; i++) {
		fscompat_reply_element(reply);
		fscompat_reply_number(reply, (unsigned char)bytes[i]);
		operation->left--;
	}
	return reply->failure;
}

/* Appends the path of an item as the client would spell it. */
static void add_path(struct operation *operation, struct koda_span name)
{
	const struct fscompat_place *place = operation->place;
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX);

	if (koda_buf_add(&path, place->prefix.ptr, place->prefix.len) < 0 ||
	    koda_buf_add(&path, place->separator, strlen(place->separator)) < 0 ||
	    koda_buf_add(&path, name.ptr, name.len) < 0)
		operation->reply->failure = KODA_E_NOMEM;
	else
		fscompat_reply_string(operation->reply, koda_buf_span(&path));
}

static int take_item(void *ctx, const struct koda_fs_item *item)
{
	struct operation *operation = ctx;
	struct fscompat_reply *reply = operation->reply;

	fscompat_reply_element(reply);
	if (operation->request->op == KODA_FS_OP_GLOB) {
		add_path(operation, item->name);
	} else if (operation->request->op == KODA_FS_OP_GREP) {
		fscompat_reply_add(reply, "{\"path\":");
		add_path(operation, item->name);
		fscompat_reply_add(reply, ",\"line\":");
		fscompat_reply_number(reply, item->line);
		fscompat_reply_add(reply, ",\"text\":");
		fscompat_reply_string(reply, item->text);
		fscompat_reply_add(reply, "}");
	} else if (item->type == '1') {
		fscompat_reply_string(reply, item->name);
	} else {
		fscompat_reply_add(reply, "null");
	}
	return reply->failure;
}

static void add_stat(struct fscompat_reply *reply, const struct koda_fs_stat *st)
{
	fscompat_reply_number(reply, st->size);
	fscompat_reply_add(reply, S_ISDIR(st->mode) ? ",\"is_dir\":true" : ",\"is_dir\":false");
	fscompat_reply_add(reply,
			   S_ISLNK(st->mode) ? ",\"is_symlink\":true" : ",\"is_symlink\":false");
}

static enum fscompat_code code_of(enum koda_fs_status status)
{
	if (status == KODA_FS_STATUS_DENIED || status == KODA_FS_STATUS_OUTSIDE)
		return FSCOMPAT_CODE_POLICY_DENIED;
	if (status == KODA_FS_STATUS_PATTERN)
		return FSCOMPAT_CODE_PROTOCOL;
	if (status == KODA_FS_STATUS_CRASHED || status == KODA_FS_STATUS_NO_MEMORY)
		return FSCOMPAT_CODE_INTERNAL;
	return FSCOMPAT_CODE_IO;
}

static void add_failure(const struct operation *operation, const struct koda_fs_reply *reply)
{
	const char *what = koda_fs_status_text(reply->status);
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(4096);
	int r = KODA_OK;

	if (reply->status == KODA_FS_STATUS_DENIED)
		r = koda_buf_addf(&text, "%s (%s)", what, koda_reason_name(reply->reason));
	else if (reply->status == KODA_FS_STATUS_PATTERN && reply->message.len > 0)
		r = koda_buf_addf(&text, "%s: %.*s", what, (int)reply->message.len,
				  reply->message.ptr);
	fscompat_reply_error(operation->reply, code_of(reply->status), operation->request->path,
			     r == KODA_OK && text.ptr ? text.ptr : what);
}

static void take_reply(void *ctx, const struct koda_fs_reply *reply)
{
	struct operation *operation = ctx;
	struct fscompat_reply *out = operation->reply;

	operation->is_done = true;
	operation->has_crashed = reply->status == KODA_FS_STATUS_CRASHED;
	/* A reply without room for more was cancelled; fscompat_reply_end tells of it. */
	if (out->failure < 0)
		return;
	if (reply->status != KODA_FS_STATUS_OK) {
		add_failure(operation, reply);
		return;
	}
	if (reply->op == KODA_FS_OP_WRITE || reply->op == KODA_FS_OP_EDIT)
		fscompat_reply_number(out, reply->count);
	else if (reply->op == KODA_FS_OP_STAT)
		add_stat(out, &reply->stat);
	fscompat_reply_add(out, shapes[reply->op].closing);
}

/* Sends the request. If that cannot be done, the reply says so. */
static void send_request(struct fscompat_worker *worker, struct operation *operation)
{
	const struct fscompat_request *request = operation->request;
	const struct koda_span bytes = koda_buf_span(&request->bytes);
	struct koda_error why = { .code = KODA_OK };
	struct koda_fs_request wanted = { .size = sizeof(wanted),
					  .op = request->op,
					  .path = koda_span_of(operation->place->path),
					  .text = operation->place->text,
					  .text2 = request->text2,
					  .flags = shapes[request->op].flags,
					  .timeout_ms = DEADLINE_MS,
					  .on_done = take_reply,
					  .ctx = operation };
	int r;

	if (request->op == KODA_FS_OP_PING)
		wanted.timeout_ms = 0; /* it takes no numbers */
	if (request->op == KODA_FS_OP_WRITE)
		wanted.content = bytes;
	if (request->op == KODA_FS_OP_GETENV)
		wanted.path = bytes;
	if (request->op == KODA_FS_OP_READ)
		wanted.on_content = take_content;
	if (shapes[request->op].closing[0] && request->op != KODA_FS_OP_READ)
		wanted.on_item = take_item;
	operation->left = request->has_max ? request->max : UINT64_MAX;
	/* A read of 0 bytes still fails for a missing file. A ceiling of 0 would mean none. */
	if (request->has_max)
		wanted.max = request->max ? request->max : 1;
	fscompat_reply_begin(operation->reply, shapes[request->op].opening);
	r = koda_fs_send(worker->fs, &wanted, NULL, &why);
	if (r == KODA_OK)
		return;
	operation->is_done = true;
	operation->has_crashed = r == KODA_E_CHILD;
	fscompat_reply_error(operation->reply,
			     r == KODA_E_INVALID || r == KODA_E_LIMIT ? FSCOMPAT_CODE_IO
								      : FSCOMPAT_CODE_INTERNAL,
			     request->path, why.message);
}

/* Waits for the reply. */
static int await(struct fscompat_worker *worker, struct operation *operation,
		 struct fscompat_stop *stop, struct koda_error *err)
{
	while (!operation->is_done) {
		struct koda_error why = { .code = KODA_OK };
		int fd = koda_fs_fd(worker->fs, err);
		int r = fd < 0 ? fd : fscompat_stop_wait(stop, fd, POLLIN, -1, err);

		if (r != KODA_OK)
			return r < 0 ? r : 0;
		r = koda_fs_step(worker->fs, &why);
		if (r < 0 && !operation->is_done) {
			operation->is_done = true;
			operation->has_crashed = true;
			fscompat_reply_error(operation->reply, FSCOMPAT_CODE_INTERNAL,
					     operation->request->path, why.message);
		}
	}
	return 1;
}

int fscompat_operate(struct fscompat_worker *worker, const struct fscompat_request *request,
		     struct fscompat_stop *stop, struct fscompat_reply *reply,
		     struct koda_error *err)
{
	fscompat_auto_place struct fscompat_place place = FSCOMPAT_PLACE_INIT;
	struct operation operation = { .request = request, .place = &place, .reply = reply };
	struct koda_error why = { .code = KODA_OK };
	int r = fscompat_place_find(worker->cwd, request, &place, err);

	if (r < 0)
		return r;
	if (worker->crashed && koda_fs_restart(worker->fs, &why) < 0) {
		fscompat_reply_error(reply, FSCOMPAT_CODE_INTERNAL, (struct koda_span){ NULL, 0 },
				     why.message);
	} else {
		send_request(worker, &operation);
		r = await(worker, &operation, stop, err);
		worker->crashed = operation.has_crashed;
		if (r <= 0)
			return r;
	}
	r = fscompat_reply_end(reply, err);
	return r < 0 ? r : 1;
}
