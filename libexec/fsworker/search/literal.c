/* SPDX-License-Identifier: MIT */
#include "literal.h"

#include "base/ascii.h"

#include <stdint.h>

/* The run of ordinary characters that is being read, and the longest so far. */
struct runs {
	struct koda_buf *best;
	struct koda_buf now;
};

static int end_run(struct runs *runs)
{
	int rc = KODA_OK;

	if (runs->now.len > runs->best->len) {
		runs->best->len = 0;
		rc = koda_buf_add(runs->best, runs->now.ptr, runs->now.len);
	}
	runs->now.len = 0;
	return rc;
}

/* Characters that are never part of a run when they stand alone. */
static bool is_operator(char c)
{
	return strchr(".^$*+?()[]{}|\\", c) != NULL;
}

/* Returns how many bytes the last character of the run has. */
static size_t last_char_len(const struct koda_buf *run)
{
	size_t len = 1;

	while (len < run->len && len < 4 &&
	       ((unsigned char)run->ptr[run->len - len] & 0xc0) == 0x80)
		len++;
	return len;
}

/* Goes over a quantifier. It says whether its character may be missing. */
static const char *skip_quantifier(const char *p, const char *end, bool *ret_optional)
{
	const char *brace = p;

	*ret_optional = *p != '+';
	if (*p != '{')
		return p + 1;
	/* It may count from 0. Without numbers it is no quantifier, and what is in it counts. */
	for (p++; p < end && (koda_ascii_is_digit(*p) || *p == ','); p++)
		;
	return p < end && *p == '}' ? p + 1 : brace + 1;
}

/* Goes over a class; NULL if it does not end, or has more than members. */
static const char *skip_class(const char *p, const char *end)
{
	p++;
	p += p < end && *p == '^';
	/* A "]" that comes first is a member. */
	for (bool first = true; p < end && (first || *p != ']'); first = false) {
		char next = p + 1 < end ? p[1] : '\0';

		if (*p == '[' && (next == ':' || next == '.' || next == '='))
			return NULL;
		if (*p == '\\' && (next == 'Q' || next == 'E'))
			return NULL;
		p += *p == '\\' ? 2 : 1;
	}
	return p < end ? p + 1 : NULL;
}

/* Goes over a class or a group; NULL if it does not end, or holds what changes the meaning of the
 * characters around it. */
static const char *skip_nested(const char *p, const char *end)
{
	size_t depth = 0;

	do {
		char next = p + 1 < end ? p[1] : '\0';

		if (*p == '[') {
			p = skip_class(p, end);
			if (!p)
				return NULL;
			continue;
		}
		if (*p == '\\' && (next == 'Q' || next == 'E' || next == '\0'))
			return NULL;
		if (*p == '(' && (next == '*' || (next == '?' && (p + 2 == end || p[2] != ':'))))
			return NULL;
		depth += *p == '(';
		depth -= *p == ')';
		p += *p == '\\' ? 2 : 1;
	} while (depth > 0 && p < end);
	return depth == 0 ? p : NULL;
}

/* Reads an escape: punctuation stands for itself, the rest ends the run. NULL for what it does not
 * know the extent of. */
static const char *read_escape(const char *p, const char *end, struct runs *runs, int *ret_rc)
{
	if (p + 1 == end)
		return NULL;
	if (strchr("wWdDsSbBtnrfhHvV", p[1])) {
		*ret_rc = end_run(runs);
		return p + 2;
	}
	if ((p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z') ||
	    (p[1] >= 'a' && p[1] <= 'z') || (unsigned char)p[1] >= 0x80)
		return NULL;
	*ret_rc = koda_buf_add(&runs->now, p + 1, 1);
	return p + 2;
}

static const char *read_element(const char *p, const char *end, struct runs *runs, int *ret_rc)
{
	bool optional = false;

	switch (*p) {
	case '|':
	case ')':
		return NULL;
	case '\\':
		return read_escape(p, end, runs, ret_rc);
	case '[':
	case '(':
		*ret_rc = end_run(runs);
		return skip_nested(p, end);
	case '*':
	case '+':
	case '?':
	case '{':
		p = skip_quantifier(p, end, &optional);
		if (optional && runs->now.len)
			runs->now.len -= last_char_len(&runs->now);
		*ret_rc = end_run(runs);
		return p;
	case '.':
	case '^':
	case '$':
	case ']':
	case '}':
		*ret_rc = end_run(runs);
		return p + 1;
	default:
		*ret_rc = koda_buf_add(&runs->now, p, 1);
		return p + 1;
	}
}

int fsworker_literal_required(struct koda_span pattern, struct koda_buf *out, bool *ret_whole)
{
	koda_auto_buf struct koda_buf now = KODA_BUF_INIT(out->max);
	struct runs runs = { out, now };
	const char *p = pattern.ptr, *end = pattern.ptr + pattern.len;
	int rc = KODA_OK;

	*ret_whole = pattern.len > 0;
	while (p && p < end && rc == KODA_OK) {
		*ret_whole = *ret_whole && !is_operator(*p) && *p != '\0';
		p = *p ? read_element(p, end, &runs, &rc) : NULL;
	}
	if (rc == KODA_OK)
		rc = end_run(&runs);
	/* What comes behind a part that was not understood may undo all before it: "abc|d". */
	if (!p)
		out->len = 0;
	*ret_whole = *ret_whole && out->len > 0;
	koda_buf_clear(&runs.now);
	return rc;
}

/* Roughly how often a byte occurs in sources and prose; higher is more often. */
static unsigned int frequency(char c)
{
	static const char often[] = " etaoinsrlcdupmfhg_.,()-;=*\n\"/bvywkx:0'1>{}<2jzq#3";
	const char *at = c ? strchr(often, koda_ascii_lower(c)) : NULL;
	unsigned int rank = at ? (unsigned int)(sizeof(often) - (size_t)(at - often)) : 1;

	/* Bytes beyond ASCII: few, but then many of them. Capitals are rarer than what they stand
	 * for. */
	if ((unsigned char)c >= 0x80)
		return 20;
	return c >= 'A' && c <= 'Z' ? rank / 4 + 1 : rank;
}

size_t fsworker_literal_rarest(struct koda_span literal)
{
	size_t best = 0;

	for (size_t i = 1; i < literal.len; i++) {
		if (frequency(literal.ptr[i]) < frequency(literal.ptr[best]))
			best = i;
	}
	return best;
}

const char *fsworker_literal_find(struct koda_span literal, size_t rarest, struct koda_span text)
{
	const char *p, *end;
	size_t wrong = 0;

	if (text.len < literal.len)
		return NULL;
	p = text.ptr + rarest;
	end = text.ptr + text.len - (literal.len - 1 - rarest);
	while (p < end && (p = memchr(p, literal.ptr[rarest], (size_t)(end - p)))) {
		const char *begin = p - rarest;

		if (memcmp(begin, literal.ptr, literal.len) == 0)
			return begin;
		p++;
		/* The byte is not rare in this text: go on with what does not depend on it. */
		if (++wrong > 64 && wrong * 16 > (size_t)(p - text.ptr))
			return memmem(p - rarest, (size_t)(text.ptr + text.len - (p - rarest)),
				      literal.ptr, literal.len);
	}
	return NULL;
}
