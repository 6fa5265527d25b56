/* SPDX-License-Identifier: MIT */
#include "start.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/macros.h"
#include "lock.h"
#include "policy/pathindex_blob.h"
#include "search/search.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(struct koda_error *err, const char *what)
{
	return koda_fail(err, KODA_E_SYS, errno, "%s", what);
}

/* Maps the record; it stays, because roots and names are borrowed from it. */
static int map_record(struct koda_span *ret_bytes, struct koda_error *err)
{
	struct stat st;
	void *bytes;

	/* Sealed, so that what is checked is what is used. */
	if (!koda_fd_is_sealed(KODA_FS_RULES_FD))
		return koda_fail(err, KODA_E_INVALID, 0, "the set-up record is not sealed");
	if (fstat(KODA_FS_RULES_FD, &st) < 0)
		return fail(err, "cannot look at the set-up record");
	if (st.st_size <= 0 || (uint64_t)st.st_size > KODA_FS_SETUP_MAX)
		return koda_fail(err, KODA_E_INVALID, 0, "the set-up record has no possible size");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, KODA_FS_RULES_FD, 0);
	if (bytes == MAP_FAILED)
		return fail(err, "cannot map the set-up record");
	*ret_bytes = (struct koda_span){ bytes, (size_t)st.st_size };
	return KODA_OK;
}

static int open_root(struct fsworker_root *root, struct koda_span path, struct koda_error *err)
{
	char text[KODA_PATH_MAX + 1];

	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	root->path = path;
	root->fd = open(text, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return root->fd < 0 ? koda_fail_at(err, KODA_E_SYS, errno, text, "cannot open a root")
			    : KODA_OK;
}

static int load(struct fsworker *worker, struct koda_error *err)
{
	struct koda_fs_setup setup = { .root_count = 0 };
	struct koda_span bytes = { NULL, 0 };
	int r = map_record(&bytes, err);

	if (r < 0)
		return r;
	if (!koda_fs_setup_read(bytes, &setup))
		return koda_fail(err, KODA_E_INVALID, 0, "the set-up record is malformed");
	worker->env_names = setup.env_names;
	worker->link_depth = setup.link_depth;
	r = koda_pathindex_blob_read(setup.rules, &worker->rules, err);
	for (size_t i = 0; i < setup.root_count && r == KODA_OK; i++) {
		r = open_root(&worker->roots[i], setup.roots[i], err);
		worker->root_count += r == KODA_OK;
	}
	return r;
}

/* A write that is too large, or to a socket whose reader is gone, is an error and no signal. */
static int ignore_signals(struct koda_error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGXFSZ, &ignore, NULL) < 0)
		return fail(err, "cannot ignore signals");
	return KODA_OK;
}

/* Drafts without a name get one by their path in procfs. */
static bool finds_own_fds(void)
{
	struct stat st;

	return fstatat(AT_FDCWD, "/proc/self/fd/3", &st, 0) == 0;
}

int fsworker_start(struct fsworker *worker, char *const *environment, struct koda_error *err)
{
	int r;

	*worker = (struct fsworker){ .rules = KODA_PATHINDEX_INIT,
				     .uid = geteuid(),
				     .environment = environment };
	if (syscall(SYS_close_range, KODA_FS_RULES_FD + 1, ~0U, 0) < 0)
		return fail(err, "cannot close descriptors");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail(err, "cannot become undumpable");
	/* A file is made with the mode that it is to have. */
	worker->umask = umask(0);
	r = ignore_signals(err);
	if (r == KODA_OK)
		r = load(worker, err);
	if (r < 0)
		return r;
	(void)close(KODA_FS_RULES_FD);
	worker->has_proc = finds_own_fds();
	if (fsworker_search_init() < 0 || fsworker_conn_init(&worker->conn, KODA_FS_SOCKET_FD) < 0)
		return koda_fail_nomem(err);
	/* At the end a sanitizer looks for leaks from a process of its own. */
	return KODA_SANITIZED ? KODA_OK : fsworker_lock(err);
}
