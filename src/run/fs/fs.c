/* SPDX-License-Identifier: MIT */
/* Starts, restarts and ends a file worker. */
#include "run/fs/fs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sized.h"
#include "run/in_use.h"

#define WORKER_PROGRAM KODA_HELPER_DIR "/" KODA_FS_WORKER_NAME
/* How long a worker may take to answer for the first time. */
#define HELLO_NS 30000000000ULL

static int copy_list(struct koda_strv *list, const char *const *items, struct koda_error *err)
{
	int r = KODA_OK;

	for (; items && *items && r == KODA_OK; items++)
		r = koda_strv_add(list, *items, err);
	return r;
}

static int check_roots(const struct koda_strv *roots, struct koda_error *err)
{
	if (roots->len > KODA_FS_ROOTS_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, "roots", "there are more than %zu",
				    KODA_FS_ROOTS_MAX);
	for (size_t i = 0; i < roots->len; i++)
		if (!koda_path_is_normal(koda_span_of(roots->items[i])))
			return koda_fail_at(err, KODA_E_INVALID, 0, "roots",
					    "a root is not absolute, or has . or .. in it");
	return KODA_OK;
}

/* Copies the caller's options. */
static int take_options(struct koda_fs_worker_options *kept, const struct koda_fs_options *given,
			struct koda_error *err)
{
	struct koda_fs_options known = { .size = sizeof(known) };
	int r = given ? koda_sized_take(&known, sizeof(known), sizeof(known), given,
					"koda_fs_options", err)
		      : KODA_OK;

	if (r == KODA_OK)
		r = copy_list(&kept->roots, known.roots, err);
	if (r == KODA_OK)
		r = check_roots(&kept->roots, err);
	if (r == KODA_OK)
		r = copy_list(&kept->env, known.env, err);
	if (r == KODA_OK && known.id && !(kept->id = strdup(known.id)))
		r = koda_fail_nomem(err);
	kept->max_memory_bytes = known.max_memory_bytes;
	kept->approved = known.approved;
	kept->user = known.user;
	return r;
}

/* Starts a worker and waits for its HELLO. */
static int start(struct koda_fs *fs, struct koda_error *err)
{
	uint64_t deadline_ns = koda_clock_now() + HELLO_NS;
	uint64_t last_id = fs->session.last_id;
	int r;

	koda_fs_session_clear(&fs->session);
	r = koda_fs_session_begin(&fs->session, koda_fs_note_reply, fs, err);
	fs->session.last_id = last_id;
	if (r == KODA_OK)
		r = koda_fs_worker_start(&fs->options, &fs->socket, &fs->command, err);
	while (r == KODA_OK && !fs->session.greeted) {
		r = koda_fs_io(fs, err);
		if (r == KODA_OK && !fs->session.greeted)
			r = koda_fs_io_wait(fs, deadline_ns, err);
		if (r == KODA_OK && !fs->session.greeted && koda_clock_now() >= deadline_ns)
			r = koda_fail(err, KODA_E_TIMEOUT, 0, "the file worker does not answer");
	}
	return r;
}

static void destroy(struct koda_fs *fs)
{
	koda_command_free(fs->command);
	koda_fd_close(&fs->socket);
	koda_fd_close(&fs->epoll);
	koda_fd_close(&fs->timer);
	koda_fs_session_clear(&fs->session);
	koda_fs_worker_options_clear(&fs->options);
	koda_buf_clear(&fs->texts);
	koda_buf_clear(&fs->content);
	free(fs);
}

int koda_fs_open_program(struct koda_sandbox *sandbox, const struct koda_fs_options *options,
			 const char *program, struct koda_fs **ret_fs, struct koda_error *err)
{
	struct koda_fs *fs = calloc(1, sizeof(*fs));
	int r;

	if (!fs)
		return koda_fail_nomem(err);
	fs->socket = fs->epoll = fs->timer = -1;
	fs->texts = (struct koda_buf)KODA_BUF_INIT(2 * KODA_FS_TEXT_MAX);
	fs->options = (struct koda_fs_worker_options)KODA_FS_WORKER_OPTIONS_INIT;
	fs->options.sandbox = koda_sandbox_share(sandbox);
	r = take_options(&fs->options, options, err);
	if (r == KODA_OK)
		r = koda_fs_worker_load(program, &fs->options.program, err);
	if (r == KODA_OK)
		r = start(fs, err);
	if (r < 0) {
		destroy(fs);
		return r;
	}
	*ret_fs = fs;
	return KODA_OK;
}

int koda_fs_open(struct koda_sandbox *sandbox, const struct koda_fs_options *options,
		 struct koda_fs **ret_fs, struct koda_error *err)
{
	return koda_fs_open_program(sandbox, options, WORKER_PROGRAM, ret_fs, err);
}

int koda_fs_restart(struct koda_fs *fs, struct koda_error *err)
{
	static const struct koda_error restarted = { .code = KODA_E_CHILD,
						     .message = "the file worker was restarted" };
	struct koda_error why = { .code = KODA_OK };
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (r < 0)
		return r;
	koda_fs_io_end(fs, &restarted);
	r = start(fs, &why);
	if (r < 0) {
		koda_fs_io_end(fs, &why);
		fs->why = why;
		if (err)
			*err = why;
	}
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}

void koda_fs_release(struct koda_fs *fs)
{
	if (koda_in_use_end(&fs->in_use))
		destroy(fs);
}

void koda_fs_close(struct koda_fs *fs)
{
	if (fs && koda_in_use_free(&fs->in_use))
		destroy(fs);
}
