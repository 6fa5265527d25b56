/* SPDX-License-Identifier: MIT */
#include "glob.h"

#include "base/error.h"
#include "glob_text.h"

enum kind {
	PART_TEXT,   /* these bytes */
	PART_SUFFIX, /* a star and these bytes: most patterns of ignore files */
	PART_ANY,    /* a star */
	PART_WILD,   /* to be interpreted */
	PART_TREE,   /* "**" */
	PART_NONE    /* empty: matches nothing */
};

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '\\';
}

static bool is_plain(struct koda_span text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (is_special(text.ptr[i]))
			return false;
	}
	return true;
}

static bool is_stars(struct koda_span text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '*')
			return false;
	}
	return text.len > 0;
}

static struct fsworker_glob_part part_of(struct koda_span text, enum fsworker_glob_flag flags)
{
	enum kind kind = PART_WILD;

	if (text.len == 0)
		kind = PART_NONE;
	else if (is_stars(text))
		kind = text.len > 1 && !(flags & FSWORKER_GLOB_NAME) ? PART_TREE : PART_ANY;
	else if (is_plain(text))
		kind = PART_TEXT;
	else if (text.ptr[0] == '*' && is_plain(koda_span_skip(text, 1))) {
		kind = PART_SUFFIX;
		text = koda_span_skip(text, 1);
	}
	return (struct fsworker_glob_part){ kind, (uint32_t)text.len, text.ptr };
}

/* Returns the length of the first component. A slash in a class does not end it; one behind a
 * backslash does, as in git. Fails: INVALID. */
static int cut(struct koda_span text, enum fsworker_glob_flag flags, size_t *ret_len,
	       struct koda_error *err)
{
	const char *p = text.ptr, *end = text.ptr + text.len;

	while (p < end && (flags & FSWORKER_GLOB_NAME || *p != '/')) {
		if (*p == '[') {
			p = fsworker_glob_text_class(p, end);
			if (!p)
				return koda_fail(err, KODA_E_INVALID, 0,
						 "the pattern has a \"[\" without a \"]\"");
		} else if (*p == '\\' && p + 1 == end) {
			return koda_fail(err, KODA_E_INVALID, 0,
					 "the pattern ends with a backslash");
		} else if (*p == '\\' && p[1] == '/') {
			break;
		} else {
			p += *p == '\\' ? 2 : 1;
		}
	}
	*ret_len = (size_t)(p - text.ptr);
	return KODA_OK;
}

int fsworker_glob_compile(struct koda_span text, enum fsworker_glob_flag flags,
			  struct fsworker_glob *ret_glob, struct koda_error *err)
{
	size_t most = 1;
	struct fsworker_glob_part *parts;
	struct koda_span rest;
	char *copy;

	*ret_glob = (struct fsworker_glob){ .utf8 = (flags & FSWORKER_GLOB_UTF8) != 0 };
	for (size_t i = 0; i < text.len; i++)
		most += text.ptr[i] == '/';
	if (most > FSWORKER_GLOB_PARTS)
		return koda_fail(err, KODA_E_LIMIT, 0, "the pattern has more than %d components",
				 FSWORKER_GLOB_PARTS);
	parts = malloc(most * sizeof(*parts) + text.len + 1);
	if (!parts)
		return koda_fail_nomem(err);
	copy = (char *)(parts + most);
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	rest = (struct koda_span){ copy, text.len };
	for (size_t count = 0;; count++) {
		size_t len = 0;
		int rc = cut(rest, flags, &len, err);

		if (rc < 0) {
			free(parts);
			return rc;
		}
		parts[count] = part_of((struct koda_span){ rest.ptr, len }, flags);
		if (len == rest.len) {
			ret_glob->count = count + 1;
			break;
		}
		rest = koda_span_skip(rest, len + 1 + (rest.ptr[len] == '\\'));
	}
	ret_glob->parts = parts;
	return KODA_OK;
}

void fsworker_glob_clear(struct fsworker_glob *glob)
{
	free(glob->parts);
	*glob = (struct fsworker_glob){ 0 };
}

/* "**" may also match nothing, unless it is the last part. */
static uint64_t with_empty_trees(const struct fsworker_glob *glob, uint64_t parts)
{
	for (size_t i = 0; i + 1 < glob->count; i++) {
		if (parts >> i & 1 && glob->parts[i].kind == PART_TREE)
			parts |= (uint64_t)1 << (i + 1);
	}
	return parts;
}

uint64_t fsworker_glob_first(const struct fsworker_glob *glob)
{
	return with_empty_trees(glob, 1);
}

static bool part_matches(const struct fsworker_glob_part *part, struct koda_span name, bool utf8)
{
	struct koda_span text = { part->text, part->len };

	switch ((enum kind)part->kind) {
	case PART_TEXT:
		return koda_span_eq(text, name);
	case PART_SUFFIX:
		return name.len >= text.len &&
		       memcmp(name.ptr + name.len - text.len, text.ptr, text.len) == 0;
	case PART_ANY:
	case PART_TREE:
		return true;
	case PART_WILD:
		return fsworker_glob_text_match(text, name, utf8);
	case PART_NONE:
		break;
	}
	return false;
}

uint64_t fsworker_glob_next(const struct fsworker_glob *glob, uint64_t parts, struct koda_span name)
{
	uint64_t next = 0;

	for (size_t i = 0; i < glob->count && parts >> i; i++) {
		if (!(parts >> i & 1) || !part_matches(&glob->parts[i], name, glob->utf8))
			continue;
		if (glob->parts[i].kind != PART_TREE)
			next |= (uint64_t)1 << (i + 1);
		else
			next |= (uint64_t)(i + 1 == glob->count ? 3 : 1) << i;
	}
	return with_empty_trees(glob, next);
}

uint64_t fsworker_glob_dotted(const struct fsworker_glob *glob, uint64_t parts)
{
	for (size_t i = 0; i < glob->count; i++) {
		const struct fsworker_glob_part *part = &glob->parts[i];
		bool is_text = part->kind == PART_TEXT || part->kind == PART_WILD;
		bool dot = part->text[0] == '.' || (part->text[0] == '\\' && part->text[1] == '.');

		if (!is_text || !dot)
			parts &= ~((uint64_t)1 << i);
	}
	return parts;
}

bool fsworker_glob_match_path(const struct fsworker_glob *glob, struct koda_span path)
{
	uint64_t parts = fsworker_glob_first(glob);

	while (parts) {
		const char *slash = memchr(path.ptr, '/', path.len);
		size_t len = slash ? (size_t)(slash - path.ptr) : path.len;

		parts = fsworker_glob_next(glob, parts, (struct koda_span){ path.ptr, len });
		if (!slash)
			return fsworker_glob_is_end(glob, parts);
		path = koda_span_skip(path, len + 1);
	}
	return false;
}
