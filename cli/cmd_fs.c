/* SPDX-License-Identifier: MIT */
/* koda-sandbox fs: one file operation through the file worker. */
#include "fs_options.h"
#include "fs_print.h"
#include "setup.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The operation was refused or has failed. */
#define EXIT_REFUSED 1

static int find_path(const struct cli_setup *setup, const char *operand, char **ret_path,
		     struct koda_error *err)
{
	if (operand[0] != '/')
		return koda_path_join(setup->cwd, operand, ret_path, err);
	*ret_path = strdup(operand);
	return *ret_path ? KODA_OK : koda_fail_nomem(err);
}

static ptrdiff_t read_stdin(void *ctx, char *bytes, size_t size)
{
	struct cli_fs_print *print = ctx;
	ssize_t n;

	do {
		n = read(STDIN_FILENO, bytes, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		(void)koda_fail_at(&print->failure, KODA_E_SYS, errno, "standard input",
				   "cannot be read");
	return n;
}

/* Refuses to write through a link. If one is put there meanwhile, the worker writes the file that
 * it leads to, if the policy lets it. */
static int check_target(struct koda_fs *worker, const char *path, struct koda_error *err)
{
	const struct koda_fs_request request = { .size = sizeof(request),
						 .op = KODA_FS_OP_STAT,
						 .path = koda_span_of(path) };
	const struct koda_fs_reply *reply = NULL;

	/* What hinders stat hinders the write, too, unless the file is to be made. */
	if (koda_fs_call(worker, &request, &reply, NULL) < 0 || !S_ISLNK(reply->stat.mode))
		return KODA_OK;
	return koda_fail_at(err, KODA_E_INVALID, 0, path, "is a symbolic link");
}

/* Carries out the request, and prints what it finds. */
static int carry_out(struct koda_fs *worker, const struct koda_fs_request *request,
		     struct cli_fs_print *print, struct koda_error *err)
{
	const struct koda_fs_reply *reply = NULL;
	int r = KODA_OK;

	if (request->op == KODA_FS_OP_WRITE)
		r = check_target(worker, print->path, err);
	if (r == KODA_OK)
		r = koda_fs_call(worker, request, &reply, err);
	if (print->failure.code != KODA_OK) {
		*err = print->failure;
		r = print->failure.code;
	}
	return r < 0 ? r : cli_fs_print_reply(print, reply, err);
}

static int operate(struct koda_fs *worker, const struct cli_fs *fs, const struct cli_setup *setup,
		   struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	koda_auto_free char *second = NULL;
	struct cli_fs_print print = CLI_FS_PRINT_INIT;
	struct koda_fs_request request = { .size = sizeof(request),
					   .op = fs->op,
					   .flags = fs->flags,
					   .on_content = cli_fs_print_content,
					   .on_item = cli_fs_print_item,
					   .ctx = &print };
	bool searches = fs->op == KODA_FS_OP_GLOB || fs->op == KODA_FS_OP_GREP;
	int r = find_path(setup, searches ? setup->cwd : fs->operand[0], &path, err);

	if (r == KODA_OK && fs->op == KODA_FS_OP_RENAME)
		r = find_path(setup, fs->operand[1], &second, err);
	if (r < 0)
		return r;
	request.path = koda_span_of(path);
	if (searches)
		request.text = koda_span_of(fs->operand[0]);
	if (second)
		request.text = koda_span_of(second);
	if (fs->include)
		request.text2 = koda_span_of(fs->include);
	if (fs->op == KODA_FS_OP_EDIT && !fs->operand[1][0])
		return koda_fail_at(err, KODA_E_INVALID, 0, path, "the old text is empty");
	if (fs->op == KODA_FS_OP_EDIT) {
		request.text = koda_span_of(fs->operand[1]);
		request.text2 = koda_span_of(fs->operand[2]);
	}
	if (fs->op == KODA_FS_OP_WRITE) {
		request.flags |= KODA_FS_PARENTS;
		request.source = read_stdin;
	}
	print.op = fs->op;
	print.json = fs->request.json;
	print.path = path;
	r = carry_out(worker, &request, &print, err);
	cli_fs_print_clear(&print);
	return r;
}

/* Opens the sandbox and its file worker. */
static int start(const struct cli_setup *setup, struct cli_request *request,
		 struct koda_sandbox **ret_sandbox, struct koda_fs **ret_worker,
		 struct koda_error *err)
{
	const struct koda_fs_options worker = { .size = sizeof(worker), .approved = request->yes };
	struct koda_prestart *prestarted = NULL;
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = request->policy.trust,
						.backend = request->backend,
						.project = setup->project };
	int r = request->waivers.no_sandbox ? KODA_OK
					    : koda_prestart(request->backend, &prestarted, err);

	options.prestart = prestarted;
	cli_waivers_apply(&request->waivers, &options);
	cli_waivers_warn(&request->waivers);
	if (request->events.fd >= 0) {
		options.on_event = cli_events_write;
		options.event_ctx = &request->events;
	}
	if (r == KODA_OK)
		r = koda_sandbox_open(&options, ret_sandbox, err);
	if (r == KODA_OK)
		r = koda_fs_open(*ret_sandbox, &worker, ret_worker, err);
	koda_prestart_free(prestarted);
	return r;
}

static int act(const struct cli_call *call, struct cli_fs *fs, struct koda_error *err)
{
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct koda_sandbox *sandbox = NULL;
	struct koda_fs *worker = NULL;
	int r = cli_setup_make(&fs->request.policy, call->env, &setup, err);

	if (r == KODA_OK)
		r = start(&setup, &fs->request, &sandbox, &worker, err);
	if (r == KODA_OK && operate(worker, fs, &setup, err) < 0) {
		cli_error_print(err);
		r = EXIT_REFUSED;
	}
	koda_fs_close(worker);
	koda_sandbox_close(sandbox);
	return r;
}

int cli_cmd_fs(const struct cli_call *call, struct koda_error *err)
{
	struct cli_fs fs = CLI_FS_INIT;
	int r = cli_fs_options_read(call, &fs, err);

	if (r > 0)
		r = act(call, &fs, err);
	if (r < 0)
		cli_events_refused(&fs.request.events, err);
	cli_request_clear(&fs.request);
	return r;
}
