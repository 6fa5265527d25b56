/* SPDX-License-Identifier: MIT */
#include "agree_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
	"a",          "b",         "c d",     "file.txt", ".claude",  ".git",  ".vscode",
	".envrc",     "hooks",     "config",  "agents",   "info",     ".koda", "settings.json",
	"attributes", ".mcp.json", "modules", "HEAD",     "commondir"
};

const char *koda_tree_name(struct world *w)
{
	return names[koda_rng_below(&w->rng, sizeof(names) / sizeof(names[0]))];
}

const char *koda_tree_note(struct world *w, const char *dir, const char *name)
{
	char *path = w->paths[w->count];

	if (w->count == PATHS_MAX || snprintf(path, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX - 64)
		return NULL;
	w->count++;
	return path;
}

static void write_file(const char *path, const char *key, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd >= 0) {
		(void)dprintf(fd, "%s%s\n", key, text);
		(void)close(fd);
	}
}

/* A file, now and then a further name of one that is there. Pointers lead to places of the tree. */
static void make_file(struct world *w, const char *path, const char *target)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;

	if (strcmp(name, ".git") == 0)
		write_file(path, "gitdir: ", target);
	else if (strcmp(name, "commondir") == 0)
		write_file(path, "", target);
	else if (!koda_rng_one_in(&w->rng, 10) || lstat(target, &st) < 0 || !S_ISREG(st.st_mode) ||
		 link(target, path) < 0)
		write_file(path, "", "x");
}

/* A name that is a directory wherever it is known to anybody. */
static bool is_directory_name(const char *path)
{
	static const char *const known[] = { ".claude", ".koda",  "info",
					     "hooks",   "agents", "modules" };
	const char *name = strrchr(path, '/') + 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return false;
}

/* Something at random: mostly files and directories, some links, inside and out, some to nowhere,
 * to files and to directories; repositories and pointers to them come of the names. */
void koda_tree_fill(struct world *w, const char *dir, unsigned int depth)
{
	size_t entries = 2 + koda_rng_below(&w->rng, 4);

	for (size_t i = 0; i < entries; i++) {
		const char *path = koda_tree_note(w, dir, koda_tree_name(w));
		const char *target = w->paths[koda_rng_below(&w->rng, w->count - 1)];
		struct stat st;

		if (!path)
			return;
		if (lstat(path, &st) == 0)
			continue;
		if (koda_rng_one_in(&w->rng, 7) && (lstat(target, &st) < 0 || !S_ISLNK(st.st_mode)))
			(void)!symlink(koda_rng_one_in(&w->rng, 4) ? "nowhere" : target, path);
		else if (depth > 0 && !koda_rng_one_in(&w->rng, 3) && mkdir(path, 0755) == 0)
			koda_tree_fill(w, path, depth - 1);
		else if (!koda_rng_one_in(&w->rng, 4) && !is_directory_name(path))
			make_file(w, path, target);
		/* else it stays missing */
	}
}

static void make_dir(const char *dir, const char *name, struct world *w)
{
	const char *path = koda_tree_note(w, dir, name);

	if (path)
		(void)mkdir(path, 0755);
}

/* A repository beside the project, of which the project is a worktree; of every other one it only
 * says so. */
void koda_tree_worktree(struct world *w, const char *other)
{
	static const char *const dirs[] = { "objects",       "refs",      "hooks",      "modules",
					    "modules/inner", "worktrees", "worktrees/p" };
	static const char *const files[] = { "HEAD", "config", "index", "worktrees/p/HEAD",
					     "modules/inner/config" };
	bool real = !koda_rng_one_in(&w->rng, 2);
	char git[PATH_MAX / 2 + 32];
	char own[PATH_MAX / 2 + 64];
	char path[PATH_MAX / 2 + 96];

	(void)snprintf(git, sizeof(git), "%s/other/main.git", w->top);
	(void)snprintf(own, sizeof(own), "%s/worktrees/p", git);
	make_dir(other, "main.git", w);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_dir(git, dirs[i], w);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *file = koda_tree_note(w, git, files[i]);

		if (file)
			write_file(file, "", "x");
	}
	(void)snprintf(path, sizeof(path), "%s/.git", w->root);
	write_file(path, "gitdir: ", own);
	(void)koda_tree_note(w, w->root, ".git");
	(void)snprintf(path, sizeof(path), "%s/commondir", own);
	write_file(path, "", "../..");
	(void)koda_tree_note(w, own, "commondir");
	(void)snprintf(path, sizeof(path), "%s/gitdir", own);
	write_file(path, real ? w->root : other, "/.git");
	(void)koda_tree_note(w, own, "gitdir");
	(void)koda_tree_note(w, git, "new");
	(void)koda_tree_note(w, own, "index.lock");
	(void)koda_tree_note(w, git, "modules/new");
	(void)koda_tree_note(w, git, "config.worktree");
}
