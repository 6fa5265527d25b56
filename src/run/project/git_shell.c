/* SPDX-License-Identifier: MIT */
/* T-44. Splits command lines. */
#include "run/project/git_shell.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"

#include <ctype.h>
#include <string.h>

/* The longest word; a longer one is unknown. */
#define WORD_MAX ((size_t)1 << 20)

#define BLANKS    " \t\n"
#define OPERATORS ";&|()<>"

struct split {
	struct koda_git_shell *shell;
	const char *at;
	unsigned int level;
	struct koda_buf word;
	bool started; /* there is a word, perhaps an empty one */
	bool cut;     /* the word is too long */
	bool no_memory;
	bool is_pattern;
	bool is_text;
	bool is_split;
	bool first;
	bool is_target;
	struct koda_error *err;
};

static void add(struct split *s, const char *bytes, size_t len)
{
	int r = koda_buf_add(&s->word, bytes, len);

	s->started = true;
	s->cut = s->cut || r < 0;
	s->no_memory = s->no_memory || r == KODA_E_NOMEM;
}

static void add_char(struct split *s, char c)
{
	/* Markers of this splitter. They are control bytes, which paths in use do not have. */
	if (c == KODA_GIT_SHELL_OUTPUT)
		c = KODA_GIT_SHELL_VALUE;
	add(s, &c, 1);
}

static int end_word(struct split *s)
{
	static const char unknown[] = { KODA_GIT_SHELL_VALUE, '\0' };
	struct koda_git_shell_word word = { .text = "",
					    .level = s->level,
					    .first = s->first && !s->is_target,
					    .is_target = s->is_target,
					    .is_pattern = s->is_pattern,
					    .is_text = s->is_text,
					    .is_split = s->is_split };
	int r;

	if (s->no_memory)
		return koda_fail_nomem(s->err);
	if (!s->started)
		return KODA_OK;
	if (s->word.len > 0)
		word.text = s->cut ? unknown : s->word.ptr;
	r = s->shell->see(s->shell->ctx, &word, s->err);
	s->first = s->first && s->is_target;
	s->word.len = 0;
	s->started = false;
	s->cut = false;
	s->is_target = false;
	s->is_pattern = false;
	s->is_text = false;
	s->is_split = false;
	return r;
}

/* --- substitutions --- */

/* Returns the end of the text that a parenthesis or brace closes, or the end of all. */
static const char *find_close(const char *at, char open, char close)
{
	size_t depth = 1;
	char quote = '\0';

	for (; *at; at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == open)
			depth++;
		else if (*at == close && --depth == 0)
			break;
	}
	return at;
}

static const char *find_backtick(const char *at)
{
	for (; *at && *at != '`'; at++)
		if (*at == '\\' && at[1])
			at++;
	return at;
}

/* NOLINTBEGIN(misc-no-recursion): bounded by KODA_GIT_SHELL_LEVELS */
/* Reads a text in the command as a command. */
static int split_inner(struct split *s, const char *start, const char *end)
{
	koda_auto_free char *inner = strndup(start, (size_t)(end - start));

	if (!inner)
		return koda_fail_nomem(s->err);
	return koda_git_shell_split(s->shell, inner, s->level + 1, s->err);
}

/* Reads "$(...)" or a text in backticks, whose contents begin at start. */
static int read_output(struct split *s, const char *start, bool backtick)
{
	const char *end;

	add(s, (const char[]){ KODA_GIT_SHELL_OUTPUT }, 1);
	s->at = start;
	/* Deeper ones are read as parts of this command, so that each level is searched once. */
	if (s->level + 1 >= KODA_GIT_SHELL_LEVELS)
		return KODA_OK;
	end = backtick ? find_backtick(start) : find_close(start, '(', ')');
	s->at = *end ? end + 1 : end;
	return split_inner(s, start, end);
}

static void add_value(struct split *s, struct koda_span name, bool quoted)
{
	const char *value = s->shell->value(s->shell->ctx, name);
	size_t len = value ? strlen(value) : 0;

	if (!value || len > KODA_PATH_MAX || len > s->shell->room) {
		add_char(s, KODA_GIT_SHELL_VALUE);
		return;
	}
	s->shell->room -= len;
	s->is_split = s->is_split || (!quoted && strpbrk(value, BLANKS));
	add(s, value, len);
}

static size_t name_len(const char *at)
{
	size_t len = 0;

	if (isdigit((unsigned char)at[0]))
		return 1;
	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	return len;
}

/* Reads "${NAME}", "${NAME:-word}" and others. The word may be what the shell takes. */
static int read_braces(struct split *s, bool quoted)
{
	const char *name = s->at + 2;
	size_t len = name_len(name);
	const char *end = find_close(name, '{', '}');
	const char *word = name + len;
	int r = KODA_OK;

	s->at = *end ? end + 1 : end;
	if (len > 0 && word == end) {
		add_value(s, (struct koda_span){ name, len }, quoted);
		return KODA_OK;
	}
	add_char(s, KODA_GIT_SHELL_VALUE);
	word += *word == ':';
	if (word < end && strchr("-=+", *word) && s->level + 1 < KODA_GIT_SHELL_LEVELS)
		r = split_inner(s, word + 1, end);
	return r;
}

/* escapes: bash knows "$'...'", which has them. */
static void read_single_quotes(struct split *s, bool escapes)
{
	s->started = true;
	for (s->at++; *s->at && *s->at != '\''; s->at++) {
		s->is_text = s->is_text || strchr(BLANKS OPERATORS, *s->at);
		if (escapes && *s->at == '\\') {
			add_char(s, KODA_GIT_SHELL_VALUE);
			s->at += s->at[1] != '\0';
		} else {
			add_char(s, *s->at);
		}
	}
	s->at += *s->at == '\'';
}

/* quoted: it is in double quotes. */
static int read_dollar(struct split *s, bool quoted)
{
	const char *next = s->at + 1;
	size_t len = name_len(next);

	if (*next == '(')
		return read_output(s, s->at + 2, false);
	/* At the last level braces are not searched for their ends. */
	if (*next == '{' && s->level + 1 < KODA_GIT_SHELL_LEVELS)
		return read_braces(s, quoted);
	if (len > 0) {
		s->at = next + len;
		add_value(s, (struct koda_span){ next, len }, quoted);
	} else if (*next && strchr("@*#?$!-{", *next)) {
		s->at = next + 1;
		add_char(s, KODA_GIT_SHELL_VALUE);
	} else {
		s->at = next;
		if (*next == '\'' && !quoted)
			read_single_quotes(s, true);
		else if (*next != '"' || quoted)
			add_char(s, '$');
	}
	return KODA_OK;
}

/* --- words --- */

static int read_double_quotes(struct split *s)
{
	int r = KODA_OK;

	s->started = true;
	s->at++;
	while (r == KODA_OK && *s->at && *s->at != '"') {
		if (*s->at == '$') {
			r = read_dollar(s, true);
		} else if (*s->at == '`') {
			r = read_output(s, s->at + 1, true);
		} else {
			if (*s->at == '\\' && s->at[1] && strchr("$`\"\\\n", s->at[1]))
				s->at++;
			s->is_text = s->is_text || strchr(BLANKS OPERATORS, *s->at);
			add_char(s, *s->at++);
		}
	}
	s->at += *s->at == '"';
	return r;
}

static void read_backslash(struct split *s)
{
	s->at++;
	if (*s->at == '\n') {
		s->at++;
		return;
	}
	add_char(s, *s->at ? *s->at : '\\');
	s->at += *s->at != '\0';
}

/* Ends a word at a blank or an operator. The word after "<" or ">" is no program. */
static int read_end(struct split *s)
{
	const char c = *s->at++;
	int r = end_word(s);

	if (c == '<' || c == '>') {
		s->at += strspn(s->at, "<>&|");
		s->is_target = true;
	} else if (c != ' ' && c != '\t') {
		s->is_target = false;
		s->first = true;
	}
	return r;
}

static int read_next(struct split *s)
{
	const char c = *s->at;

	if (strchr(BLANKS OPERATORS, c))
		return read_end(s);
	if (c == '$')
		return read_dollar(s, false);
	if (c == '`')
		return read_output(s, s->at + 1, true);
	if (c == '"')
		return read_double_quotes(s);
	if (c == '\'')
		read_single_quotes(s, false);
	else if (c == '\\')
		read_backslash(s);
	else {
		s->is_pattern = s->is_pattern || strchr("*?[{", c);
		add_char(s, c);
		s->at++;
	}
	return KODA_OK;
}

int koda_git_shell_split(struct koda_git_shell *shell, const char *text, unsigned int level,
			 struct koda_error *err)
{
	struct split s = { .shell = shell,
			   .at = text,
			   .level = level,
			   .word = KODA_BUF_INIT(WORD_MAX),
			   .first = true,
			   .err = err };
	int r = KODA_OK;

	while (r == KODA_OK && *s.at)
		r = read_next(&s);
	if (r == KODA_OK)
		r = end_word(&s);
	koda_buf_clear(&s.word);
	return r;
}
/* NOLINTEND(misc-no-recursion) */

/* --- kinds --- */

static const struct {
	const char *name;
	enum koda_git_shell_kind kind;
} kinds[] = {
	{ "!", KODA_GIT_SHELL_PREFIX },          { "{", KODA_GIT_SHELL_PREFIX },
	{ "}", KODA_GIT_SHELL_PREFIX },          { "if", KODA_GIT_SHELL_PREFIX },
	{ "then", KODA_GIT_SHELL_PREFIX },       { "else", KODA_GIT_SHELL_PREFIX },
	{ "elif", KODA_GIT_SHELL_PREFIX },       { "while", KODA_GIT_SHELL_PREFIX },
	{ "until", KODA_GIT_SHELL_PREFIX },      { "do", KODA_GIT_SHELL_PREFIX },
	{ "exec", KODA_GIT_SHELL_PREFIX },       { "command", KODA_GIT_SHELL_PREFIX },
	{ "builtin", KODA_GIT_SHELL_PREFIX },    { "export", KODA_GIT_SHELL_PREFIX },
	{ "local", KODA_GIT_SHELL_PREFIX },      { "declare", KODA_GIT_SHELL_PREFIX },
	{ "readonly", KODA_GIT_SHELL_PREFIX },   { "env", KODA_GIT_SHELL_PREFIX },
	{ "nice", KODA_GIT_SHELL_PREFIX },       { "ionice", KODA_GIT_SHELL_PREFIX },
	{ "nohup", KODA_GIT_SHELL_PREFIX },      { "time", KODA_GIT_SHELL_PREFIX },
	{ "timeout", KODA_GIT_SHELL_PREFIX },    { "setsid", KODA_GIT_SHELL_PREFIX },
	{ "stdbuf", KODA_GIT_SHELL_PREFIX },     { "sudo", KODA_GIT_SHELL_PREFIX },
	{ "doas", KODA_GIT_SHELL_PREFIX },       { "xargs", KODA_GIT_SHELL_PREFIX },
	{ "busybox", KODA_GIT_SHELL_PREFIX },    { "sh", KODA_GIT_SHELL_SHELL },
	{ "bash", KODA_GIT_SHELL_SHELL },        { "dash", KODA_GIT_SHELL_SHELL },
	{ "ash", KODA_GIT_SHELL_SHELL },         { "ksh", KODA_GIT_SHELL_SHELL },
	{ "mksh", KODA_GIT_SHELL_SHELL },        { "zsh", KODA_GIT_SHELL_SHELL },
	{ "fish", KODA_GIT_SHELL_SHELL },        { "perl", KODA_GIT_SHELL_INTERPRETER },
	{ "ruby", KODA_GIT_SHELL_INTERPRETER },  { "node", KODA_GIT_SHELL_INTERPRETER },
	{ "php", KODA_GIT_SHELL_INTERPRETER },   { "lua", KODA_GIT_SHELL_INTERPRETER },
	{ "tclsh", KODA_GIT_SHELL_INTERPRETER }, { "pwsh", KODA_GIT_SHELL_INTERPRETER },
	{ ".", KODA_GIT_SHELL_SOURCE },          { "source", KODA_GIT_SHELL_SOURCE },
	{ "eval", KODA_GIT_SHELL_EVAL },         { "cd", KODA_GIT_SHELL_CD },
	{ "pushd", KODA_GIT_SHELL_CD },
};

enum koda_git_shell_kind koda_git_shell_kind_of(const char *word)
{
	const char *slash = strrchr(word, '/');

	word = slash ? slash + 1 : word;
	for (size_t i = 0; i < KODA_ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, word) == 0)
			return slash && kinds[i].kind >= KODA_GIT_SHELL_SOURCE
				       ? KODA_GIT_SHELL_OTHER
				       : kinds[i].kind;
	/* With or without a version. */
	return strncmp(word, "python", strlen("python")) == 0 &&
			       word[strspn(word, "python0123456789.")] == '\0'
		       ? KODA_GIT_SHELL_INTERPRETER
		       : KODA_GIT_SHELL_OTHER;
}
