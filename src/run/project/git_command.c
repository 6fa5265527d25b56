/* SPDX-License-Identifier: MIT */
/* T-44. A program or a script counts if it is named as a path, existing or not. Any other word
 * counts if it is a file, such as the operand of an option. Where a shell computes the first part
 * of a path, the rest is looked for wherever the command may be; where it computes the last part,
 * the directory counts. So too many files are protected rather than too few. */
#include "run/project/git_command.h"

#include "base/error.h"
#include "base/path.h"
#include "base/strv.h"
#include "run/project/git_settings.h"
#include "run/project/git_shell.h"
#include "run/project/git_trail.h"
#include "run/project/site.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

/* How many words of a command are examined: those with a slash, and others. */
#define PATHS_MAX ((size_t)256)
#define WORDS_MAX ((size_t)64)
/* How many directories a command may be in, and how many variables it sets. */
#define DIRS_MAX  ((size_t)8)
#define NAMES_MAX ((size_t)16)
/* Bytes of values that are put into words. */
#define VALUES_MAX ((size_t)1 << 20)

/* What the next word of a command is. */
enum role {
	ROLE_ARGUMENT,
	ROLE_PROGRAM,
	ROLE_OPERAND,     /* of an option, or the program */
	ROLE_SCRIPT,      /* of a shell, which may have options before it */
	ROLE_INTERPRETED, /* of another interpreter: options may have operands */
	ROLE_CODE,        /* a command */
	ROLE_DIR,         /* of cd */
};

struct variable {
	char *name; /* owned */
	char *value;
};

struct command {
	struct koda_git_trail *trail;
	struct koda_git_shell shell;
	bool is_alias;
	struct koda_strv dirs; /* where it may be: the top of the work tree, targets of cd */
	size_t dir;            /* where it is, if it goes on from start to end */
	struct variable variables[NAMES_MAX];
	size_t count;
	enum role roles[KODA_GIT_SHELL_LEVELS];
	bool is_code;   /* this is a command, not a text like one */
	bool dirs_only; /* the word does not look like a file */
	size_t paths_left;
	size_t words_left;
};

static const char unknown[] = { KODA_GIT_SHELL_VALUE, KODA_GIT_SHELL_OUTPUT, '\0' };

/* --- variables --- */

static const char *find_value(void *ctx, struct koda_span name)
{
	const struct command *c = ctx;

	for (size_t i = c->count; i-- > 0;)
		if (koda_span_is(name, c->variables[i].name))
			return c->variables[i].value;
	if (koda_span_is(name, "HOME"))
		return c->trail->home;
	if (koda_span_is(name, "PWD"))
		return c->dirs.items[c->dir];
	return koda_span_is(name, "GIT_WORK_TREE") ? c->dirs.items[0] : NULL;
}

/* Returns the length of the name, if the word is an assignment; otherwise 0. */
static size_t assigned_len(const char *word)
{
	size_t len = 0;

	while (isalnum((unsigned char)word[len]) || word[len] == '_')
		len++;
	return word[len] == '=' && !isdigit((unsigned char)word[0]) ? len : 0;
}

static int set_variable(struct command *c, const char *word, size_t len, struct koda_error *err)
{
	struct variable *variable = &c->variables[c->count];

	/* Beyond that, values are not known. */
	if (c->count == NAMES_MAX)
		return KODA_OK;
	*variable = (struct variable){ strndup(word, len), strdup(word + len + 1) };
	c->count++;
	return variable->name && variable->value ? KODA_OK : koda_fail_nomem(err);
}

/* --- paths --- */

/* Notes a path, relative to one of the directories: if it must be protected even if it does not
 * exist (always), or is a file. A directory is one that the command may change to. */
static int note_in(struct command *c, const char *word, const char *dir, bool always,
		   struct koda_error *err)
{
	struct koda_git_trail *trail = c->trail;
	koda_auto_free char *path = NULL;
	struct stat st = { 0 };
	int r = koda_survey_budget_take_entries(&trail->site->budget, 1, trail->source, err);

	if (r == KODA_OK)
		r = koda_git_settings_path(word, dir, trail->home, &path, err);
	if (r < 0 || !path)
		return r;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && !always)
		return c->dirs.len < DIRS_MAX && !koda_strv_has(&c->dirs, path)
			       ? koda_strv_take(&c->dirs, KODA_TAKE(path), err)
			       : KODA_OK;
	return always || (S_ISREG(st.st_mode) && !c->dirs_only)
		       ? koda_git_trail_follow(trail, path, err)
		       : KODA_OK;
}

/* Notes a path that is known as a whole. */
static int note_path(struct command *c, const char *word, bool always, struct koda_error *err)
{
	size_t count = c->dirs.len;
	int r = note_in(c, word, c->dirs.items[c->dir], always, err);

	if (word[0] == '/' || word[0] == '~')
		return r;
	for (size_t i = 0; i < count && r == KODA_OK; i++)
		if (i != c->dir)
			r = note_in(c, word, c->dirs.items[i], false, err);
	return r;
}

/* Notes the directory that a program is in, if a shell computes the rest of its path. */
static int note_dir_of(struct command *c, const char *word, size_t len, struct koda_error *err)
{
	koda_auto_free char *dir = NULL;

	while (len > 0 && word[len - 1] != '/')
		len--;
	if (len < 2 || (len == 2 && word[0] == '.'))
		return KODA_OK;
	dir = strndup(word, len - 1);
	return dir ? note_in(c, dir, c->dirs.items[c->dir], true, err) : koda_fail_nomem(err);
}

/* Notes a path of which a shell computes a part. */
static int note_computed(struct command *c, const char *word, bool is_program,
			 struct koda_error *err)
{
	const char *rest = word;
	const char *git_dir = c->trail->source;
	size_t count = c->dirs.len;
	bool is_output = false;
	int r = KODA_OK;

	if (is_program)
		r = note_dir_of(c, word, strcspn(word, unknown), err);
	for (; strpbrk(rest, unknown); rest = strpbrk(rest, unknown) + 1)
		is_output = *strpbrk(rest, unknown) == KODA_GIT_SHELL_OUTPUT;
	/* Most often it is the top of the work tree. */
	is_output = is_output && rest[0] == '/';
	rest += strspn(rest, "/");
	if (!*rest || r < 0)
		return r;
	for (size_t i = 0; i < count && r == KODA_OK; i++)
		r = note_in(c, rest, c->dirs.items[i], is_program && is_output && i == 0, err);
	if (r == KODA_OK && git_dir[0] == '/')
		r = note_in(c, rest, git_dir, false, err);
	return r;
}

/* Tells whether the word may be looked for, and counts it. */
static bool take_word(struct command *c, const char *word)
{
	size_t *left = strchr(word, '/') ? &c->paths_left : &c->words_left;

	if (*left == 0 || !*word)
		return false;
	(*left)--;
	return true;
}

/* Notes a word that is a program or a script (always), or any other. */
static int note_word(struct command *c, const struct koda_git_shell_word *word, const char *text,
		     bool always, struct koda_error *err)
{
	if (!take_word(c, text))
		return KODA_OK;
	/* Of an alias, which has words of any kind, only those that look like files count. */
	c->dirs_only = c->is_alias && !always && !strpbrk(text, "/.");
	if (strpbrk(text, unknown))
		return note_computed(c, text, always, err);
	if (word->is_pattern && always)
		return note_dir_of(c, text, strcspn(text, "*?[{"), err);
	return note_path(c, text, always, err);
}

/* Programs are searched for in PATH. */
static int note_search_path(struct command *c, const char *dirs, struct koda_error *err)
{
	koda_auto_free char *text = strdup(dirs);
	int r = KODA_OK;

	if (!text)
		return koda_fail_nomem(err);
	for (char *rest = text, *dir; r == KODA_OK && (dir = strsep(&rest, ":"));) {
		if (!take_word(c, dir))
			continue;
		r = strpbrk(dir, unknown) ? note_computed(c, dir, true, err)
					  : note_in(c, dir, c->dirs.items[c->dir], true, err);
	}
	return r;
}

/* --- words --- */

static int note_assignment(struct command *c, const struct koda_git_shell_word *word, size_t len,
			   struct koda_error *err)
{
	const char *value = word->text + len + 1;
	int r = set_variable(c, word->text, len, err);

	if (r < 0)
		return r;
	if (len >= strlen("PATH") &&
	    strncmp(value - strlen("PATH="), "PATH=", strlen("PATH=")) == 0)
		return note_search_path(c, value, err);
	return note_word(c, word, value, false, err);
}

static int change_dir(struct command *c, const char *word, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	const char *from = c->dirs.items[c->dir];
	size_t i;
	int r;

	/* A part that a shell computes is taken for the top. */
	if (strpbrk(word, unknown)) {
		from = c->dirs.items[0];
		while (strpbrk(word, unknown))
			word = strpbrk(word, unknown) + 1;
		word += strspn(word, "/");
	}
	r = koda_git_settings_path(*word ? word : ".", from, c->trail->home, &path, err);
	if (r < 0 || !path)
		return r;
	for (i = 0; i < c->dirs.len && strcmp(c->dirs.items[i], path) != 0; i++)
		;
	if (i == DIRS_MAX)
		return KODA_OK;
	if (i == c->dirs.len)
		r = koda_strv_take(&c->dirs, KODA_TAKE(path), err);
	c->dir = r < 0 ? c->dir : i;
	return r;
}

/* Reads a word as a command. is_code: it is one. */
static int read_text(struct command *c, const struct koda_git_shell_word *word, bool is_code,
		     struct koda_error *err)
{
	const bool was_code = c->is_code;
	int r;

	if (word->level + 1 >= KODA_GIT_SHELL_LEVELS)
		return KODA_OK;
	c->is_code = is_code && was_code;
	r = koda_git_shell_split(&c->shell, word->text, word->level + 1, err);
	c->is_code = was_code;
	return r;
}

static int note_argument(struct command *c, const struct koda_git_shell_word *word,
			 struct koda_error *err)
{
	const char *equals = strchr(word->text, '=');
	int r = note_word(c, word, word->text, false, err);

	if (r == KODA_OK && equals)
		r = note_word(c, word, equals + 1, false, err);
	return r;
}

/* Notes a program, and tells what comes after it. */
static int note_program(struct command *c, const struct koda_git_shell_word *word, enum role *role,
			struct koda_error *err)
{
	static const enum role after[] = {
		[KODA_GIT_SHELL_OTHER] = ROLE_ARGUMENT,
		[KODA_GIT_SHELL_PREFIX] = ROLE_PROGRAM,
		[KODA_GIT_SHELL_SHELL] = ROLE_SCRIPT,
		[KODA_GIT_SHELL_INTERPRETER] = ROLE_INTERPRETED,
		[KODA_GIT_SHELL_SOURCE] = ROLE_SCRIPT,
		[KODA_GIT_SHELL_EVAL] = ROLE_CODE,
		[KODA_GIT_SHELL_CD] = ROLE_DIR,
	};
	const enum koda_git_shell_kind kind = koda_git_shell_kind_of(word->text);
	const bool may_be_operand = *role == ROLE_OPERAND && kind == KODA_GIT_SHELL_OTHER;
	size_t len = assigned_len(word->text);

	*role = word->text[0] == '-' ? ROLE_OPERAND : ROLE_PROGRAM;
	if (len > 0)
		return note_assignment(c, word, len, err);
	/* Options and numbers of a prefix such as timeout. */
	if (*role == ROLE_OPERAND || isdigit((unsigned char)word->text[0]) ||
	    (may_be_operand && !strchr(word->text, '/')))
		return note_argument(c, word, err);
	*role = after[kind];
	/* Without a slash it is searched for in PATH. */
	if (!strchr(word->text, '/'))
		return KODA_OK;
	return note_word(c, word, word->text, c->is_code, err);
}

/* Judges an option of a shell: "-c" and "-ec" are followed by a command. */
static enum role role_after(const char *option, enum role role)
{
	if (option[1] != '-' && option[strlen(option) - 1] == 'c')
		return ROLE_CODE;
	return role == ROLE_SCRIPT ? ROLE_SCRIPT : ROLE_ARGUMENT;
}

static int see(void *ctx, const struct koda_git_shell_word *word, struct koda_error *err)
{
	struct command *c = ctx;
	enum role *next = &c->roles[word->level];
	const enum role role = word->is_target ? ROLE_ARGUMENT : word->first ? ROLE_PROGRAM : *next;
	int r;

	if (role == ROLE_PROGRAM || role == ROLE_OPERAND) {
		*next = role;
		r = note_program(c, word, next, err);
	} else if (role != ROLE_ARGUMENT && word->text[0] == '-' && word->text[1]) {
		*next = role == ROLE_DIR || role == ROLE_CODE ? role : role_after(word->text, role);
		return KODA_OK;
	} else if (role == ROLE_DIR) {
		*next = ROLE_ARGUMENT;
		return change_dir(c, word->text, err);
	} else if (role == ROLE_CODE) {
		*next = ROLE_ARGUMENT;
		return read_text(c, word, true, err);
	} else if (role == ROLE_ARGUMENT) {
		r = note_argument(c, word, err);
	} else {
		*next = ROLE_ARGUMENT;
		r = note_word(c, word, word->text, c->is_code, err);
	}
	return r == KODA_OK && word->is_text ? read_text(c, word, false, err) : r;
}

int koda_git_command_note(struct koda_git_trail *trail, const char *command, const char *top,
			  struct koda_error *err)
{
	struct command c = { .trail = trail,
			     .shell = { .see = see, .value = find_value, .room = VALUES_MAX },
			     .is_alias = command[0] == '!',
			     .is_code = true,
			     .paths_left = PATHS_MAX,
			     .words_left = WORDS_MAX };
	int r = koda_strv_add(&c.dirs, top, err);

	c.shell.ctx = &c;
	command += c.is_alias;
	/* Some programs are run without a shell, so that blanks are part of the path. */
	if (r == KODA_OK && strchr(command, '/') && strpbrk(command, " \t"))
		r = note_in(&c, command, top, false, err);
	if (r == KODA_OK)
		r = koda_git_shell_split(&c.shell, command, 0, err);
	for (size_t i = 0; i < c.count; i++) {
		free(c.variables[i].name);
		free(c.variables[i].value);
	}
	koda_strv_clear(&c.dirs);
	return r;
}
