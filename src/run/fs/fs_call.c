/* SPDX-License-Identifier: MIT */
/* Has requests carried out, one by one or many at a time. */
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/fs/fs.h"
#include "run/in_use.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static int code_of(enum koda_fs_status status)
{
	switch (status) {
	case KODA_FS_STATUS_OK:
		return KODA_OK;
	case KODA_FS_STATUS_DENIED:
	case KODA_FS_STATUS_OUTSIDE:
		return KODA_E_DENIED;
	case KODA_FS_STATUS_PATTERN:
	case KODA_FS_STATUS_INVALID:
		return KODA_E_INVALID;
	case KODA_FS_STATUS_TOO_LARGE:
	case KODA_FS_STATUS_BUSY:
		return KODA_E_LIMIT;
	case KODA_FS_STATUS_TIMEOUT:
		return KODA_E_TIMEOUT;
	case KODA_FS_STATUS_NO_MEMORY:
		return KODA_E_NOMEM;
	case KODA_FS_STATUS_CRASHED:
		return KODA_E_CHILD;
	case KODA_FS_STATUS_MISSING:
	case KODA_FS_STATUS_EXISTS:
	case KODA_FS_STATUS_NOT_FILE:
	case KODA_FS_STATUS_NOT_DIR:
	case KODA_FS_STATUS_NOT_EMPTY:
	case KODA_FS_STATUS_LINK:
	case KODA_FS_STATUS_LINKED:
	case KODA_FS_STATUS_FOREIGN:
	case KODA_FS_STATUS_CHANGED:
	case KODA_FS_STATUS_NO_MATCH:
	case KODA_FS_STATUS_AMBIGUOUS:
	case KODA_FS_STATUS_CANCELLED:
	case KODA_FS_STATUS_NO_SPACE:
	case KODA_FS_STATUS_READ_ONLY:
	case KODA_FS_STATUS_SYSTEM:
	case KODA_FS_STATUS_PARTIAL:
	case KODA_FS_STATUS_COUNT:
		break;
	}
	return KODA_E_SYS;
}

/* Writes what the text of the status leaves open. */
static void explain(const struct koda_fs_reply *reply, char *why, size_t size)
{
	why[0] = '\0';
	if (reply->status == KODA_FS_STATUS_DENIED)
		(void)snprintf(why, size, " (%s)", koda_reason_name(reply->reason));
	else if (reply->status == KODA_FS_STATUS_AMBIGUOUS)
		(void)snprintf(why, size, ": %llu times", (unsigned long long)reply->count);
	else if (reply->status == KODA_FS_STATUS_NO_MATCH && reply->line > 0)
		/* The message is that line. */
		(void)snprintf(why, size, "; line %llu comes nearest",
			       (unsigned long long)reply->line);
	else if (reply->message.len > 0)
		(void)snprintf(why, size, ": %.*s",
			       reply->message.len < 160 ? (int)reply->message.len : 160,
			       reply->message.ptr);
}

/* Fills in the error for a reply. Fails: as koda_fs_call. */
static int judge(const struct koda_fs *fs, struct koda_span path, struct koda_error *err)
{
	const struct koda_fs_reply *reply = &fs->reply;
	/* Of two paths, the reply tells which one it is about. */
	const bool has_two = reply->op == KODA_FS_OP_RENAME && reply->path.len > 0;
	/* The text of another status says more than its errno. */
	const bool is_system =
		reply->status == KODA_FS_STATUS_SYSTEM || reply->status == KODA_FS_STATUS_PARTIAL;
	char place[96];
	char why[192];
	int code = code_of(reply->status);

	if (code == KODA_OK)
		return KODA_OK;
	if (reply->status == KODA_FS_STATUS_CRASHED && !fs->command) {
		if (err)
			*err = fs->why;
		return code;
	}
	if (has_two)
		path = reply->path;
	(void)snprintf(place, sizeof(place), "%.*s", (int)path.len, path.len ? path.ptr : "");
	explain(reply, why, sizeof(why));
	(void)koda_fail_at(err, code, is_system ? reply->sys_errno : 0, place, "%s%s",
			   koda_fs_status_text(reply->status), why);
	if (err)
		err->sys_errno = reply->sys_errno;
	return code;
}

static int await(struct koda_fs *fs, struct koda_error *err)
{
	int r = KODA_OK;

	while (!fs->answered && r == KODA_OK) {
		r = koda_fs_io(fs, err);
		if (r == KODA_OK && !fs->answered)
			r = koda_fs_io_wait(fs, KODA_DEADLINE_NEVER, err);
	}
	/* A worker that has ended has answered, too: CRASHED. */
	return fs->answered ? KODA_OK : r;
}

static int call(struct koda_fs *fs, const struct koda_fs_request *request,
		const struct koda_fs_reply **ret_reply, struct koda_error *err)
{
	int r;

	fs->answered = false;
	if (!fs->command) {
		if (err)
			*err = fs->why;
		return KODA_E_CHILD;
	}
	r = koda_fs_session_add(&fs->session, request, koda_clock_now(), &fs->awaited, err);
	if (r == KODA_OK)
		r = await(fs, err);
	fs->awaited = 0;
	if (r < 0)
		return r;
	if (ret_reply)
		*ret_reply = &fs->reply;
	return judge(fs, request->path, err);
}

int koda_fs_call(struct koda_fs *fs, const struct koda_fs_request *request,
		 const struct koda_fs_reply **ret_reply, struct koda_error *err)
{
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (ret_reply)
		*ret_reply = NULL;
	if (r < 0)
		return r;
	r = call(fs, request, ret_reply, err);
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}

int koda_fs_send(struct koda_fs *fs, const struct koda_fs_request *request, uint64_t *ret_id,
		 struct koda_error *err)
{
	uint64_t id = 0;
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (r < 0)
		return r;
	if (!fs->command) {
		r = KODA_E_CHILD;
		if (err)
			*err = fs->why;
	}
	if (r == KODA_OK)
		r = koda_fs_session_add(&fs->session, request, koda_clock_now(), &id, err);
	if (r == KODA_OK && ret_id)
		*ret_id = id;
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}

int koda_fs_cancel(struct koda_fs *fs, uint64_t id, struct koda_error *err)
{
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (r < 0)
		return r;
	r = koda_fs_session_cancel(&fs->session, id, err);
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}

int koda_fs_step(struct koda_fs *fs, struct koda_error *err)
{
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (r < 0)
		return r;
	r = koda_fs_io(fs, err);
	if (r == KODA_OK)
		r = fs->session.first == NULL;
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}

/* Makes the epoll instance and its timer. */
static int make_poll(struct koda_fs *fs, struct koda_error *err)
{
	struct epoll_event event = { .events = EPOLLIN };

	fs->epoll = epoll_create1(EPOLL_CLOEXEC);
	fs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fs->epoll >= 0 && fs->timer >= 0 &&
	    epoll_ctl(fs->epoll, EPOLL_CTL_ADD, fs->timer, &event) == 0)
		return KODA_OK;
	koda_fail(err, KODA_E_SYS, errno, "cannot make an epoll instance");
	koda_fd_close(&fs->epoll);
	koda_fd_close(&fs->timer);
	return KODA_E_SYS;
}

int koda_fs_fd(struct koda_fs *fs, struct koda_error *err)
{
	int r = koda_in_use_begin(&fs->in_use, "file worker", err);

	if (r < 0)
		return r;
	if (fs->epoll < 0)
		r = make_poll(fs, err);
	if (r == KODA_OK)
		r = fs->epoll;
	koda_fs_io_watch(fs);
	koda_fs_release(fs);
	return r;
}
