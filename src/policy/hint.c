/* SPDX-License-Identifier: MIT */
#include "policy/hint.h"

#include "base/error.h"
#include "base/escape.h"
#include "policy/policy_parse.h"

#include <stdio.h>

/* "remove", a section, a list, an entry. */
#define DEPTH_MAX 4

int koda_hint_init(struct koda_hint *hint, struct koda_error *err)
{
	int r;

	*hint = (struct koda_hint){ .floor = "" };
	r = koda_policy_new(&hint->add, err);
	if (r == KODA_OK)
		r = koda_policy_new(&hint->remove, err);
	if (r != KODA_OK)
		koda_hint_clear(hint);
	return r;
}

void koda_hint_clear(struct koda_hint *hint)
{
	koda_policy_free(hint->add);
	koda_policy_free(hint->remove);
	*hint = (struct koda_hint){ .floor = "" };
}

static int read_add(void *ctx, int section, const struct koda_json *value, struct koda_error *err)
{
	struct koda_hint *hint = ctx;

	return koda_policy_read_section(hint->add, (enum koda_policy_section)section, value, err);
}

static int read_removed(void *ctx, int section, const struct koda_json *value,
			struct koda_error *err)
{
	struct koda_hint *hint = ctx;

	return koda_policy_read_section(hint->remove, (enum koda_policy_section)section, value,
					err);
}

static int read_remove(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "fs", read_removed, KODA_POLICY_SECTION_FS },
		{ "net", read_removed, KODA_POLICY_SECTION_NET },
	};

	(void)arg;
	return koda_json_object(value, fields, KODA_ARRAY_LEN(fields), ctx, err);
}

static int read_floor(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_hint *hint = ctx;
	struct koda_span name;
	int r = koda_json_string(value, &name, err);

	(void)arg;
	if (r < 0)
		return r;
	if (name.len == 0 || name.len >= sizeof(hint->floor))
		return koda_fail(err, KODA_E_POLICY, 0, "expected the name of a floor");
	(void)snprintf(hint->floor, sizeof(hint->floor), "%.*s", (int)name.len, name.ptr);
	return KODA_OK;
}

int koda_hint_read(const struct koda_json *value, struct koda_hint *ret_hint,
		   struct koda_error *err)
{
	static const struct koda_json_field fields[] = {
		{ "fs", read_add, KODA_POLICY_SECTION_FS },
		{ "net", read_add, KODA_POLICY_SECTION_NET },
		{ "limits", read_add, KODA_POLICY_SECTION_LIMITS },
		{ "remove", read_remove, 0 },
		{ "floor", read_floor, 0 },
	};
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	int r = koda_hint_init(&hint, err);

	if (r == KODA_OK)
		r = koda_json_object(value, fields, KODA_ARRAY_LEN(fields), &hint, err);
	if (r != KODA_OK)
		return r;
	koda_hint_clear(ret_hint);
	*ret_hint = hint;
	hint = (struct koda_hint){ .floor = "" };
	return KODA_OK;
}

int koda_hint_parse(struct koda_span text, struct koda_hint *ret_hint, struct koda_error *err)
{
	koda_auto_json struct koda_json *root = NULL;
	int r = koda_json_load(text, KODA_HINT_TEXT_MAX, DEPTH_MAX, &root, err);

	return r == KODA_OK ? koda_hint_read(root, ret_hint, err) : r;
}

/* Keeps the first failure. A comma or brace is written before each member but the first. */
struct writer {
	struct koda_buf *out;
	const char *section; /* opened when its first member is written */
	bool in_section;
	bool in_object;
	int failed;
};

static void put(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(w->out, text, strlen(text));
}

static void put_key(struct writer *w, const char *key)
{
	if (!w->in_section) {
		put(w, w->in_object ? ",\"" : "{\"");
		put(w, w->section);
		put(w, "\":{");
		w->in_object = true;
	}
	put(w, w->in_section ? ",\"" : "\"");
	put(w, key);
	put(w, "\":");
	w->in_section = true;
}

static void end_section(struct writer *w)
{
	if (w->in_section)
		put(w, "}");
	w->in_section = false;
}

static void put_lists(struct writer *w, const struct koda_policy *part, enum koda_list first,
		      enum koda_list last)
{
	for (int list = (int)first; list <= (int)last; list++) {
		const struct koda_set *set = &part->lists[list];

		if (set->count == 0)
			continue;
		put_key(w, koda_policy_list_names[list]);
		for (size_t i = 0; i < set->count; i++) {
			put(w, i ? "," : "[");
			if (w->failed == KODA_OK)
				w->failed = koda_escape_json_string(w->out, koda_set_get(set, i));
		}
		put(w, "]");
	}
}

static void put_flags(struct writer *w, const struct koda_policy *part, enum koda_flag first,
		      enum koda_flag last)
{
	for (int flag = (int)first; flag <= (int)last; flag++) {
		if (!part->flags[flag].on)
			continue;
		put_key(w, koda_policy_flag_names[flag]);
		put(w, "true");
	}
}

static void put_part(struct writer *w, const struct koda_policy *part)
{
	w->section = "fs";
	put_lists(w, part, KODA_LIST_DENY_READ, KODA_LIST_DENY_WRITE_WITHIN_ALLOW);
	put_flags(w, part, KODA_FLAG_ALLOW_GIT_CONFIG, KODA_FLAG_ALLOW_GIT_CONFIG);
	end_section(w);
	w->section = "net";
	put_lists(w, part, KODA_LIST_ALLOWED_DOMAINS, KODA_LIST_DENIED_DOMAINS);
	put_flags(w, part, KODA_FLAG_ALLOW_LOCAL_BINDING, KODA_FLAG_WEAKER_MACOS_ISOLATION);
	end_section(w);
	w->section = "limits";
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++) {
		if (!part->limits[limit].stated)
			continue;
		put_key(w, koda_policy_limit_names[limit]);
		if (w->failed == KODA_OK)
			w->failed = koda_buf_addf(w->out, "%llu",
						  (unsigned long long)part->limits[limit].max);
	}
	end_section(w);
}

static bool has_entries(const struct koda_policy *part)
{
	size_t count = 0;

	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		count += part->lists[i].count;
	return count > 0;
}

int koda_hint_emit(const struct koda_hint *hint, struct koda_buf *out)
{
	struct writer w = { .out = out };

	if (hint->floor[0]) {
		put(&w, "{\"floor\":");
		if (w.failed == KODA_OK)
			w.failed = koda_escape_json_string(out, koda_span_of(hint->floor));
		put(&w, "}");
		return w.failed;
	}
	put_part(&w, hint->add);
	if (has_entries(hint->remove)) {
		put(&w, w.in_object ? ",\"remove\":" : "{\"remove\":");
		w.in_object = false;
		put_part(&w, hint->remove);
		put(&w, "}");
		w.in_object = true;
	}
	put(&w, w.in_object ? "}" : "");
	return w.failed;
}

/* Adds the lists, flags and limits that part states; a limit only if it is larger. */
static int add_part(struct koda_policy *policy, const struct koda_policy *part,
		    struct koda_error *err)
{
	int r = KODA_OK;

	for (int list = 0; list < KODA_LIST_COUNT; list++)
		for (size_t i = 0; i < part->lists[list].count && r == KODA_OK; i++)
			r = koda_policy_add_canonical(policy, (enum koda_list)list,
						      koda_set_get(&part->lists[list], i), err);
	for (size_t i = 0; i < KODA_FLAG_COUNT; i++)
		if (part->flags[i].on)
			policy->flags[i] = part->flags[i];
	for (size_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++)
		if (part->limits[i].stated &&
		    (!policy->limits[i].stated || policy->limits[i].max < part->limits[i].max))
			policy->limits[i] = part->limits[i];
	return r;
}

int koda_hint_merge(struct koda_hint *hint, const struct koda_hint *other, struct koda_error *err)
{
	int r;

	if (other->floor[0] || hint->floor[0]) {
		memcpy(hint->floor, hint->floor[0] ? hint->floor : other->floor,
		       sizeof(hint->floor));
		return KODA_OK;
	}
	r = add_part(hint->add, other->add, err);
	return r < 0 ? r : add_part(hint->remove, other->remove, err);
}

/* Takes the entries of drop off a list. */
static int remove_entries(struct koda_set *set, const struct koda_set *drop, struct koda_error *err)
{
	koda_auto_set struct koda_set kept = KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	int r = KODA_OK;

	for (size_t i = 0; i < set->count && r == KODA_OK; i++) {
		struct koda_span entry = koda_set_get(set, i);

		if (koda_set_find(drop, entry) == KODA_SET_NONE)
			r = koda_set_add(&kept, entry, NULL);
	}
	if (r < 0)
		return koda_fail_room(err, r, "the list");
	koda_set_clear(set);
	*set = kept;
	kept = (struct koda_set)KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	return KODA_OK;
}

int koda_hint_change(const struct koda_hint *hint, const struct koda_policy *policy,
		     struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *changed = NULL;
	int r;

	if (hint->floor[0])
		return koda_fail(err, KODA_E_DENIED, 0, "no policy allows it (%s)", hint->floor);
	r = koda_policy_copy(policy, &changed, err);
	for (size_t i = 0; i < KODA_LIST_COUNT && r == KODA_OK; i++)
		if (hint->remove->lists[i].count > 0)
			r = remove_entries(&changed->lists[i], &hint->remove->lists[i], err);
	if (r == KODA_OK)
		r = add_part(changed, hint->add, err);
	if (r == KODA_OK)
		*ret_policy = KODA_TAKE(changed);
	return r;
}

int koda_hint_apply(const struct koda_policy *policy, const char *hint, size_t len,
		    struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_hint struct koda_hint parsed = { .floor = "" };
	int r = koda_hint_parse((struct koda_span){ hint, len }, &parsed, err);

	return r == KODA_OK ? koda_hint_change(&parsed, policy, ret_policy, err) : r;
}
