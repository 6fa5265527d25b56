/* SPDX-License-Identifier: MIT */
/*
 * koda-fs-worker: file operations for a client that speaks wire/fs_frame.h on descriptor 3, within
 * the roots and rules of the sealed record on descriptor 4. It parses no text. The client starts it
 * inside the sandbox, which confines what could be made of it; by itself it confines what it does.
 */
#include "serve.h"
#include "start.h"

#include <stdio.h>

int main(int argc, char **argv, char **envp)
{
	static struct fsworker worker;
	struct koda_error err = { 0 };
	bool ok;

	(void)argc;
	(void)argv;
	if (fsworker_start(&worker, envp, &err) < 0) {
		(void)fprintf(stderr, "koda-fs-worker: %s%s%s\n", err.field,
			      err.field[0] ? ": " : "", err.message);
		return 1;
	}
	ok = fsworker_serve(&worker);
	if (!ok)
		(void)fprintf(stderr, "koda-fs-worker: the client broke the protocol\n");
	fsworker_conn_clear(&worker.conn);
	koda_pathindex_clear(&worker.rules);
	return ok ? 0 : 1;
}
