/* SPDX-License-Identifier: MIT */
#include "run/site.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "policy/root.h"
#include "run/gitdir.h"
#include "run/remedy.h"
#include "wire/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of name, whatever it is, or NULL. */
static const char *raw_value(const char *const *environ_, const char *name)
{
	size_t len = strlen(name);

	for (; environ_ && *environ_; environ_++)
		if (strncmp(*environ_, name, len) == 0 && (*environ_)[len] == '=')
			return *environ_ + len + 1;
	return NULL;
}

/* The value of name in environ, or NULL if it is unset, empty or no absolute path: the XDG rules
 * say to ignore relative ones, and a relative HOME or PATH entry means nothing here. */
static const char *absolute_value(const char *const *environ_, const char *name)
{
	const char *value = raw_value(environ_, name);

	return value && value[0] == '/' ? value : NULL;
}

/* Keeps where the variable's directory really is; unset stays NULL. */
static int load_dir(const char *const *environ_, const char *name, char **ret_dir,
		    struct koda_error *err)
{
	const char *value = absolute_value(environ_, name);
	int r;

	if (!value)
		return KODA_OK;
	r = koda_path_resolve(value, ret_dir, err);
	if (r < 0)
		koda_error_prefix(err, "%s: ", name);
	return r;
}

static int add_once(struct koda_strv *list, const char *item, struct koda_error *err)
{
	return koda_strv_has(list, item) ? KODA_OK : koda_strv_add(list, item, err);
}

/* Adds a directory as spelt, every link on the way to it, and where that leads: whoever changes
 * one of them changes what is found there. */
static int add_with_links(struct koda_strv *list, const char *path, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *lexical = NULL;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_absolute(path, &lexical, err);

	if (r == KODA_OK)
		r = add_once(list, lexical, err);
	if (r == KODA_OK)
		r = koda_path_trace(path, &resolved, &links, err);
	if (r == KODA_OK)
		r = add_once(list, resolved, err);
	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		r = add_once(list, links.items[i], err);
	return r;
}

/* Every absolute entry of a list like PATH. */
static int add_each_dir(struct koda_site *site, const char *rest, struct koda_error *err)
{
	int r = KODA_OK;

	while (*rest && r == KODA_OK) {
		size_t len = strcspn(rest, ":");

		if (rest[0] == '/') {
			koda_auto_free char *dir = strndup(rest, len);

			if (!dir)
				return koda_fail_nomem(err);
			if (!koda_strv_has(&site->exec_dirs, dir))
				r = add_with_links(&site->exec_dirs, dir, err);
		}
		rest += len;
		rest += *rest == ':';
	}
	return r;
}

/* T-05 a directory where the host finds its programs: the absolute entries of PATH, the usual ones
 * whatever PATH says, and where our own are. */
static int load_exec_dirs(struct koda_site *site, const char *const *environ_,
			  struct koda_error *err)
{
	static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	const char *path = raw_value(environ_, "PATH");
	int r = add_with_links(&site->exec_dirs, KODA_HELPER_DIR, err);

	if (r == KODA_OK)
		r = add_each_dir(site, usual, err);
	return r < 0 || !path ? r : add_each_dir(site, path, err);
}

/* Field number i of a line of /etc/passwd, ended in place; NULL if there are fewer. */
static char *passwd_field(char *line, unsigned int i)
{
	for (; i > 0; i--) {
		line = strchr(line, ':');
		if (!line)
			return NULL;
		line++;
	}
	line[strcspn(line, ":")] = '\0';
	return line;
}

/* The user's home as the system's table has it, whatever HOME says. Read directly, because the C
 * library's lookup would load plug-ins into a static program. */
static int load_table_home(struct koda_site *site, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)16 << 20);
	koda_auto_fd int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char uid[16];
	int r = KODA_OK;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return KODA_OK;
	if (fd < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, "/etc/passwd", "cannot be read");
	r = koda_fd_read_all(fd, &text, err);
	if (r < 0 || !text.ptr)
		return r;
	(void)snprintf(uid, sizeof(uid), "%u", getuid());
	for (char *line = text.ptr; line && *line && !site->table_home && r == KODA_OK;) {
		char *end = strchr(line, '\n');
		char *home;
		char *id;

		if (end)
			*end = '\0';
		home = passwd_field(line, 5);
		id = home ? passwd_field(line, 2) : NULL;
		if (id && strcmp(id, uid) == 0 && home[0] == '/')
			r = koda_path_resolve(home, &site->table_home, err);
		line = end ? end + 1 : NULL;
	}
	return r;
}

/* Where the session's sockets are unless something else says so. */
static int load_runtime_dir(struct koda_site *site, struct koda_error *err)
{
	char dir[64];

	if (site->runtime_dir)
		return KODA_OK;
	(void)snprintf(dir, sizeof(dir), "/run/user/%u", getuid());
	return koda_path_resolve(dir, &site->runtime_dir, err);
}

int koda_site_check_dir(const struct koda_site *site, const char *dir, struct koda_error *err)
{
	struct koda_place place = koda_site_place(site);
	int r;

	place.root = dir;
	r = koda_root_check(&place, err);
	if (r < 0 || !site->table_home)
		return r;
	place.home = site->table_home;
	return koda_root_check(&place, err);
}

int koda_site_load(struct koda_site *site, const char *root, const char *const *environ_,
		   struct koda_error *err)
{
	int r = koda_path_resolve(root ? root : ".", &site->root, err);

	if (r < 0)
		koda_remedy_add(err);
	if (r == KODA_OK)
		r = load_dir(environ_, "HOME", &site->home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_CONFIG_HOME", &site->config_home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_STATE_HOME", &site->state_home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_RUNTIME_DIR", &site->runtime_dir, err);
	if (r == KODA_OK)
		r = load_table_home(site, err);
	if (r == KODA_OK && !site->home && site->table_home)
		r = koda_path_resolve(site->table_home, &site->home, err);
	if (r == KODA_OK)
		r = load_runtime_dir(site, err);
	if (r == KODA_OK)
		r = load_exec_dirs(site, environ_, err);
	if (r == KODA_OK)
		r = koda_site_note_caches(site, err);
	if (r < 0)
		return r;
	r = koda_site_check_dir(site, site->root, err);
	return r < 0 ? r : koda_site_note_link(site, err);
}

void koda_site_clear(struct koda_site *site)
{
	free(site->root);
	free(site->home);
	free(site->table_home);
	free(site->config_home);
	free(site->state_home);
	free(site->runtime_dir);
	koda_strv_clear(&site->exec_dirs);
	koda_strv_clear(&site->git_dirs);
	koda_strv_clear(&site->git_files);
	koda_strv_clear(&site->absent);
	koda_strv_clear(&site->guarded);
	koda_strv_clear(&site->hidden);
	koda_strv_clear(&site->git_open);
	koda_strv_clear(&site->caches);
	*site = (struct koda_site)KODA_SITE_INIT;
}

struct koda_place koda_site_place(const struct koda_site *site)
{
	return (struct koda_place){
		.root = site->root,
		.home = site->home,
		.config_home = site->config_home,
		.state_home = site->state_home,
		.runtime_dir = site->runtime_dir,
		.exec_dirs = (const char *const *)site->exec_dirs.items,
		.git_dirs = (const char *const *)site->git_dirs.items,
		.git_files = (const char *const *)site->git_files.items,
		.absent = (const char *const *)site->absent.items,
		.guarded = (const char *const *)site->guarded.items,
		.hidden = (const char *const *)site->hidden.items,
		.git_open = (const char *const *)site->git_open.items,
		.caches = (const char *const *)site->caches.items,
	};
}

/* What is above and may not be looked into is closed to a command as well. */
static bool is_out_of_reach(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == EACCES;
}

/* Is the directory itself one of git's? */
static int look_above(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int is = KODA_GITDIR_NO;

	if (fd >= 0)
		is = koda_gitdir_is_at(fd, err);
	else if (!is_out_of_reach(errno))
		is = koda_fail(err, KODA_E_SYS, errno, "cannot look for repositories");
	if (fd >= 0 && is == KODA_GITDIR_NO)
		is = koda_gitdir_is_worktree_at(fd, err);
	if (fd >= 0 && is == KODA_GITDIR_NO)
		is = koda_gitdir_is_configured_at(fd, err);
	if (is < 0)
		koda_error_within(err, dir);
	return is;
}

/* Looks at one directory on the way: is it a repository, a work tree with a pointer, or neither? */
static int note_git(struct koda_site *site, const char *dir, struct koda_error *err)
{
	koda_auto_free char *dot_git = NULL;
	struct stat st;
	int r = look_above(dir, err);

	if (r == KODA_GITDIR_YES)
		r = add_once(&site->git_dirs, dir, err);
	if (r >= 0)
		r = koda_path_join(dir, ".git", &dot_git, err);
	if (r < 0)
		return r;
	if (lstat(dot_git, &st) < 0)
		return is_out_of_reach(errno) ? KODA_OK
					      : koda_fail_at(err, KODA_E_SYS, errno, dot_git,
							     "cannot look for repositories");
	if (S_ISDIR(st.st_mode))
		return add_once(&site->git_dirs, dot_git, err);
	return add_once(&site->git_files, dot_git, err);
}

/* For each name with a directory in it: is that directory below dir there? */
static int note_absent_below(struct koda_site *site, const char *dir, const char *const *names,
			     struct koda_error *err)
{
	int r = KODA_OK;

	for (; *names && r == KODA_OK; names++) {
		const char *slash = strchr(*names, '/');
		koda_auto_free char *name =
			slash ? strndup(*names, (size_t)(slash - *names)) : NULL;
		koda_auto_free char *path = NULL;
		struct stat st;

		if (!slash)
			continue;
		if (!name)
			return koda_fail_nomem(err);
		r = koda_path_join(dir, name, &path, err);
		if (r == KODA_OK && (lstat(path, &st) < 0 || koda_hold_is_node(st.st_mode)))
			r = add_once(&site->absent, path, err);
	}
	return r;
}

/* T-30. Without a .git the root could be made into a git directory itself, which git on the host
 * would obey. One part that must not appear is enough, and of those whose name commands of git do
 * not use. */
static int note_absent_parts(struct koda_site *site, struct koda_error *err)
{
	static const char *const parts[] = { "refs", "objects", "HEAD" };
	bool found = false;
	int r = KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(parts) && !found && r == KODA_OK; i++) {
		koda_auto_free char *path = NULL;
		struct stat st;

		r = koda_path_join(site->root, parts[i], &path, err);
		found = r == KODA_OK && (lstat(path, &st) < 0 || koda_hold_is_node(st.st_mode));
		if (found)
			r = add_once(&site->absent, path, err);
	}
	return r;
}

int koda_site_note_absent(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *git = NULL;
	struct stat st;
	int r = note_absent_below(site, site->root, koda_floor_project_names, err);

	if (r == KODA_OK)
		r = koda_path_join(site->root, ".git", &git, err);
	if (r == KODA_OK && (lstat(git, &st) < 0 || koda_hold_is_node(st.st_mode)))
		r = add_once(&site->absent, git, err);
	else if (r == KODA_OK && S_ISDIR(st.st_mode))
		r = note_absent_below(site, git, koda_floor_git_names, err);
	if (r == KODA_OK && koda_strv_has(&site->absent, git))
		r = note_absent_parts(site, err);
	for (size_t i = 0; i < site->git_dirs.len && r == KODA_OK; i++)
		r = note_absent_below(site, site->git_dirs.items[i], koda_floor_git_names, err);
	return r;
}

int koda_site_note_git_above(struct koda_site *site, const char *path, struct koda_error *err)
{
	struct koda_span rest = koda_span_of(path);
	struct koda_span name;
	int r = KODA_OK;

	while (r == KODA_OK && koda_path_next(&rest, &name) == KODA_STEP_NAME) {
		koda_auto_free char *dir = strndup(path, (size_t)(rest.ptr - path));

		r = dir ? note_git(site, dir, err) : koda_fail_nomem(err);
	}
	return r;
}

int koda_site_see(struct koda_site *site, const char *target, char **ret_lexical,
		  char **ret_resolved, struct koda_error *err)
{
	koda_auto_free char *lexical = NULL;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_absolute(target, &lexical, err);

	if (r == KODA_OK)
		r = koda_path_resolve(target, &resolved, err);
	if (r == KODA_OK)
		r = koda_site_note_git_above(site, resolved, err);
	if (r < 0)
		return r;
	*ret_lexical = KODA_TAKE(lexical);
	*ret_resolved = KODA_TAKE(resolved);
	return KODA_OK;
}
