/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "base/error.h"
#include "frame.h"
#include "policy/json.h"

/* The deepest nesting: a request is an object with lists. */
#define DEPTH_MAX 16

enum field {
	PATH = 1 << 0,
	ROOT = 1 << 1,
	PATTERN = 1 << 2,
	OLD = 1 << 3,
	NEW = 1 << 4,
	INCLUDE = 1 << 5,
	MAX_BYTES = 1 << 6,
	CONTENT = 1 << 7,
	NAMES = 1 << 8,
};
#define OPTIONAL (INCLUDE | MAX_BYTES)

struct kind {
	const char *name;
	enum koda_fs_op op;
	unsigned int fields;
};

/* clang-format off */
static const struct kind kinds[] = {
	{ "ping", KODA_FS_OP_PING, 0 },
	{ "shutdown", KODA_FS_OP_SHUTDOWN, 0 },
	{ "read", KODA_FS_OP_READ, PATH | MAX_BYTES },
	{ "write", KODA_FS_OP_WRITE, PATH | CONTENT },
	{ "edit", KODA_FS_OP_EDIT, PATH | OLD | NEW },
	{ "glob", KODA_FS_OP_GLOB, PATTERN | ROOT },
	{ "grep", KODA_FS_OP_GREP, PATTERN | ROOT | INCLUDE },
	{ "stat", KODA_FS_OP_STAT, PATH },
	{ "get_env", KODA_FS_OP_GETENV, NAMES },
};
/* clang-format on */

void fscompat_request_clear(struct fscompat_request *request)
{
	koda_buf_clear(&request->bytes);
	koda_json_free(&request->document);
}

static int read_kind(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	const struct kind **kind = ctx;
	struct koda_span name;
	int r = koda_json_string(value, &name, err);

	(void)arg;
	for (size_t i = 0; r == KODA_OK && i < KODA_ARRAY_LEN(kinds); i++)
		if (koda_span_is(name, kinds[i].name))
			*kind = &kinds[i];
	if (r == KODA_OK && !*kind)
		r = koda_fail_at(err, KODA_E_POLICY, 0, "/kind", "there is no such request");
	return r;
}

/* Returns where the text of a field goes. */
static struct koda_span *text_of(struct fscompat_request *request, int field)
{
	if (field & (PATTERN | OLD))
		return &request->text;
	return field & (NEW | INCLUDE) ? &request->text2 : &request->path;
}

static int read_text(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct fscompat_request *request = ctx;

	if (!(request->accepted & (unsigned int)arg))
		return KODA_OK;
	request->seen |= (unsigned int)arg;
	if ((arg & OPTIONAL) && koda_json_is_null(value))
		return KODA_OK;
	return koda_json_string(value, text_of(request, arg), err);
}

static int read_max(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct fscompat_request *request = ctx;

	if (!(request->accepted & (unsigned int)arg) || koda_json_is_null(value))
		return KODA_OK;
	request->has_max = true;
	return koda_json_u64(value, INT64_MAX, &request->max, err);
}

static int read_byte(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct fscompat_request *request = ctx;
	uint64_t byte = 0;
	int r = koda_json_u64(value, UINT8_MAX, &byte, err);
	char one = (char)(unsigned char)byte;

	(void)arg;
	if (r == KODA_OK && koda_buf_add(&request->bytes, &one, 1) < 0)
		r = koda_fail_nomem(err);
	return r;
}

static int read_name(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct fscompat_request *request = ctx;
	struct koda_span name;
	int r = koda_json_string(value, &name, err);

	(void)arg;
	if (r == KODA_OK && (koda_buf_add(&request->bytes, name.ptr, name.len) < 0 ||
			     koda_buf_add(&request->bytes, "", 1) < 0))
		r = koda_fail_nomem(err);
	return r;
}

static int read_list(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct fscompat_request *request = ctx;

	if (!(request->accepted & (unsigned int)arg))
		return KODA_OK;
	request->seen |= (unsigned int)arg;
	return koda_json_array(value, arg == NAMES ? read_name : read_byte, 0, ctx, err);
}

static const struct koda_json_field kind_field[] = { { "kind", read_kind, 0 } };

static const struct koda_json_field fields[] = {
	{ "path", read_text, PATH },          { "root", read_text, ROOT },
	{ "pattern", read_text, PATTERN },    { "old_string", read_text, OLD },
	{ "new_string", read_text, NEW },     { "include", read_text, INCLUDE },
	{ "max_bytes", read_max, MAX_BYTES }, { "content", read_list, CONTENT },
	{ "names", read_list, NAMES },
};

static int check_complete(const struct fscompat_request *request, struct koda_error *err)
{
	unsigned int missing = request->accepted & ~request->seen & ~(unsigned int)OPTIONAL;

	for (size_t i = 0; i < KODA_ARRAY_LEN(fields); i++)
		if (missing & (unsigned int)fields[i].arg)
			return koda_fail(err, KODA_E_POLICY, 0, "the field %s is missing",
					 fields[i].name);
	return KODA_OK;
}

int fscompat_request_read(struct koda_span text, struct fscompat_request *request,
			  struct koda_error *err)
{
	const struct kind *kind = NULL;
	int r = koda_json_load(text, FSCOMPAT_FRAME_MAX, DEPTH_MAX, &request->document, err);

	if (r == KODA_OK)
		r = koda_json_known(request->document, kind_field, 1, &kind, err);
	if (r < 0)
		return r;
	if (!kind)
		return koda_fail(err, KODA_E_POLICY, 0, "the field kind is missing");
	request->op = kind->op;
	request->accepted = kind->fields;
	/* Every byte, and every name with its NUL, takes more of the text. */
	request->bytes = (struct koda_buf)KODA_BUF_INIT(FSCOMPAT_FRAME_MAX);
	r = koda_json_known(request->document, fields, KODA_ARRAY_LEN(fields), request, err);
	return r < 0 ? r : check_complete(request, err);
}
