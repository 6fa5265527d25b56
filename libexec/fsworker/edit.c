/* SPDX-License-Identifier: MIT */
/*
 * EDIT: a text in a file is replaced by another one. The file must be as it was when it was read,
 * or it stays as it is. In a file whose lines all end with CR LF, both texts get such ends.
 */
#include "base/fd.h"
#include "draft.h"
#include "near.h"
#include "open.h"
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct edit {
	struct fsworker_task *task;
	struct koda_buf content;
	struct koda_buf old;
	struct koda_buf new;
	struct koda_buf result;
	struct stat origin;
};

static bool fail_room(struct fsworker_task *task, int r)
{
	return fsworker_task_fail(
		task, r == KODA_E_LIMIT ? KODA_FS_STATUS_TOO_LARGE : KODA_FS_STATUS_NO_MEMORY, "");
}

/* Reads the file, and remembers what it was like. */
static bool load(struct edit *edit, struct fsworker_place *place)
{
	koda_auto_fd int fd = -1;
	struct koda_error err;
	int r;

	if (!fsworker_open_file(edit->task, place, O_RDONLY, &fd))
		return false;
	edit->origin = place->st;
	r = koda_fd_read_all(fd, &edit->content, &err);
	if (r == KODA_E_SYS)
		return fsworker_task_fail_errno(edit->task, err.sys_errno);
	return r == KODA_OK || fail_room(edit->task, r);
}

static bool is_expected(const struct edit *edit)
{
	struct koda_sha256 sha;
	unsigned char hash[KODA_SHA256_BYTES];

	if (!fsworker_task_has(edit->task, KODA_FS_EXPECT))
		return true;
	koda_sha256_start(&sha);
	koda_sha256_add(&sha, edit->content.ptr, edit->content.len);
	koda_sha256_end(&sha, hash);
	return memcmp(hash, &edit->task->request.n[2], sizeof(hash)) == 0 ||
	       fsworker_task_fail(edit->task, KODA_FS_STATUS_CHANGED, "");
}

/* Returns true if there are lines and all of them end with CR LF. */
static bool has_crlf(struct koda_span text)
{
	size_t lines = 0;
	const char *at;

	while ((at = memchr(text.ptr, '\n', text.len)) != NULL) {
		if (at == text.ptr || at[-1] != '\r')
			return false;
		lines++;
		text = koda_span_skip(text, (size_t)(at - text.ptr) + 1);
	}
	return lines > 0;
}

/* Copies a text of the request, with the ends of lines that the file has. */
static bool copy_text(struct edit *edit, struct koda_span text, bool crlf, struct koda_buf *out)
{
	int r = koda_buf_add(out, "", 0);

	for (size_t i = 0; i < text.len && r == KODA_OK; i++) {
		if (crlf && text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r'))
			r = koda_buf_add(out, "\r", 1);
		if (r == KODA_OK)
			r = koda_buf_add(out, text.ptr + i, 1);
	}
	return r == KODA_OK || fail_room(edit->task, r);
}

static bool copy_texts(struct edit *edit)
{
	const struct koda_span *texts = edit->task->request.text;
	bool crlf = edit->content.len > 0 && has_crlf(koda_buf_span(&edit->content));

	return copy_text(edit, texts[1], crlf, &edit->old) &&
	       copy_text(edit, texts[2], crlf, &edit->new);
}

static const char *find_next(const struct edit *edit, const char *from)
{
	size_t left = edit->content.len - (size_t)(from - edit->content.ptr);

	return memmem(from, left, edit->old.ptr, edit->old.len);
}

static uint64_t count_matches(const struct edit *edit)
{
	const char *at = edit->content.ptr;
	uint64_t count = 0;

	while ((at = find_next(edit, at)) != NULL) {
		at += edit->old.len;
		count++;
	}
	return count;
}

/* Ends with the place that the old text may have meant. */
static bool fail_without_match(struct edit *edit)
{
	struct fsworker_task *task = edit->task;
	struct fsworker_near near =
		fsworker_near_find(task, koda_buf_span(&edit->content), koda_buf_span(&edit->old));

	if (task->reply.code == KODA_FS_STATUS_OK && near.line) {
		task->reply.n[1] = near.line;
		fsworker_task_set_said(task, near.text);
	}
	return fsworker_task_fail(task, KODA_FS_STATUS_NO_MATCH, "");
}

static bool check_matches(struct edit *edit, uint64_t *ret_count)
{
	struct fsworker_task *task = edit->task;

	*ret_count = edit->content.len > 0 ? count_matches(edit) : 0;
	if (*ret_count == 0)
		return fail_without_match(edit);
	if (*ret_count == 1 || fsworker_task_has(task, KODA_FS_ALL))
		return true;
	task->reply.n[0] = *ret_count;
	return fsworker_task_fail(task, KODA_FS_STATUS_AMBIGUOUS, "");
}

static bool replace_matches(struct edit *edit)
{
	const char *from = edit->content.ptr;
	const char *at;
	int r = KODA_OK;

	while (r == KODA_OK && (at = find_next(edit, from)) != NULL) {
		r = koda_buf_add(&edit->result, from, (size_t)(at - from));
		if (r == KODA_OK)
			r = koda_buf_add(&edit->result, edit->new.ptr, edit->new.len);
		from = at + edit->old.len;
	}
	if (r == KODA_OK)
		r = koda_buf_add(&edit->result, from,
				 edit->content.len - (size_t)(from - edit->content.ptr));
	return r == KODA_OK || fail_room(edit->task, r);
}

static bool run(struct edit *edit, struct fsworker_draft *draft, uint64_t *ret_count)
{
	struct fsworker_task *task = edit->task;
	mode_t mode;

	if (task->request.text[1].len == 0)
		return fsworker_task_fail(task, KODA_FS_STATUS_INVALID, "the old text is empty");
	draft->origin = &edit->origin;
	return fsworker_draft_resolve(task, draft, FSWORKER_RESOLVE_FOLLOW) &&
	       fsworker_resolve_exists(task, &draft->place) && load(edit, &draft->place) &&
	       is_expected(edit) && copy_texts(edit) && check_matches(edit, ret_count) &&
	       replace_matches(edit) && fsworker_task_goes_on(task) &&
	       fsworker_draft_open(task, draft) &&
	       fsworker_draft_add(task, draft, edit->result.ptr, edit->result.len) &&
	       fsworker_draft_commit(task, draft, &mode);
}

void fsworker_edit(struct fsworker_task *task)
{
	struct edit edit = {
		.task = task,
		.content = KODA_BUF_INIT(KODA_FS_EDIT_MAX),
		.old = KODA_BUF_INIT(2 * KODA_FS_TEXT_MAX),
		.new = KODA_BUF_INIT(2 * KODA_FS_TEXT_MAX),
		.result = KODA_BUF_INIT(KODA_FS_EDIT_MAX),
	};
	struct fsworker_draft draft = { .place = FSWORKER_PLACE_INIT, .fd = -1 };
	uint64_t count = 0;

	if (run(&edit, &draft, &count))
		task->reply.n[0] = count;
	fsworker_draft_clear(task, &draft);
	koda_buf_clear(&edit.content);
	koda_buf_clear(&edit.old);
	koda_buf_clear(&edit.new);
	koda_buf_clear(&edit.result);
}
