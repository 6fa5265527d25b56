/* SPDX-License-Identifier: MIT */
/*
 * koda-fs-worker-compat: speaks the protocol of the older file worker on a Unix socket, and
 * has koda-fs-worker carry the requests out. This process decodes what the client sends and touches
 * no file of the project; the worker that does is confined by the sandbox, and parses no JSON.
 */
#include "listener.h"
#include "serve.h"
#include "start.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define NAME        "koda-fs-worker-compat"
#define EXIT_USAGE  2
#define EXIT_FAILED 1

struct places {
	const char *socket;
	const char *root;
};

static bool read_arguments(char **argv, struct places *places)
{
	for (argv++; *argv; argv += 2) {
		const char **place = strcmp(*argv, "--socket") == 0 ? &places->socket
				     : strcmp(*argv, "--root") == 0 ? &places->root
								    : NULL;

		if (!place || *place || !argv[1])
			return false;
		*place = argv[1];
	}
	return places->socket && places->root;
}

static int say_ready(struct koda_error *err)
{
	if (puts("ready") < 0 || fflush(stdout) != 0)
		return koda_fail(err, KODA_E_SYS, errno, "standard output cannot be written");
	return KODA_OK;
}

/* Serves one client at the socket. */
static int serve_client(const struct places *places, struct fscompat_worker *worker,
			struct fscompat_listener *listener, struct fscompat_stop *stop,
			struct koda_error *err)
{
	struct fscompat_conn conn = { .socket = -1, .stop = stop };
	int r = fscompat_listener_open(listener, places->socket, err);

	if (r == KODA_OK)
		r = say_ready(err);
	if (r == KODA_OK)
		r = fscompat_listener_accept(listener, stop, &conn.socket, err);
	if (r > 0)
		r = fscompat_serve(&conn, worker, err);
	fscompat_conn_clear(&conn);
	return r;
}

int main(int argc, char **argv, char **envp)
{
	struct places places = { NULL, NULL };
	struct fscompat_stop stop = FSCOMPAT_STOP_INIT;
	struct fscompat_listener listener = FSCOMPAT_LISTENER_INIT;
	struct fscompat_worker worker = { .crashed = false };
	struct koda_error err = { .code = KODA_OK };
	koda_auto_free char *cwd = NULL;
	int r;

	if (argc < 1 || !read_arguments(argv, &places)) {
		(void)fprintf(stderr, "usage: " NAME " --socket PATH --root DIR\n");
		return EXIT_USAGE;
	}
	cwd = getcwd(NULL, 0);
	worker.cwd = cwd;
	r = cwd ? fscompat_stop_open(&stop, &err)
		: koda_fail(&err, KODA_E_SYS, errno, "the working directory cannot be found");
	if (r == KODA_OK)
		r = fscompat_start(places.root, (const char *const *)envp, &worker.fs, &err);
	if (r == KODA_OK)
		r = serve_client(&places, &worker, &listener, &stop, &err);
	koda_fs_close(worker.fs);
	fscompat_listener_close(&listener);
	if (r < 0)
		(void)fprintf(stderr, NAME ": %s%s%s\n", err.field, err.field[0] ? ": " : "",
			      err.message);
	fscompat_stop_close(&stop);
	return r < 0 ? EXIT_FAILED : EXIT_SUCCESS;
}
