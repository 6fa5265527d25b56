/* SPDX-License-Identifier: MIT */
/*
 * T-03. JSON text -> policy. This is the only decoder of policy text in the project, and it trusts
 * nothing: unknown keys, wrong types and values out of range end it with the place named, and
 * the caller gets no policy at all.
 */
#include "policy/policy_parse.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/hostrule.h"
#include "policy/policy.h"

/* Undoes the "%" form of a path: after the mark, %XX is a byte. */
static int decode_path(struct koda_span text, struct koda_buf *out, struct koda_error *err)
{
	int r;

	for (size_t i = 1; i < text.len; i++) {
		char byte = text.ptr[i];

		if (byte == '%') {
			int high = i + 2 < text.len ? koda_ascii_hex(text.ptr[i + 1]) : -1;
			int low = high >= 0 ? koda_ascii_hex(text.ptr[i + 2]) : -1;

			if (low < 0)
				return koda_fail(err, KODA_E_POLICY, 0,
						 "'%%' must be followed by two hexadecimal digits");
			byte = (char)(high * 16 + low);
			i += 2;
		}
		r = koda_buf_add(out, &byte, 1);
		if (r < 0)
			return koda_fail_room(err, r, "the path");
	}
	return KODA_OK;
}

/* Decodes a path; a plain one needs no buffer. */
static int read_path(const struct koda_json *value, struct koda_buf *room,
		     struct koda_span *ret_path, struct koda_error *err)
{
	int r = koda_json_string(value, ret_path, err);

	if (r < 0)
		return r;
	if (ret_path->len == 0 || ret_path->ptr[0] != '%')
		return ret_path->len > KODA_PATH_MAX ? koda_fail_room(err, KODA_E_LIMIT, "the path")
						     : KODA_OK;
	r = decode_path(*ret_path, room, err);
	*ret_path = koda_buf_span(room);
	return r;
}

static int read_list_entry(void *ctx, int list, const struct koda_json *value,
			   struct koda_error *err)
{
	koda_auto_buf struct koda_buf room = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_span entry;
	int r = koda_list_is_paths((enum koda_list)list) ? read_path(value, &room, &entry, err)
							 : koda_json_string(value, &entry, err);

	return r < 0 ? r : koda_policy_add(ctx, (enum koda_list)list, entry.ptr, entry.len, err);
}

static int read_list(void *ctx, int list, const struct koda_json *value, struct koda_error *err)
{
	if (list == KODA_LIST_ALLOW_WRITE) {
		if (koda_json_is_null(value))
			return KODA_OK; /* null is like a missing key */
		koda_policy_state_allow_write(ctx, true);
	}
	return koda_json_array(value, read_list_entry, list, ctx, err);
}

static int read_flag(void *ctx, int flag, const struct koda_json *value, struct koda_error *err)
{
	bool on;
	int r;

	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_bool(value, &on, err);
	if (r == KODA_OK)
		koda_policy_set_flag(ctx, (enum koda_flag)flag, on);
	return r;
}

static int read_limit(void *ctx, int limit, const struct koda_json *value, struct koda_error *err)
{
	uint64_t number;
	int r;

	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_u64(value, KODA_LIMIT_MAX, &number, err);
	return r < 0 ? r : koda_policy_set_limit(ctx, (enum koda_limit)limit, number, err);
}

static int read_depth(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	uint64_t depth;
	int r;

	(void)arg;
	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_u64(value, UINT8_MAX, &depth, err);
	if (r == KODA_OK)
		koda_policy_set_search_depth(ctx, (uint8_t)depth);
	return r;
}

static int read_ask(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_span text;
	int r = koda_json_string(value, &text, err);

	(void)arg;
	if (r < 0)
		return r;
	for (int ask = KODA_ASK_FORBID; ask <= KODA_ASK_AUTO; ask++) {
		if (koda_span_is(text, koda_policy_ask_names[ask])) {
			koda_policy_set_ask(ctx, (enum koda_ask)ask);
			return KODA_OK;
		}
	}
	return koda_fail(err, KODA_E_POLICY, 0, "expected \"auto\", \"require\" or \"forbid\"");
}

static int read_ca_bundle(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	koda_auto_buf struct koda_buf room = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_span path;
	int r = read_path(value, &room, &path, err);

	(void)arg;
	return r < 0 ? r : koda_policy_set_ca_bundle(ctx, path.ptr, path.len, err);
}

/* Reads element i of a pair; errors name its index. */
static int read_half(const struct koda_json *pair, size_t i, struct koda_buf *room,
		     struct koda_span *ret_half, struct koda_error *err)
{
	koda_auto_buf struct koda_buf normal = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_json element;
	struct koda_hostrule rule;
	int r = koda_json_element(pair, 2, i, &element, err);

	if (r < 0)
		return r;
	r = i == 0 ? koda_json_string(&element, ret_half, err)
		   : read_path(&element, room, ret_half, err);
	if (r == KODA_OK)
		r = i == 0 ? koda_hostrule_parse(*ret_half, &rule, err)
			   : koda_path_normalise(*ret_half, &normal, err);
	if (r < 0)
		koda_error_within(err, i == 0 ? "/0" : "/1");
	return r;
}

/* Reads one [domain, socket path] pair. */
static int read_pair(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	koda_auto_buf struct koda_buf room = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_span domain = { "", 0 };
	struct koda_span path = { "", 0 };
	int r = read_half(value, 0, &room, &domain, err);

	(void)arg;
	if (r == KODA_OK)
		r = read_half(value, 1, &room, &path, err);
	if (r < 0)
		return r;
	return koda_policy_map_socket(ctx, domain, path, err);
}

static int read_socket_map(void *ctx, int arg, const struct koda_json *value,
			   struct koda_error *err)
{
	return koda_json_array(value, read_pair, arg, ctx, err);
}

/* socket_map is only meaningful below a bundle, whichever key comes first in the text: the object
 * is read once for the bundle and once for the map. */
static int skip(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	(void)ctx;
	(void)arg;
	(void)value;
	(void)err;
	return KODA_OK;
}

static int read_mitm(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const struct koda_json_field bundle_first[] = {
		{ "ca_bundle", read_ca_bundle, 0 },
		{ "socket_map", skip, 0 },
	};
	static const struct koda_json_field then_map[] = {
		{ "ca_bundle", skip, 0 },
		{ "socket_map", read_socket_map, 0 },
	};
	int r;

	(void)arg;
	if (koda_json_is_null(value))
		return KODA_OK;
	r = koda_json_object(value, bundle_first, KODA_ARRAY_LEN(bundle_first), ctx, err);
	if (r < 0)
		return r;
	if (!koda_policy_ca_bundle(ctx).ptr)
		return koda_fail_at(err, KODA_E_POLICY, 0, "/ca_bundle", "the key is required");
	return koda_json_object(value, then_map, KODA_ARRAY_LEN(then_map), ctx, err);
}

static int read_fs(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "deny_read", read_list, KODA_LIST_DENY_READ },
		{ "allow_read_within_deny", read_list, KODA_LIST_ALLOW_READ_WITHIN_DENY },
		{ "allow_write", read_list, KODA_LIST_ALLOW_WRITE },
		{ "deny_write_within_allow", read_list, KODA_LIST_DENY_WRITE_WITHIN_ALLOW },
		{ "allow_git_config", read_flag, KODA_FLAG_ALLOW_GIT_CONFIG },
		{ "mandatory_deny_search_depth", read_depth, 0 },
	};

	(void)arg;
	return koda_json_object(value, fields, KODA_ARRAY_LEN(fields), ctx, err);
}

static int read_net(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "allowed_domains", read_list, KODA_LIST_ALLOWED_DOMAINS },
		{ "denied_domains", read_list, KODA_LIST_DENIED_DOMAINS },
		{ "allow_local_binding", read_flag, KODA_FLAG_ALLOW_LOCAL_BINDING },
		{ "mitm", read_mitm, 0 },
		{ "weaker_macos_isolation", read_flag, KODA_FLAG_WEAKER_MACOS_ISOLATION },
	};

	(void)arg;
	return koda_json_object(value, fields, KODA_ARRAY_LEN(fields), ctx, err);
}

static int read_limits(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "cpu_time_secs", read_limit, KODA_LIMIT_CPU_TIME },
		{ "wall_time_secs", read_limit, KODA_LIMIT_WALL_TIME },
		{ "max_rss_bytes", read_limit, KODA_LIMIT_MEMORY },
		{ "max_open_fds", read_limit, KODA_LIMIT_OPEN_FILES },
		{ "max_output_bytes", read_limit, KODA_LIMIT_OUTPUT },
	};

	(void)arg;
	return koda_json_object(value, fields, KODA_ARRAY_LEN(fields), ctx, err);
}

int koda_policy_read_section(struct koda_policy *policy, enum koda_policy_section section,
			     const struct koda_json *value, struct koda_error *err)
{
	switch (section) {
	case KODA_POLICY_SECTION_FS:
		return read_fs(policy, 0, value, err);
	case KODA_POLICY_SECTION_NET:
		return read_net(policy, 0, value, err);
	case KODA_POLICY_SECTION_LIMITS:
		break;
	}
	return read_limits(policy, 0, value, err);
}

int koda_policy_parse(const char *text, size_t len, struct koda_policy **ret_policy,
		      struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "fs", read_fs, 0 },
		{ "net", read_net, 0 },
		{ "limits", read_limits, 0 },
		{ "trust", read_ask, 0 },
	};
	koda_auto_json struct koda_json *root = NULL;
	koda_auto_policy struct koda_policy *policy = NULL;
	int r = koda_policy_new(&policy, err);

	if (r == KODA_OK)
		r = koda_json_load((struct koda_span){ text, len }, KODA_POLICY_TEXT_MAX,
				   KODA_POLICY_DEPTH_MAX, &root, err);
	if (r == KODA_OK)
		r = koda_json_object(root, fields, KODA_ARRAY_LEN(fields), policy, err);
	if (r < 0)
		return r;
	*ret_policy = KODA_TAKE(policy);
	return KODA_OK;
}
