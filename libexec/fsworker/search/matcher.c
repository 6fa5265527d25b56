/* SPDX-License-Identifier: MIT */
#include "matcher.h"

#include "base/error.h"
#include "base/utf8.h"
#include "literal.h"
#include "wire/fs_frame.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Steps of one try, levels of it, KiB of heap; bytes of the stack of compiled code. */
#define STEPS     1000000U
#define DEPTH     100000U
#define HEAP      (16U << 10)
#define STACK_MIN ((size_t)64 << 10)
#define STACK_MAX ((size_t)1 << 20)
/* Shorter literals are in too many lines. */
#define LITERAL_MIN 3
/* Lines that are tried between two looks at whether the search is over. */
#define LOOK_EVERY 16

/* Made once, before the worker gives up what is needed to make it. There is one thread. */
static pcre2_jit_stack *jit_stack;

int fsworker_matcher_init(void)
{
	if (!jit_stack)
		jit_stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
	return jit_stack ? KODA_OK : KODA_E_NOMEM;
}

/* Returns true if more context cannot take a match away, so that many lines can be searched at
 * once. Assertions, possessive quantifiers and anchors of the whole text can. */
static bool is_monotone(struct koda_span pattern)
{
	for (size_t i = 0; i + 1 < pattern.len; i++) {
		char c = pattern.ptr[i], next = pattern.ptr[i + 1];

		if (c == '(' && next == '*')
			return false;
		if (c == '(' && next == '?' && (i + 2 == pattern.len || pattern.ptr[i + 2] != ':'))
			return false;
		if (next == '+' && (c == '+' || c == '*' || c == '?' || c == '}'))
			return false;
		if (c == '\\') {
			if (strchr("AzZGKRXBQE", next))
				return false;
			i++;
		}
	}
	return true;
}

static uint32_t options_of(const struct fsworker_search *search)
{
	uint32_t options = PCRE2_NEVER_BACKSLASH_C;

	if (search->flags & KODA_FS_LITERAL)
		options = PCRE2_LITERAL;
	else
		options |= PCRE2_MULTILINE;
	if (search->flags & KODA_FS_IGNORE_CASE)
		options |= PCRE2_CASELESS;
	if (koda_utf8_is_valid(search->pattern))
		options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	if ((options & PCRE2_UTF) && !(options & PCRE2_LITERAL))
		options |= PCRE2_UCP;
	return options;
}

static int compile(struct fsworker_matcher *matcher, struct koda_error *err)
{
	struct koda_span pattern = matcher->search->pattern;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_SIZE at;
	int reason;

	if (!context)
		return koda_fail_nomem(err);
	/* Lines may end with CR LF; then "$" is before both. */
	(void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
	matcher->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len,
				      options_of(matcher->search), &reason, &at, context);
	pcre2_compile_context_free(context);
	if (!matcher->code) {
		PCRE2_UCHAR text[128];

		if (pcre2_get_error_message(reason, text, sizeof(text)) < 0)
			text[0] = '\0';
		return koda_fail(err, KODA_E_INVALID, 0, "the pattern is wrong at byte %zu: %s", at,
				 (const char *)text);
	}
	/* Without it, the limits below hold the interpreter. */
	(void)pcre2_jit_compile(matcher->code, PCRE2_JIT_COMPLETE);
	matcher->match = pcre2_match_data_create(1, NULL);
	matcher->context = pcre2_match_context_create(NULL);
	if (!matcher->match || !matcher->context)
		return koda_fail_nomem(err);
	(void)pcre2_set_match_limit(matcher->context, STEPS);
	(void)pcre2_set_depth_limit(matcher->context, DEPTH);
	(void)pcre2_set_heap_limit(matcher->context, HEAP);
	if (jit_stack)
		pcre2_jit_stack_assign(matcher->context, NULL, jit_stack);
	return KODA_OK;
}

/* Finds the literal, and whether it is all that the pattern asks for. */
static int find_literal(struct fsworker_matcher *matcher, bool *ret_whole, struct koda_error *err)
{
	struct koda_span pattern = matcher->search->pattern;
	int rc = KODA_OK;

	*ret_whole = false;
	if (matcher->search->flags & KODA_FS_IGNORE_CASE)
		return KODA_OK;
	if (matcher->search->flags & KODA_FS_LITERAL) {
		*ret_whole = pattern.len > 0;
		rc = koda_buf_add(&matcher->literal, pattern.ptr, pattern.len);
	} else {
		rc = fsworker_literal_required(pattern, &matcher->literal, ret_whole);
	}
	if (rc < 0)
		return koda_fail_room(err, rc, "the pattern");
	if (matcher->literal.len)
		matcher->rarest = fsworker_literal_rarest(koda_buf_span(&matcher->literal));
	return KODA_OK;
}

int fsworker_matcher_make(const struct fsworker_search *search,
			  struct fsworker_matcher *ret_matcher, struct koda_error *err)
{
	struct koda_span pattern = search->pattern;
	bool whole;
	int rc;

	*ret_matcher =
		(struct fsworker_matcher){ .search = search,
					   .literal = KODA_BUF_INIT(FSWORKER_MATCHER_PATTERN) };
	if (pattern.len > FSWORKER_MATCHER_PATTERN)
		return koda_fail(err, KODA_E_LIMIT, 0, "the pattern is longer than %zu bytes",
				 FSWORKER_MATCHER_PATTERN);
	if (pattern.len && memchr(pattern.ptr, '\n', pattern.len))
		return koda_fail(err, KODA_E_INVALID, 0,
				 "the pattern has a newline, and each line is searched by itself");
	rc = find_literal(ret_matcher, &whole, err);
	if (rc == KODA_OK && !whole) {
		ret_matcher->many_lines = search->flags & KODA_FS_LITERAL || is_monotone(pattern);
		if (ret_matcher->many_lines && ret_matcher->literal.len < LITERAL_MIN)
			ret_matcher->literal.len = 0;
		rc = compile(ret_matcher, err);
	}
	if (rc < 0)
		fsworker_matcher_clear(ret_matcher);
	return rc;
}

void fsworker_matcher_clear(struct fsworker_matcher *matcher)
{
	pcre2_code_free(matcher->code);
	pcre2_match_data_free(matcher->match);
	pcre2_match_context_free(matcher->context);
	koda_buf_clear(&matcher->literal);
	*matcher = (struct fsworker_matcher){ 0 };
}

static bool is_limit(int rc)
{
	return rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT ||
	       rc == PCRE2_ERROR_HEAPLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT;
}

/* Tries the expression from offset on. Returns the result of pcre2_match. */
static int try(struct fsworker_matcher *matcher, struct koda_span text, size_t offset)
{
	return pcre2_match(matcher->code, (PCRE2_SPTR)text.ptr, text.len, offset, 0, matcher->match,
			   matcher->context);
}

static int judge(int rc, struct koda_error *err)
{
	if (rc >= 0)
		return 1;
	if (is_limit(rc))
		return koda_fail(err, KODA_E_LIMIT, 0,
				 "the pattern needs too many steps to match a line");
	/* What is left is NOMATCH, and text that a part of the expression cannot be tried on. */
	return rc == PCRE2_ERROR_NOMEMORY ? koda_fail_nomem(err) : 0;
}

static struct fsworker_matcher_line line_around(struct koda_span text, size_t first, size_t at)
{
	const char *before = at > first ? memrchr(text.ptr + first, '\n', at - first) : NULL;
	size_t begin = before ? (size_t)(before - text.ptr) + 1 : first;
	const char *newline = memchr(text.ptr + at, '\n', text.len - at);
	size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
	size_t next = newline ? end + 1 : end;

	if (end > begin && text.ptr[end - 1] == '\r')
		end--;
	return (struct fsworker_matcher_line){ begin, end - begin, next };
}

/* Finds the next place that may be in a matching line. Returns 1 and whether it is certain, 0 if
 * there is none. */
static int candidate(struct fsworker_matcher *matcher, struct koda_span text, size_t offset,
		     struct fsworker_matcher_line *ret_line, bool *ret_certain)
{
	struct koda_span rest = koda_span_skip(text, offset);
	int rc;

	*ret_certain = false;
	if (matcher->literal.len) {
		const char *found = fsworker_literal_find(koda_buf_span(&matcher->literal),
							  matcher->rarest, rest);

		if (found)
			*ret_line = line_around(text, offset, (size_t)(found - text.ptr));
		*ret_certain = !matcher->code;
		return found != NULL;
	}
	*ret_line = line_around(text, offset, offset);
	if (!matcher->many_lines)
		return 1;
	rc = try(matcher, text, offset);
	if (rc >= 0) {
		const PCRE2_SIZE *range = pcre2_get_ovector_pointer(matcher->match);

		if (range[0] >= text.len && text.len && text.ptr[text.len - 1] == '\n')
			return 0;
		*ret_line = line_around(text, offset, range[0]);
		*ret_certain = range[1] <= ret_line->at + ret_line->len;
		return 1;
	}
	if (is_limit(rc))
		matcher->many_lines = false;
	return is_limit(rc);
}

int fsworker_matcher_next(struct fsworker_matcher *matcher, struct koda_span text, size_t offset,
			  struct fsworker_matcher_line *ret_line, struct koda_error *err)
{
	const struct fsworker_search *search = matcher->search;

	while (offset < text.len) {
		bool certain;
		int rc = candidate(matcher, text, offset, ret_line, &certain);

		if (rc <= 0 || certain)
			return rc;
		if (matcher->until_look-- == 0) {
			matcher->until_look = LOOK_EVERY;
			if (search->cancelled(search->ctx))
				return 0;
		}
		rc = judge(try(matcher,
			       (struct koda_span){ text.ptr + ret_line->at, ret_line->len }, 0),
			   err);
		if (rc != 0)
			return rc;
		offset = ret_line->next;
	}
	return 0;
}
