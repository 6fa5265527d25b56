/* SPDX-License-Identifier: MIT */
#include "run/stream/stderr_words.h"

#include "base/macros.h"

#include <string.h>

/* Length of the quotation mark that text begins with, or 0. */
static size_t quote_len(struct koda_span text)
{
	if (text.len && (text.ptr[0] == '\'' || text.ptr[0] == '"' || text.ptr[0] == '`'))
		return 1;
	if (text.len >= 3 &&
	    (memcmp(text.ptr, "\xe2\x80\x98", 3) == 0 || memcmp(text.ptr, "\xe2\x80\x99", 3) == 0))
		return 3;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool koda_stderr_next_word(struct koda_span *rest, struct koda_span *ret_word, bool *ret_quoted)
{
	size_t quote;
	size_t end = 0;

	while (rest->len && is_blank(rest->ptr[0]))
		*rest = koda_span_skip(*rest, 1);
	if (rest->len == 0)
		return false;
	quote = quote_len(*rest);
	*rest = koda_span_skip(*rest, quote);
	while (end < rest->len &&
	       (quote ? quote_len(koda_span_skip(*rest, end)) == 0 : !is_blank(rest->ptr[end])))
		end++;
	*ret_word = (struct koda_span){ rest->ptr, end };
	*ret_quoted = quote > 0;
	*rest = koda_span_skip(*rest, end);
	*rest = koda_span_skip(*rest, quote ? quote_len(*rest) : 0);
	while (!quote && ret_word->len && strchr(":,", ret_word->ptr[ret_word->len - 1]))
		ret_word->len--;
	return true;
}

bool koda_stderr_tells_of_write(struct koda_span word)
{
	static const char *const stems[] = { "chang", "creat", "delete", "link",   "lock",
					     "mkdir", "mov",   "overwr", "remov",  "renam",
					     "tee",   "touch", "trunc",  "unlink", "writ" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(stems); i++)
		if (word.len >= strlen(stems[i]) &&
		    memcmp(word.ptr, stems[i], strlen(stems[i])) == 0)
			return true;
	return false;
}

bool koda_stderr_tells_of_move(struct koda_span line)
{
	static const char *const stems[] = { "delete", "link",  "mkdir", "mov",
					     "remov",  "renam", "unlink" };
	struct koda_span word;
	bool quoted;

	while (koda_stderr_next_word(&line, &word, &quoted))
		for (size_t i = 0; !quoted && i < KODA_ARRAY_LEN(stems); i++)
			if (word.len >= strlen(stems[i]) &&
			    memcmp(word.ptr, stems[i], strlen(stems[i])) == 0)
				return true;
	return false;
}

size_t koda_stderr_count_of_write(struct koda_span line)
{
	struct koda_span word;
	size_t count = 0;
	bool quoted;

	while (koda_stderr_next_word(&line, &word, &quoted))
		count += !quoted && koda_stderr_tells_of_write(word);
	return count;
}

bool koda_stderr_tells_of_read(struct koda_span line)
{
	static const char *const readers[] = {
		"awk",     "cat",       "cmp",  "cut",     "diff", "file", "gawk", "grep",  "head",
		"jq",      "less",      "mawk", "md5sum",  "more", "nl",   "od",   "paste", "rg",
		"sha1sum", "sha256sum", "sort", "strings", "tac",  "tail", "uniq", "wc",    "xxd"
	};
	struct koda_span word;
	bool quoted;
	bool first = true;

	for (; koda_stderr_next_word(&line, &word, &quoted); first = false) {
		for (size_t i = 0; first && i < KODA_ARRAY_LEN(readers); i++)
			if (koda_span_is(word, readers[i]))
				return true;
		if (!quoted && word.len >= 4 && memcmp(word.ptr, "read", 4) == 0)
			return true;
	}
	return false;
}

bool koda_stderr_precedes_verb(struct koda_span word)
{
	static const char *const words[] = { "Cannot", "can't", "cannot", "not", "to" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(words); i++)
		if (word.len == strlen(words[i]) && memcmp(word.ptr, words[i], word.len) == 0)
			return true;
	return false;
}

bool koda_stderr_is_copied(struct koda_span line, struct koda_span word, struct koda_span rest)
{
	struct koda_span other;
	bool copies = false;
	bool quoted;

	while (!copies && koda_stderr_next_word(&line, &other, &quoted) && other.ptr < word.ptr)
		copies = !quoted && (koda_span_is(other, "copy") || koda_span_is(other, "copying"));
	return copies && koda_stderr_next_word(&rest, &other, &quoted) && !quoted &&
	       koda_span_is(other, "to");
}
