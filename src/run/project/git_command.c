/* SPDX-License-Identifier: MIT */
/* T-44. A program or a script counts if it is named as a path, existing or not. Any other word
 * counts if it is a file, such as the operand of an option. Where a shell computes the first part
 * of a path, the rest is looked for wherever the command may be; where it computes the last part,
 * the directory counts. So too many files are protected rather than too few. */
#include "run/project/git_command.h"

#include "base/error.h"
#include "run/project/git_places.h"
#include "run/project/git_shell.h"
#include "run/project/git_trail.h"

#include <ctype.h>
#include <string.h>

/* How many words of a command are examined: those with a slash, and others. */
#define PATHS_MAX ((size_t)256)
#define WORDS_MAX ((size_t)64)
/* How many variables it sets. */
#define NAMES_MAX ((size_t)64)
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
	ROLE_NAME,        /* after the option "-o" of a shell */
};

struct variable {
	char *name; /* owned */
	char *value;
};

struct command {
	struct koda_git_places places;
	struct koda_git_shell shell;
	bool is_alias;
	struct variable variables[NAMES_MAX];
	size_t count;
	bool has_more; /* variables that are not listed, so no value is known */
	enum role roles[KODA_GIT_SHELL_LEVELS];
	bool is_code; /* this is a command, not a text like one */
	size_t paths_left;
	size_t words_left;
};

/* --- variables --- */

static const char *find_value(void *ctx, struct koda_span name)
{
	const struct command *c = ctx;

	for (size_t i = c->has_more ? 0 : c->count; i-- > 0;)
		if (koda_span_is(name, c->variables[i].name))
			return c->variables[i].value;
	if (koda_span_is(name, "HOME"))
		return c->places.trail->home;
	if (koda_span_is(name, "PWD"))
		return c->places.dirs.items[c->places.dir];
	return koda_span_is(name, "GIT_WORK_TREE") ? c->places.dirs.items[0] : NULL;
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

	c->has_more = c->count == NAMES_MAX;
	if (c->has_more)
		return KODA_OK;
	*variable = (struct variable){ strndup(word, len), strdup(word + len + 1) };
	c->count++;
	return variable->name && variable->value ? KODA_OK : koda_fail_nomem(err);
}

/* --- words --- */

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
	c->places.dirs_only = c->is_alias && !always && text == word->text && !strpbrk(text, "/.");
	if (koda_git_places_is_computed(text))
		return koda_git_places_note_computed(&c->places, text, always, err);
	if (word->is_pattern && always)
		return koda_git_places_note_parent(&c->places, text, strcspn(text, "*?[{"), err);
	return koda_git_places_note(&c->places, text, always, err);
}

/* Notes directories in which a shell searches for programs. */
static int note_search_path(struct command *c, const char *dirs, struct koda_error *err)
{
	koda_auto_free char *text = strdup(dirs);
	int r = KODA_OK;

	if (!text)
		return koda_fail_nomem(err);
	for (char *rest = text, *dir; r == KODA_OK && (dir = strsep(&rest, ":"));) {
		if (!take_word(c, dir))
			continue;
		r = koda_git_places_is_computed(dir)
			    ? koda_git_places_note_computed(&c->places, dir, true, err)
			    : koda_git_places_note(&c->places, dir, true, err);
	}
	return r;
}

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

/* Reads a word as a command. is_code: it is one. */
static int read_text(struct command *c, const char *text, unsigned int level, bool is_code,
		     struct koda_error *err)
{
	const bool was_code = c->is_code;
	int r;

	if (level >= KODA_GIT_SHELL_LEVELS)
		return KODA_OK;
	c->is_code = is_code && was_code;
	r = koda_git_shell_split(&c->shell, text, level, err);
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

/* Judges an option of an interpreter: "-c" and "-ec" are followed by a command. */
static enum role role_after(const char *option, enum role role)
{
	const char last = option[1] == '-' ? '-' : option[strlen(option) - 1];

	if (role == ROLE_DIR || role == ROLE_CODE)
		return role;
	if (last == 'c')
		return ROLE_CODE;
	if (role == ROLE_INTERPRETED)
		return ROLE_ARGUMENT;
	return last == 'o' ? ROLE_NAME : ROLE_SCRIPT;
}

/* Reads a word that a shell splits, because it has a value with blanks. */
static int read_split(struct command *c, const struct koda_git_shell_word *word, enum role role,
		      struct koda_error *err)
{
	const bool is_program = role == ROLE_PROGRAM || role == ROLE_OPERAND;
	int r = read_text(c, word->text, word->level + 1, is_program, err);

	if (is_program && word->level + 1 < KODA_GIT_SHELL_LEVELS)
		c->roles[word->level] = c->roles[word->level + 1];
	return r;
}

/* Notes a word by its role, and tells the role of the next one. */
static int note_by_role(struct command *c, const struct koda_git_shell_word *word, enum role role,
			struct koda_error *err)
{
	enum role *next = &c->roles[word->level];

	*next = ROLE_ARGUMENT;
	switch (role) {
	case ROLE_PROGRAM:
	case ROLE_OPERAND:
		*next = role;
		return note_program(c, word, next, err);
	case ROLE_DIR:
		return koda_git_places_change(&c->places, word->text, err);
	case ROLE_CODE:
		return read_text(c, word->text, word->level + 1, true, err);
	case ROLE_NAME:
		*next = ROLE_SCRIPT;
		return KODA_OK;
	case ROLE_SCRIPT:
	case ROLE_INTERPRETED:
		return note_word(c, word, word->text, c->is_code, err);
	case ROLE_ARGUMENT:
		break;
	}
	return note_argument(c, word, err);
}

static int see(void *ctx, const struct koda_git_shell_word *word, struct koda_error *err)
{
	struct command *c = ctx;
	const enum role next = c->roles[word->level];
	const enum role role = word->first ? ROLE_PROGRAM : next;
	const size_t assigned = assigned_len(word->text);
	const char *text = word->text + (assigned > 0 ? assigned + 1 : 0);
	int r;

	if (word->is_target)
		return note_argument(c, word, err);
	if (word->is_split && assigned == 0)
		return read_split(c, word, role, err);
	if (role > ROLE_OPERAND && role != ROLE_NAME && word->text[0] == '-' && word->text[1]) {
		c->roles[word->level] = role_after(word->text, role);
		return KODA_OK;
	}
	r = note_by_role(c, word, role, err);
	return r == KODA_OK && word->is_text && role != ROLE_CODE
		       ? read_text(c, text, word->level + 1, false, err)
		       : r;
}

int koda_git_command_note(struct koda_git_trail *trail, const char *command, const char *top,
			  struct koda_error *err)
{
	struct command c = { .places = { .trail = trail },
			     .shell = { .see = see, .value = find_value, .room = VALUES_MAX },
			     .is_alias = command[0] == '!',
			     .is_code = true,
			     .paths_left = PATHS_MAX,
			     .words_left = WORDS_MAX };
	int r = koda_strv_add(&c.places.dirs, top, err);

	c.shell.ctx = &c;
	command += c.is_alias;
	/* Some programs are run without a shell, so that blanks are part of the path. */
	if (r == KODA_OK && strchr(command, '/') && strpbrk(command, " \t"))
		r = koda_git_places_note(&c.places, command, false, err);
	if (r == KODA_OK)
		r = koda_git_shell_split(&c.shell, command, 0, err);
	for (size_t i = 0; i < c.count; i++) {
		free(c.variables[i].name);
		free(c.variables[i].value);
	}
	koda_strv_clear(&c.places.dirs);
	return r;
}
