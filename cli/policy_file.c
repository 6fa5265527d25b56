/* SPDX-License-Identifier: MIT */
/* T-96. */
#include "policy_file.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

#include <sys/stat.h>
#include <unistd.h>

void cli_policy_file_clear(struct cli_policy_file *file)
{
	koda_strv_clear(&file->places);
	file->arg = NULL;
}

/* Returns why other users could change the file, or NULL. Files that are writable for a group are
 * accepted, because with a umask of 002 every file is. */
static const char *find_refusal(const struct stat *file, const struct stat *dir)
{
	if (file->st_uid != 0 && file->st_uid != geteuid())
		return "it belongs to another user; copy it";
	if (file->st_mode & S_IWOTH)
		return "every user can write it; chmod o-w it";
	if ((dir->st_mode & S_IWOTH) && !(dir->st_mode & S_ISVTX))
		return "every user can replace it; chmod o-w its directory";
	if (file->st_nlink > 1)
		return "it has further names (hard links), which may lie where commands write; "
		       "copy it";
	return NULL;
}

/* Fills in places: the path as it is spelt, each symbolic link on the way, and the target. */
static int note_places(struct cli_policy_file *file, const char *path, char **ret_real,
		       struct koda_error *err)
{
	koda_auto_free char *absolute = NULL;
	int r = koda_path_absolute(path, &absolute, err);

	if (r == KODA_OK)
		r = koda_strv_add(&file->places, absolute, err);
	if (r == KODA_OK)
		r = koda_path_trace(path, ret_real, &file->places, err);
	return r < 0 ? r : koda_strv_add(&file->places, *ret_real, err);
}

int cli_policy_file_read(struct cli_policy_file *file, const char *path, struct koda_buf *text,
			 struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	koda_auto_free char *above = NULL;
	koda_auto_fd int fd = -1;
	struct stat opened;
	struct stat found;
	struct stat dir;
	int r = koda_fd_open_regular(path, &fd, err);

	if (r == KODA_OK)
		r = note_places(file, path, &real, err);
	if (r < 0 || !real)
		return r;
	above = strndup(real, (size_t)(strrchr(real, '/') - real));
	if (!above)
		return koda_fail_nomem(err);
	if (fstat(fd, &opened) < 0 || lstat(real, &found) < 0 ||
	    stat(above[0] ? above : "/", &dir) < 0 || opened.st_dev != found.st_dev ||
	    opened.st_ino != found.st_ino)
		return koda_fail(err, KODA_E_SYS, 0, "changed while it was examined");
	file->refusal = find_refusal(&opened, &dir);
	file->arg = path;
	return cli_input_read(fd, text, err);
}

static int refuse(const struct cli_policy_file *file, const char *why, struct koda_error *err)
{
	(void)koda_fail(
		err, KODA_E_DENIED, 0,
		why == file->refusal
			? "%s"
			: "%s; put it into ~/.config/koda/policies, where no command can write",
		why);
	cli_error_place(err, "--policy %.80s", file->arg);
	return err->code;
}

int cli_policy_file_check(const struct cli_policy_file *file, struct koda_project *project,
			  struct koda_error *err)
{
	struct koda_span root = koda_span_of(koda_project_root(project));
	struct koda_place place = { .size = sizeof(place) };
	struct koda_rules *rules = NULL;
	const char *why = file->refusal;
	int r = koda_project_place(project, &place, err);

	if (r == KODA_OK)
		r = koda_rules_new_for_paths(koda_project_policy(project), &place, &rules, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < file->places.len && !why; i++) {
		struct koda_span at = koda_span_of(file->places.items[i]);

		if (koda_path_covers(root, at))
			why = "it, or a link to it, lies in the project";
		else if (koda_rules_write(rules, at.ptr, at.len).answer == KODA_ALLOW)
			why = "it, or a link to it, lies where the policy lets commands write";
	}
	koda_rules_free(rules);
	return why ? refuse(file, why, err) : KODA_OK;
}
