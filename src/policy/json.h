/* SPDX-License-Identifier: MIT */
/*
 * Strict JSON reading. Only json.c uses the parser library. Errors name the place: line:column for
 * text that is no JSON, a JSON pointer for a wrong value.
 */
#ifndef KODA_POLICY_JSON_H
#define KODA_POLICY_JSON_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>
#include <stdint.h>

struct koda_json_elided;

/* One value, borrowed from its document. */
struct koda_json {
	/* private: */
	const void *node;        /* of the parser; NULL: an elided string */
	struct koda_span string; /* the elided string */
	const struct koda_json_elided *elided;
};

/* Parses a whole document: duplicate keys, comments, trailing bytes, escaped NUL, lone surrogates
 * and bytes that are not UTF-8 are errors, as are text over max_bytes and nesting over max_depth.
 * *ret_root is owned by the caller, and borrows from text. Fails: POLICY, LIMIT, NOMEM. */
KODA_CHECK int koda_json_load(struct koda_span text, size_t max_bytes, unsigned int max_depth,
			      struct koda_json **ret_root, struct koda_error *err);
void koda_json_free(struct koda_json **root);
#define koda_auto_json __attribute__((cleanup(koda_json_free)))

/* One key of an object, and the function that reads its value. */
struct koda_json_field {
	const char *name;
	int (*read)(void *ctx, int arg, const struct koda_json *value, struct koda_error *err);
	int arg;
};

/* Reads every key of an object with the field of that name; an unknown key is an error. */
KODA_CHECK int koda_json_object(const struct koda_json *value, const struct koda_json_field *fields,
				size_t count, void *ctx, struct koda_error *err);
/* Like koda_json_object, but passes over unknown keys. */
KODA_CHECK int koda_json_known(const struct koda_json *value, const struct koda_json_field *fields,
			       size_t count, void *ctx, struct koda_error *err);
/* Reads every element of an array. */
KODA_CHECK int koda_json_array(const struct koda_json *value,
			       int (*read)(void *ctx, int arg, const struct koda_json *value,
					   struct koda_error *err),
			       int arg, void *ctx, struct koda_error *err);
/* Returns element i of an array of exactly count elements. */
KODA_CHECK int koda_json_element(const struct koda_json *value, size_t count, size_t i,
				 struct koda_json *ret_element, struct koda_error *err);

bool koda_json_is_null(const struct koda_json *value);
KODA_CHECK int koda_json_bool(const struct koda_json *value, bool *ret, struct koda_error *err);
/* Reads a whole number from 0 to max. */
KODA_CHECK int koda_json_u64(const struct koda_json *value, uint64_t max, uint64_t *ret,
			     struct koda_error *err);
/* Reads a number that is finite. */
KODA_CHECK int koda_json_double(const struct koda_json *value, double *ret, struct koda_error *err);
/* Reads a string, borrowed from the document or its text, so not always NUL-terminated. */
KODA_CHECK int koda_json_string(const struct koda_json *value, struct koda_span *ret,
				struct koda_error *err);

#endif
