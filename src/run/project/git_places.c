/* SPDX-License-Identifier: MIT */
/* T-44. Finds the files that a command names. */
#include "run/project/git_places.h"

#include "base/error.h"
#include "run/project/git_settings.h"
#include "run/project/git_shell.h"
#include "run/project/git_trail.h"
#include "run/project/site.h"

#include <string.h>
#include <sys/stat.h>

static const char unknown[] = { KODA_GIT_SHELL_VALUE, KODA_GIT_SHELL_OUTPUT, '\0' };

bool koda_git_places_is_computed(const char *word)
{
	return strpbrk(word, unknown);
}

/* Notes a path, relative to one of the directories: if it must be protected even if it does not
 * exist (always), or is a file. A directory is one that the command may change to. */
static int note_in(struct koda_git_places *places, const char *word, const char *dir, bool always,
		   struct koda_error *err)
{
	struct koda_git_trail *trail = places->trail;
	koda_auto_free char *path = NULL;
	struct stat st = { 0 };
	int r = koda_survey_budget_take_entries(&trail->site->budget, 1, trail->source, err);

	if (r == KODA_OK)
		r = koda_git_settings_path(word, dir, trail->home, &path, err);
	if (r < 0 || !path)
		return r;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && !always)
		return places->dirs.len < KODA_GIT_PLACES_MAX && !koda_strv_has(&places->dirs, path)
			       ? koda_strv_take(&places->dirs, KODA_TAKE(path), err)
			       : KODA_OK;
	return always || (S_ISREG(st.st_mode) && !places->dirs_only)
		       ? koda_git_trail_follow(trail, path, err)
		       : KODA_OK;
}

int koda_git_places_note(struct koda_git_places *places, const char *word, bool always,
			 struct koda_error *err)
{
	size_t count = places->dirs.len;
	int r = note_in(places, word, places->dirs.items[places->dir], always, err);

	if (word[0] == '/' || word[0] == '~')
		return r;
	for (size_t i = 0; i < count && r == KODA_OK; i++)
		if (i != places->dir)
			r = note_in(places, word, places->dirs.items[i], false, err);
	return r;
}

int koda_git_places_note_parent(struct koda_git_places *places, const char *word, size_t len,
				struct koda_error *err)
{
	koda_auto_free char *dir = NULL;

	while (len > 0 && word[len - 1] != '/')
		len--;
	if (len < 2 || (len == 2 && word[0] == '.'))
		return KODA_OK;
	dir = strndup(word, len - 1);
	return dir ? note_in(places, dir, places->dirs.items[places->dir], true, err)
		   : koda_fail_nomem(err);
}

int koda_git_places_note_computed(struct koda_git_places *places, const char *word, bool is_program,
				  struct koda_error *err)
{
	const char *rest = word;
	const char *git_dir = places->trail->source;
	size_t count = places->dirs.len;
	bool is_output = false;
	int r = KODA_OK;

	if (is_program)
		r = koda_git_places_note_parent(places, word, strcspn(word, unknown), err);
	for (; strpbrk(rest, unknown); rest = strpbrk(rest, unknown) + 1)
		is_output = *strpbrk(rest, unknown) == KODA_GIT_SHELL_OUTPUT;
	/* Most often it is the top of the work tree. */
	is_output = is_output && rest[0] == '/';
	rest += strspn(rest, "/");
	if (!*rest || r < 0)
		return r;
	for (size_t i = 0; i < count && r == KODA_OK; i++)
		r = note_in(places, rest, places->dirs.items[i], is_program && is_output && i == 0,
			    err);
	if (r == KODA_OK && git_dir[0] == '/')
		r = note_in(places, rest, git_dir, false, err);
	return r;
}

int koda_git_places_change(struct koda_git_places *places, const char *word, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	const char *from = places->dirs.items[places->dir];
	size_t i;
	int r;

	/* A part that a shell computes is taken for the top. */
	if (strpbrk(word, unknown)) {
		from = places->dirs.items[0];
		while (strpbrk(word, unknown))
			word = strpbrk(word, unknown) + 1;
		word += strspn(word, "/");
	}
	r = koda_git_settings_path(*word ? word : ".", from, places->trail->home, &path, err);
	if (r < 0 || !path)
		return r;
	for (i = 0; i < places->dirs.len && strcmp(places->dirs.items[i], path) != 0; i++)
		;
	if (i == KODA_GIT_PLACES_MAX) {
		i--;
		free(places->dirs.items[i]);
		places->dirs.items[i] = KODA_TAKE(path);
	} else if (i == places->dirs.len) {
		r = koda_strv_take(&places->dirs, KODA_TAKE(path), err);
	}
	places->dir = r < 0 ? places->dir : i;
	return r;
}
