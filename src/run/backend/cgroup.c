/* SPDX-License-Identifier: MIT */
#include "run/backend/cgroup.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

#include <fcntl.h>

#define FILE_MAX ((size_t)64 << 10)

/* Reads dir/name; false if it cannot be read. */
static bool read_text(const char *dir, const char *name, struct koda_buf *out)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	koda_auto_fd int fd = -1;

	if (koda_buf_addf(&path, "%s%s%s", dir, *name ? "/" : "", name) < 0)
		return false;
	fd = open(path.ptr, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && koda_fd_read_all(fd, out, NULL) == KODA_OK && out->ptr;
}

/* Tells whether word is one of the words of text. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strspn(text, " \n")) {
		size_t n = strcspn(text, " \n");

		if (n == len && strncmp(text, word, len) == 0)
			return true;
		text += n;
	}
	return false;
}

/* Tells whether the user may create a group in dir and move a process into it. Delegation gives the
 * directory together with cgroup.procs. Whether it works is known when the group is made. */
static bool is_usable(const char *dir)
{
	koda_auto_buf struct koda_buf passed_on = KODA_BUF_INIT(FILE_MAX);
	koda_auto_buf struct koda_buf procs = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	koda_auto_fd int fd = -1;

	if (!read_text(dir, "cgroup.subtree_control", &passed_on) ||
	    !has_word(passed_on.ptr, "memory") || !has_word(passed_on.ptr, "pids") ||
	    koda_buf_addf(&procs, "%s/cgroup.procs", dir) < 0)
		return false;
	fd = open(procs.ptr, O_WRONLY | O_CLOEXEC);
	return fd >= 0;
}

/* "0::/PATH" is the line of version 2. */
static struct koda_span own_group(char *text)
{
	for (char *line = text; line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		if (strncmp(line, "0::/", 4) == 0)
			return koda_span_of(line + 3);
		line = end ? end + 1 : NULL;
	}
	return koda_span_of("");
}

int koda_cgroup_find(const char *mount, const char *self, char **ret_dir, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(FILE_MAX);
	koda_auto_buf struct koda_buf joined = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	koda_auto_buf struct koda_buf dir = KODA_BUF_INIT(KODA_PATH_MAX);
	struct koda_span group;
	size_t top = strlen(mount);

	*ret_dir = NULL;
	/* In hybrid mode version 2 is mounted elsewhere, and version 1 has the memory controller.
	 */
	if (!read_text(mount, "cgroup.controllers", &text) || !has_word(text.ptr, "memory"))
		return KODA_OK;
	koda_buf_clear(&text);
	if (!read_text(self, "", &text))
		return KODA_OK;
	group = own_group(text.ptr);
	/* A group outside our cgroup namespace is shown with ".." and has no normal form. */
	if (group.len == 0 || koda_buf_addf(&joined, "%s%s", mount, group.ptr) < 0 ||
	    koda_path_normalise(koda_buf_span(&joined), &dir, NULL) < 0)
		return KODA_OK;
	for (;;) {
		char *slash;

		if (is_usable(dir.ptr))
			break;
		slash = strrchr(dir.ptr, '/');
		if ((size_t)(slash - dir.ptr) < top)
			return KODA_OK;
		*slash = '\0';
	}
	*ret_dir = strdup(dir.ptr);
	return *ret_dir ? KODA_OK : koda_fail_nomem(err);
}
