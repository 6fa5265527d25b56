/* SPDX-License-Identifier: MIT */
/*
 * Does the sandbox do what the verdicts say? Random trees, random policies; a probe inside tries to
 * read and to write at every path of the tree and at some that do not exist, and each answer is
 * compared with koda_rules_read and koda_rules_write for the place the path leads to.
 *
 *   agree run CASES DIRECTORY PROBE    works below DIRECTORY and leaves it empty
 *   agree names project|git            the tables of protected names, for other tests
 *
 * KODA_TEST_SEED repeats a run; the seed is printed. KODA_TEST_BACKEND names a backend. That of
 * Landlock alone is asked for less: it may refuse more of what does not exist and of listings, and
 * a missing name that is protected is none of its clauses.
 */
#include "agree_tree.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "policy/policy.h"
#include "run/sandbox.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		struct koda_error *err_ = &err;                                                    \
		if ((call) < 0) {                                                                  \
			(void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, err_->field,  \
				      err_->message);                                              \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static bool landlock_only; /* no namespaces: only what exists at the start is held */

/* Rules about what is there, and about names that are missing in a directory that is there. Rules
 * that go through a file or a link are for other tests: they may keep a sandbox from starting. */
static void add_rules(struct world *w, struct koda_policy *policy, enum koda_list list, size_t max)
{
	size_t count = koda_rng_below(&w->rng, max + 1);
	struct koda_error err;

	for (size_t i = 0; i < count; i++) {
		const char *base = w->paths[koda_rng_below(&w->rng, w->count)];
		koda_auto_free char *resolved = NULL;
		char path[PATH_MAX + 64];
		struct stat st;

		(void)snprintf(path, sizeof(path), "%s", base);
		if (lstat(base, &st) == 0 && S_ISDIR(st.st_mode) && koda_rng_one_in(&w->rng, 2))
			(void)snprintf(path, sizeof(path), "%s/%s", base, koda_tree_name(w));
		if (koda_path_resolve(path, &resolved, &err) == KODA_OK &&
		    strcmp(path, resolved) == 0)
			MUST(koda_policy_add(policy, list, path, strlen(path), &err));
	}
}

static struct koda_sandbox *open_sandbox(struct world *w)
{
	char home[PATH_MAX];
	const char *const env[] = { home, "PATH=/usr/bin:/bin", NULL };
	struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = w->root, .host_env = env
	};
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	const char *backend = getenv("KODA_TEST_BACKEND");
	enum koda_clause accept[KODA_CLAUSE_COUNT];
	struct koda_error err;

	if (backend && backend[0])
		MUST(koda_backend_parse(backend, &options.backend, &err));
	landlock_only = options.backend == KODA_BACKEND_LANDLOCK;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		accept[i] = (enum koda_clause)i;
	if (landlock_only) {
		options.trust = KODA_TRUST_SAFE;
		options.accept = accept;
		options.accept_count = KODA_CLAUSE_COUNT;
	}
	(void)snprintf(home, sizeof(home), "HOME=%s/home", w->top);
	MUST(koda_policy_for_trust(KODA_TRUST_AUTO, w->root, &policy, &err));
	add_rules(w, policy, KODA_LIST_DENY_READ, 4);
	add_rules(w, policy, KODA_LIST_ALLOW_READ_WITHIN_DENY, 3);
	add_rules(w, policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, 3);
	add_rules(w, policy, KODA_LIST_ALLOW_WRITE, 2);
	koda_policy_set_flag(policy, KODA_FLAG_ALLOW_GIT_CONFIG, koda_rng_one_in(&w->rng, 4));
	options.policy = policy;
	if (koda_sandbox_open(&options, &sandbox, &err) < 0) {
		(void)printf("# the sandbox was refused: %s: %s\n", err.field, err.message);
		w->refused++;
	}
	return sandbox;
}

static const char *act_for(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? "open-read" : "open-write";
	return lstat(path, &st) == 0 ? "open-write" : "create-once";
}

/* Two lines for each path: reading, then what act_for says. */
static int write_acts(const struct world *w)
{
	int fd = memfd_create("acts", MFD_CLOEXEC);

	for (size_t i = 0; i < w->count; i++)
		if (dprintf(fd, "open-read\t%s\n%s\t%s\n", w->paths[i], act_for(w->paths[i]),
			    w->paths[i]) < 0)
			exit(2);
	(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

/* May the command come there at all? Every link on the way must be readable, and the place. */
static bool may(const struct koda_sandbox *sandbox, const char *path, bool write)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *resolved = NULL;
	struct koda_error err;
	struct koda_verdict verdict;
	bool yes = true;

	if (koda_path_trace(path, &resolved, &links, &err) < 0)
		return false; /* a loop */
	/* Without a view a link can be followed wherever it is: there is nothing to read in it. */
	for (size_t i = 0; i < links.len && yes && !landlock_only; i++)
		yes = koda_rules_read(sandbox->rules, links.items[i], strlen(links.items[i]))
			      .answer == KODA_ALLOW;
	verdict = write ? koda_rules_write(sandbox->rules, resolved, strlen(resolved))
			: koda_rules_read(sandbox->rules, resolved, strlen(resolved));
	return yes && verdict.answer == KODA_ALLOW;
}

/* Landlock knows files, not names: who may write to one may do so by every name it has. */
static bool may_by_another_name(const struct world *w, const struct koda_sandbox *sandbox,
				const char *path, bool write)
{
	struct stat st;
	struct stat other;

	if (stat(path, &st) < 0 || st.st_nlink < 2)
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (stat(w->paths[i], &other) == 0 && other.st_ino == st.st_ino &&
		    other.st_dev == st.st_dev && may(sandbox, w->paths[i], write))
			return true;
	return false;
}

static void compare(struct world *w, const struct koda_sandbox *sandbox, const char *path,
		    const char *act, const char *answer)
{
	bool reads = strcmp(act, "open-read") == 0;
	bool creates = strcmp(act, "create-once") == 0;
	bool worked = strcmp(answer, "ok") == 0;
	bool wanted = may(sandbox, path, !reads);
	bool skipped = false;
	struct stat st;

	w->compared++;
	if (worked == wanted)
		return;
	/* What is refused though it is allowed may have another reason: it is not there, a
	 * placeholder is in its place, or the directory for it is missing. */
	if (!worked)
		skipped = creates ? true : stat(path, &st) < 0;
	if (creates && !worked && strcmp(answer, "ENOENT") != 0 && strcmp(answer, "EEXIST") != 0 &&
	    strcmp(answer, "ENOTDIR") != 0 && strcmp(answer, "ELOOP") != 0)
		skipped = false;
	/* A missing name may be seen as an empty placeholder; there is nothing in it. */
	if (worked && reads && stat(path, &st) < 0)
		skipped = true;
	/* A writable place that does not exist cannot be made where its parent is not writable. */
	if (creates && !worked && strcmp(answer, "EROFS") == 0)
		skipped = true;
	if (landlock_only && !skipped)
		skipped = creates || (worked && may_by_another_name(w, sandbox, path, !reads)) ||
			  (reads && !worked && stat(path, &st) == 0 && S_ISDIR(st.st_mode));
	if (skipped)
		return;
	w->wrong++;
	(void)printf("# %s %s: %s, the verdict is %s\n", act, path, answer,
		     wanted ? "allow" : "deny");
}

static size_t entries;

static int count_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)type;
	(void)ftw;
	entries++;
	return 0;
}

static size_t count_tree(const char *top)
{
	entries = 0;
	(void)nftw(top, count_entry, 16, FTW_PHYS);
	return entries;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void try_inside(struct world *w, struct koda_sandbox *sandbox, const char *probe)
{
	const char *const argv[] = { probe, "each", NULL };
	int acts = write_acts(w);
	int out = memfd_create("answers", MFD_CLOEXEC);
	struct koda_command_options options = { .size = sizeof(options),
						.argv = argv,
						.in = { .kind = KODA_STREAM_FD, .fd = acts },
						.out = { .kind = KODA_STREAM_FD, .fd = out },
						.err.kind = KODA_STREAM_INHERIT };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err;
	char *rest;
	int r;

	if (koda_sandbox_start(sandbox, &options, &command, &err) < 0) {
		/* A link in a protected place is more than some backends claim to hold. */
		if (getenv("KODA_TEST_BACKEND") && strcmp(err.field, "link_names") == 0) {
			w->unclaimed++;
			(void)close(acts);
			(void)close(out);
			return;
		}
		MUST(err.code);
	}
	r = koda_command_wait(command, &outcome, &err);
	koda_command_free(command);
	(void)lseek(out, 0, SEEK_SET);
	if (r < 0 || outcome.end != KODA_END_EXITED) {
		/* Closed, so nothing is wrong with it, but nothing was proved either. */
		(void)printf("# the sandbox did not start: %s: %s\n", err.field, err.message);
		w->refused++;
	} else {
		MUST(koda_fd_read_all(out, &text, &err));
		rest = text.ptr;
		for (size_t i = 0; i < 2 * w->count; i++) {
			const char *answer = strsep(&rest, "\n");
			const char *path = w->paths[i / 2];

			compare(w, sandbox, path, i % 2 ? act_for(path) : "open-read",
				answer ? answer : "nothing");
		}
	}
	(void)close(acts);
	(void)close(out);
}

static void show_policy(const struct koda_sandbox *sandbox)
{
	koda_auto_free char *text = NULL;

	if (koda_policy_emit(koda_sandbox_policy(sandbox), &text, NULL) < 0)
		return;
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) && !strstr(line, "\"net\"");)
		(void)printf("#   %s\n", line);
}

/* The journal of placeholders stays; what is in it does not. Directories are not kept: a file has
 * the store's name. */
static void make_state(const struct world *w)
{
	static const char *const dirs[] = { "home/.local", "home/.local/state",
					    "home/.local/state/koda",
					    "home/.local/state/koda/placeholders" };
	char path[PATH_MAX];

	KODA_EACH(dir, dirs) {
		(void)snprintf(path, sizeof(path), "%s/%s", w->top, *dir);
		(void)mkdir(path, 0700);
	}
	(void)snprintf(path, sizeof(path), "%s/home/.local/state/koda/directories", w->top);
	(void)mknod(path, S_IFREG | 0600, 0);
}

static void run_case(struct world *w, const char *dir, unsigned int number, const char *probe)
{
	unsigned int before = w->wrong;
	struct koda_sandbox *sandbox;
	char other[PATH_MAX];
	size_t size;

	(void)snprintf(w->top, sizeof(w->top), "%s/case-%u", dir, number);
	(void)snprintf(w->root, sizeof(w->root), "%s/home/p", w->top);
	(void)snprintf(other, sizeof(other), "%s/home", w->top);
	w->count = 0;
	if (mkdir(w->top, 0755) < 0 || mkdir(other, 0755) < 0 || mkdir(w->root, 0755) < 0)
		exit(2);
	(void)snprintf(other, sizeof(other), "%s/other", w->top);
	(void)mkdir(other, 0755);
	(void)koda_tree_note(w, w->top, "home/p");
	(void)koda_tree_note(w, w->top, "other");
	if (koda_rng_one_in(&w->rng, 3))
		koda_tree_worktree(w, other);
	koda_tree_fill(w, w->root, 3);
	koda_tree_fill(w, other, 1);
	make_state(w);
	size = count_tree(w->top);
	sandbox = open_sandbox(w);
	if (sandbox)
		try_inside(w, sandbox, probe);
	if (count_tree(w->top) != size) {
		(void)printf("# something was left or taken away below %s\n", w->top);
		w->wrong++;
	}
	if (w->wrong != before) {
		(void)printf("# case %u:\n", number);
		show_policy(sandbox);
	}
	koda_sandbox_close(sandbox);
	(void)nftw(w->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int print_names(const char *which)
{
	const char *const *table =
		strcmp(which, "git") == 0 ? koda_floor_git_names : koda_floor_project_names;

	for (; *table; table++)
		(void)puts(*table);
	return 0;
}

int main(int argc, char **argv)
{
	static struct world w;
	long cases;

	if (argc == 3 && strcmp(argv[1], "names") == 0)
		return print_names(argv[2]);
	if (argc != 5 || strcmp(argv[1], "run") != 0)
		return 2;
	/* A launcher that refuses closes the probe's input. */
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	w.rng = koda_rng_new();
	cases = strtol(argv[2], NULL, 10);
	for (long i = 0; i < cases && w.wrong == 0; i++)
		run_case(&w, argv[3], (unsigned int)i, argv[4]);
	(void)printf("# %ld cases, %u did not start, %u need what this backend does not claim; "
		     "%u answers compared, %u wrong\n",
		     cases, w.refused, w.unclaimed, w.compared, w.wrong);
	/* Enough must be left that something is proved. About a third needs more than bubblewrap
	 * holds; chance makes that a half now and then. */
	return w.wrong || w.refused > (unsigned long)cases / 4 ||
			       w.unclaimed > (unsigned long)cases / 4 * 3
		       ? 1
		       : 0;
}
