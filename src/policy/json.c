/* SPDX-License-Identifier: MIT */
#include "policy/json.h"

#include "base/error.h"
#include "policy/json_elide.h"
#include "policy/json_feed.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

static const json_t *in(const struct koda_json *value)
{
	return value->node;
}

/* Returns the value of a node in the document of value. */
static struct koda_json near(const struct koda_json *value, const json_t *node)
{
	return (struct koda_json){ .node = node, .elided = value->elided };
}

static int load(struct koda_span text, unsigned int max_depth, json_t **ret_root,
		struct koda_error *err)
{
	struct koda_json_feed feed = koda_json_feed_start(text, max_depth);
	json_error_t why;
	json_t *root;
	char at[64];

	errno = 0;
	root = json_load_callback(koda_json_feed_give, &feed, JSON_REJECT_DUPLICATES, &why);
	if (feed.no_memory || errno == ENOMEM || (!root && !why.text[0])) {
		json_decref(root);
		return koda_fail_nomem(err);
	}
	if (feed.too_deep) {
		json_decref(root);
		return koda_json_feed_fail_deep(&feed, err);
	}
	if (root) {
		*ret_root = root;
		return KODA_OK;
	}
	(void)snprintf(at, sizeof(at), "%d:%d", why.line, why.column > 0 ? why.column : 1);
	return koda_fail_at(err, KODA_E_POLICY, 0, at, "%s", why.text);
}

struct document {
	struct koda_json root;
	struct koda_json_elided elided;
	json_t *tree;
};

/* Parses the elided text. No tree if that fails: the whole text then gives the place of the error.
 */
static int load_abridged(struct koda_span text, unsigned int max_depth, struct document *document,
			 struct koda_error *err)
{
	struct koda_json_elided *elided = &document->elided;
	int r = koda_json_elide(text, elided);

	if (r == KODA_OK && elided->count == 0)
		return KODA_OK;
	if (r == KODA_OK)
		r = load(koda_buf_span(&elided->text), max_depth, &document->tree, NULL);
	koda_buf_clear(&elided->text);
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}

int koda_json_load(struct koda_span text, size_t max_bytes, unsigned int max_depth,
		   struct koda_json **ret_root, struct koda_error *err)
{
	koda_auto_json struct koda_json *root = NULL;
	struct document *document;
	int r;

	if (text.len > max_bytes)
		return koda_fail(err, KODA_E_LIMIT, 0, "the text is longer than %zu bytes",
				 max_bytes);
	if (text.len == 0)
		return koda_fail_at(err, KODA_E_POLICY, 0, "1:1", "the text is empty");
	document = calloc(1, sizeof(*document));
	if (!document)
		return koda_fail_nomem(err);
	root = &document->root;
	document->elided = (struct koda_json_elided)KODA_JSON_ELIDED_INIT;
	r = load_abridged(text, max_depth, document, err);
	if (r == KODA_OK && !document->tree)
		r = load(text, max_depth, &document->tree, err);
	if (r < 0)
		return r;
	root->node = document->tree;
	root->elided = &document->elided;
	*ret_root = KODA_TAKE(root);
	return KODA_OK;
}

void koda_json_free(struct koda_json **root)
{
	struct document *document = (struct document *)*root; /* its first member */

	*root = NULL;
	if (!document)
		return;
	json_decref(document->tree);
	koda_json_elided_clear(&document->elided);
	free(document);
}

static const char *kind_name(const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_STRING) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static int wrong_type(const struct koda_json *value, const char *wanted, struct koda_error *err)
{
	return koda_fail(err, KODA_E_POLICY, 0, "expected %s, found %s", wanted,
			 kind_name(in(value)));
}

/* Puts "/key", escaped by RFC 6901, in front of the place. */
static void place_key(struct koda_error *err, const char *key)
{
	char step[sizeof(err->field)];
	size_t used = 0;

	step[used++] = '/';
	for (; *key && used < sizeof(step) - 2; key++) {
		if (*key == '~' || *key == '/') {
			step[used++] = '~';
			step[used++] = *key == '~' ? '0' : '1';
		} else {
			step[used++] = *key;
		}
	}
	step[used] = '\0';
	koda_error_within(err, step);
}

static const struct koda_json_field *find_field(const struct koda_json_field *fields, size_t count,
						const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

/* Reads the keys of an object; unknown ones are an error if strict. */
static int read_object(const struct koda_json *value, const struct koda_json_field *fields,
		       size_t count, void *ctx, bool strict, struct koda_error *err)
{
	json_t *object = (json_t *)(uintptr_t)in(value); /* jansson's iterator is not const */
	const char *key;
	json_t *member;

	if (!json_is_object(object))
		return wrong_type(value, "an object", err);
	json_object_foreach(object, key, member) {
		const struct koda_json_field *field = find_field(fields, count, key);
		const struct koda_json at = near(value, member);
		int r = field    ? field->read(ctx, field->arg, &at, err)
			: strict ? koda_fail(err, KODA_E_POLICY, 0, "unknown key")
				 : KODA_OK;

		if (r < 0) {
			place_key(err, key);
			return r;
		}
	}
	return KODA_OK;
}

int koda_json_object(const struct koda_json *value, const struct koda_json_field *fields,
		     size_t count, void *ctx, struct koda_error *err)
{
	return read_object(value, fields, count, ctx, true, err);
}

int koda_json_known(const struct koda_json *value, const struct koda_json_field *fields,
		    size_t count, void *ctx, struct koda_error *err)
{
	return read_object(value, fields, count, ctx, false, err);
}

static void place_index(struct koda_error *err, size_t i)
{
	char step[32];

	(void)snprintf(step, sizeof(step), "/%zu", i);
	koda_error_within(err, step);
}

/* Iterates over the elements of a list: the elided ones come first. */
struct elements {
	struct koda_span run;
	size_t next; /* index of the parser */
};

static struct elements elements_of(const struct koda_json *list)
{
	const json_t *first = json_array_get(in(list), 0);
	const struct koda_span text = { json_string_value(first), json_string_length(first) };
	struct elements elements = { koda_json_elided_find(list->elided, text), 0 };

	elements.next = elements.run.len > 0; /* the first one stands for the elided strings */
	return elements;
}

static bool next_element(const struct koda_json *list, struct elements *elements,
			 struct koda_json *ret_element)
{
	*ret_element = near(list, NULL);
	if (koda_json_elided_next(&elements->run, &ret_element->string))
		return true;
	ret_element->node = json_array_get(in(list), elements->next++);
	return ret_element->node != NULL;
}

int koda_json_array(const struct koda_json *value,
		    int (*read)(void *ctx, int arg, const struct koda_json *value,
				struct koda_error *err),
		    int arg, void *ctx, struct koda_error *err)
{
	struct elements elements = elements_of(value);
	struct koda_json element;

	if (!json_is_array(in(value)))
		return wrong_type(value, "a list", err);
	for (size_t i = 0; next_element(value, &elements, &element); i++) {
		int r = read(ctx, arg, &element, err);

		if (r < 0) {
			place_index(err, i);
			return r;
		}
	}
	return KODA_OK;
}

int koda_json_element(const struct koda_json *value, size_t count, size_t i,
		      struct koda_json *ret_element, struct koda_error *err)
{
	struct elements elements = elements_of(value);
	struct koda_json wanted = near(value, NULL);
	struct koda_json element;
	size_t found = 0;

	if (!json_is_array(in(value)))
		return wrong_type(value, "a list", err);
	for (; next_element(value, &elements, &element); found++)
		if (found == i)
			wanted = element;
	if (found != count)
		return koda_fail(err, KODA_E_POLICY, 0,
				 "expected a list of %zu elements, found %zu", count, found);
	*ret_element = wanted;
	return KODA_OK;
}

bool koda_json_is_null(const struct koda_json *value)
{
	return json_is_null(in(value));
}

int koda_json_bool(const struct koda_json *value, bool *ret, struct koda_error *err)
{
	if (!json_is_boolean(in(value)))
		return wrong_type(value, "true or false", err);
	*ret = json_is_true(in(value));
	return KODA_OK;
}

int koda_json_u64(const struct koda_json *value, uint64_t max, uint64_t *ret,
		  struct koda_error *err)
{
	json_int_t number = json_integer_value(in(value));

	if (!json_is_integer(in(value)))
		return wrong_type(value, "a whole number", err);
	if (number < 0 || (uint64_t)number > max)
		return koda_fail(err, KODA_E_POLICY, 0, "%lld is not in the range 0 to %llu",
				 (long long)number, (unsigned long long)max);
	*ret = (uint64_t)number;
	return KODA_OK;
}

int koda_json_double(const struct koda_json *value, double *ret, struct koda_error *err)
{
	if (!json_is_number(in(value)))
		return wrong_type(value, "a number", err);
	*ret = json_number_value(in(value));
	return KODA_OK;
}

int koda_json_string(const struct koda_json *value, struct koda_span *ret, struct koda_error *err)
{
	const json_t *node = in(value);

	if (node && !json_is_string(node))
		return wrong_type(value, "a string", err);
	*ret = node ? (struct koda_span){ json_string_value(node), json_string_length(node) }
		    : value->string;
	return KODA_OK;
}
