/* SPDX-License-Identifier: MIT */
/* koda_site_load: reads the host's environment and user table. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"
#include "run/project/cache.h"
#include "run/project/git_file.h"
#include "run/project/remedy.h"
#include "run/project/site.h"
#include "run/project/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns the value of a variable, or NULL. */
static const char *raw_value(const char *const *environ_, const char *name)
{
	size_t len = strlen(name);

	for (; environ_ && *environ_; environ_++)
		if (strncmp(*environ_, name, len) == 0 && (*environ_)[len] == '=')
			return *environ_ + len + 1;
	return NULL;
}

/* Returns the value of a variable, or NULL if it is no absolute path. The XDG specification ignores
 * relative ones, and a relative HOME has no meaning here. */
static const char *absolute_value(const char *const *environ_, const char *name)
{
	const char *value = raw_value(environ_, name);

	return value && value[0] == '/' ? value : NULL;
}

/* Resolves the path in a variable; leaves NULL if it is unset. */
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

/* Adds a directory as written, every link on the way to it, and its target: changing one of them
 * changes which programs are found. */
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

/* Adds every absolute entry of a list like PATH. */
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

/* T-05. Lists the directories where the host finds its programs: the absolute entries of PATH, the
 * usual ones in any case, and that of our helpers. */
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

/* Returns field i of a line of /etc/passwd, terminated in place; NULL if there are fewer. */
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

/* Reads the user's home from /etc/passwd, whatever HOME says. getpwuid() would load NSS plug-ins
 * into a static program. */
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
	for (char *line = text.ptr; line && *line && !site->passwd_home && r == KODA_OK;) {
		char *end = strchr(line, '\n');
		char *home;
		char *id;

		if (end)
			*end = '\0';
		home = passwd_field(line, 5);
		id = home ? passwd_field(line, 2) : NULL;
		if (id && strcmp(id, uid) == 0 && home[0] == '/')
			r = koda_path_resolve(home, &site->passwd_home, err);
		line = end ? end + 1 : NULL;
	}
	return r;
}

/* Falls back to /run/user/UID, where the session's sockets are. */
static int load_runtime_dir(struct koda_site *site, struct koda_error *err)
{
	char dir[64];

	if (site->runtime_dir)
		return KODA_OK;
	(void)snprintf(dir, sizeof(dir), "/run/user/%u", getuid());
	return koda_path_resolve(dir, &site->runtime_dir, err);
}

int koda_site_load(struct koda_site *site, const char *root, const char *const *environ_,
		   struct koda_error *err)
{
	int r;

	site->loaded_ns = koda_clock_now();
	r = koda_path_resolve(root ? root : ".", &site->root, err);
	/* Only a path that is relative depends on the working directory. */
	if (r == KODA_E_SYS && (!root || root[0] != '/'))
		koda_remedy_add_for(err, KODA_FAILURE_CWD);
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
		r = load_dir(environ_, "GIT_CONFIG_GLOBAL", &site->git_config, err);
	if (r == KODA_OK)
		r = load_table_home(site, err);
	if (r == KODA_OK && !site->home && site->passwd_home)
		r = koda_path_resolve(site->passwd_home, &site->home, err);
	if (r == KODA_OK)
		r = load_runtime_dir(site, err);
	if (r == KODA_OK)
		r = load_exec_dirs(site, environ_, err);
	if (r == KODA_OK)
		r = koda_cache_note(site, err);
	if (r < 0)
		return r;
	r = koda_site_check_dir(site, site->root, err);
	if (r == KODA_OK)
		r = koda_worktree_check_root(site->root, err);
	return r < 0 ? r : koda_git_file_note(site, err);
}
