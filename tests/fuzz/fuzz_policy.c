/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as policy text. What is refused is refused in one clean line and leaves nothing
 * behind; what is accepted survives emit, parse and copy unchanged. A letter of a string that is
 * spelt as an escape changes nothing, though the text is read in another way then (abridge.h).
 */
#include "target.h"

#include "policy/policy.h"

#include <string.h>

static bool is_one_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static void check_refusal(int code, const struct koda_policy *policy, const struct koda_error *err)
{
	CHECK(code == KODA_E_POLICY || code == KODA_E_LIMIT);
	CHECK(err->code == code);
	CHECK(policy == NULL);
	CHECK(err->message[0] != '\0');
	CHECK(memchr(err->message, '\0', sizeof(err->message)) != NULL);
	CHECK(memchr(err->field, '\0', sizeof(err->field)) != NULL);
	CHECK(is_one_line(err->message));
	CHECK(is_one_line(err->field));
}

static char *emit(const struct koda_policy *policy)
{
	char *text = NULL;

	CHECK(koda_policy_emit(policy, &text, NULL) == KODA_OK);
	CHECK(text != NULL);
	return text;
}

static void check_copy(const struct koda_policy *policy)
{
	koda_auto_policy struct koda_policy *copy = NULL;

	CHECK(koda_policy_copy(policy, &copy, NULL) == KODA_OK);
	CHECK(koda_policy_equal(policy, copy));
	CHECK(koda_policy_equal(copy, policy));
	CHECK(koda_policy_hash(policy) == koda_policy_hash(copy));
}

static void check_round_trip(const struct koda_policy *policy)
{
	koda_auto_policy struct koda_policy *back = NULL;
	koda_auto_free char *text = emit(policy);
	koda_auto_free char *again = NULL;
	int r = koda_policy_parse(text, strlen(text), &back, NULL);

	/* Indented, a text that was close to the limit may be over it. */
	if (strlen(text) > KODA_POLICY_TEXT_MAX) {
		CHECK(r == KODA_E_LIMIT);
		return;
	}
	CHECK(r == KODA_OK);
	CHECK(koda_policy_equal(policy, back));
	CHECK(koda_policy_hash(policy) == koda_policy_hash(back));
	again = emit(back);
	CHECK(strcmp(text, again) == 0);
}

/* The first letter of a string, spelt as an escape; NULL if there is none. */
static char *respell(const char *text, size_t size, size_t *ret_len)
{
	static const char hex[] = "0123456789abcdef";
	const char *quote = size ? memchr(text, '"', size) : NULL;
	size_t at = quote ? (size_t)(quote - text) + 1 : size;
	char *out;

	if (at >= size || text[at] <= 0x20 || text[at] == '"' || text[at] == '\\')
		return NULL;
	out = malloc(size + 5);
	CHECK(out != NULL);
	memcpy(out, text, at);
	out[at] = '\\';
	out[at + 1] = 'u';
	out[at + 2] = '0';
	out[at + 3] = '0';
	out[at + 4] = hex[text[at] >> 4];
	out[at + 5] = hex[text[at] & 15];
	memcpy(out + at + 6, text + at + 1, size - at - 1);
	*ret_len = size + 5;
	return out;
}

/* The same policy, or the same complaint in the same place; where text is no JSON, the place moves.
 */
static void check_respelt(const char *text, size_t size, const struct koda_policy *policy,
			  const struct koda_error *err)
{
	koda_auto_policy struct koda_policy *other = NULL;
	struct koda_error why = { 0 };
	size_t len = 0;
	koda_auto_free char *spelt = respell(text, size, &len);

	if (!spelt || len > KODA_POLICY_TEXT_MAX)
		return;
	CHECK(koda_policy_parse(spelt, len, &other, &why) == err->code);
	CHECK(err->code < 0 || koda_policy_equal(policy, other));
	CHECK(err->field[0] != '/' ||
	      (strcmp(err->field, why.field) == 0 && strcmp(err->message, why.message) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	int r = koda_policy_parse((const char *)data, size, &policy, &err);

	check_respelt((const char *)data, size, policy, &err);
	if (r < 0) {
		check_refusal(r, policy, &err);
		return 0;
	}
	CHECK(policy != NULL);
	check_copy(policy);
	check_round_trip(policy);
	return 0;
}
