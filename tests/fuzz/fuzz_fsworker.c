/* SPDX-License-Identifier: MIT */
/*
 * The file worker's connection, by the path that its program takes: whatever a client sends after
 * HELLO, the worker ends with it, and changes nothing but the one file that its rules let be
 * written.
 */
#include "target.h"

#include "policy/pathindex.h"
#include "search/search.h"
#include "serve.h"

#include <fcntl.h>
#include <koda/rules.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fits into a socket. */
#define INPUT_MAX ((size_t)128 << 10)

static char dir[64];
static struct fsworker worker = { .rules = KODA_PATHINDEX_INIT };

static void make_file(const char *name, const char *text)
{
	int fd = openat(worker.roots[0].fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
}

static void remove_tree(void)
{
	static const char *const names[] = { "kept", "written", "link", "out", "sub/file" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(worker.roots[0].fd, names[i], 0);
	(void)unlinkat(worker.roots[0].fd, "sub", AT_REMOVEDIR);
	(void)rmdir(dir);
}

/* Makes the tree and the worker, once. */
static void start(void)
{
	static char *const environment[] = { NULL };
	const char *base = getenv("TMPDIR");
	char path[96];

	(void)snprintf(dir, sizeof(dir), "%.40s/koda-fuzz-XXXXXX", base && *base ? base : "/tmp");
	CHECK(mkdtemp(dir));
	worker.roots[0].fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	worker.roots[0].path = koda_span_of(dir);
	worker.root_count = 1;
	worker.link_depth = 8;
	worker.environment = environment;
	worker.uid = geteuid();
	CHECK(worker.roots[0].fd >= 0);
	CHECK(mkdirat(worker.roots[0].fd, "sub", 0755) == 0);
	make_file("kept", "kept\nand kept\n");
	make_file("written", "");
	make_file("sub/file", "text\n");
	CHECK(symlinkat("sub/../kept", worker.roots[0].fd, "link") == 0);
	CHECK(symlinkat("/", worker.roots[0].fd, "out") == 0);
	(void)snprintf(path, sizeof(path), "%s/written", dir);
	CHECK(koda_pathindex_add(&worker.rules, koda_span_of(path), 1U << KODA_REASON_ALLOW_WRITE,
				 NULL) == KODA_OK);
	CHECK(fsworker_search_init() == KODA_OK);
	CHECK(atexit(remove_tree) == 0);
}

/* Takes what the worker sends: frames, each of them. */
static void *take_all(void *arg)
{
	static char bytes[1 << 16];
	const int *socket = arg;

	while (recv(*socket, bytes, sizeof(bytes), 0) > 0)
		;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };
	const struct koda_fs_header header = koda_fs_frame_header(&hello);
	const int room = 4 * (int)INPUT_MAX;
	pthread_t thread;
	struct stat st;
	int ends[2];

	if (size > INPUT_MAX)
		return 0;
	if (!dir[0])
		start();
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	(void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	CHECK(send(ends[0], &header, sizeof(header), 0) == (ssize_t)sizeof(header));
	if (send(ends[0], data, size, MSG_DONTWAIT) != (ssize_t)size) {
		(void)close(ends[0]);
		(void)close(ends[1]);
		return 0;
	}
	CHECK(shutdown(ends[0], SHUT_WR) == 0);
	CHECK(pthread_create(&thread, NULL, take_all, &ends[0]) == 0);
	CHECK(fsworker_conn_init(&worker.conn, ends[1]) == KODA_OK);
	(void)fsworker_serve(&worker);
	fsworker_conn_clear(&worker.conn);
	(void)close(ends[1]);
	CHECK(pthread_join(thread, NULL) == 0);
	(void)close(ends[0]);
	CHECK(fstatat(worker.roots[0].fd, "kept", &st, 0) == 0 && st.st_size == 14);
	CHECK(fstatat(worker.roots[0].fd, "sub/file", &st, 0) == 0 && st.st_size == 5);
	return 0;
}
