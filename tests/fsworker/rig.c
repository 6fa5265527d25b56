/* SPDX-License-Identifier: MIT */
#include "rig.h"

#include "base/fd.h"
#include "policy/pathindex_blob.h"
#include "wire/fs_setup.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ROOM ((size_t)512 << 20)

static void add_mark(struct koda_pathindex *index, const char *path, uint32_t marks)
{
	struct koda_error err;

	KODA_ASSERT_OK(koda_pathindex_add(index, koda_span_of(path), marks, &err), err);
}

/* Writes the rules of a set-up. */
static void add_rules(const struct rig_setup *setup, struct koda_buf *out)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;

	if (setup->index) {
		assert_int_equal(koda_pathindex_blob_add(setup->index, out), KODA_OK);
		return;
	}
	if (!setup->rules[0].path)
		add_mark(&index, koda_in(setup->dir, "root"), MARK(ALLOW_WRITE));
	for (size_t i = 0; i < RIG_MAX && setup->rules[i].path; i++)
		add_mark(&index, koda_in(setup->dir, setup->rules[i].path), setup->rules[i].marks);
	assert_int_equal(koda_pathindex_blob_add(&index, out), KODA_OK);
}

static int make_setup(const struct rig_setup *setup)
{
	koda_auto_buf struct koda_buf rules = KODA_BUF_INIT(ROOM);
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_fs_setup record = {
		.link_depth = setup->link_depth ? setup->link_depth : KODA_FS_LINKS_MIN,
		.env_names = { setup->env_names, setup->env_len },
	};
	struct koda_error err;
	int fd = -1;

	add_rules(setup, &rules);
	if (setup->bad_setup == 3)
		rules.ptr[rules.len - 1] = '/';
	record.rules = koda_buf_span(&rules);
	for (size_t i = 0; i < RIG_MAX && setup->roots[i]; i++)
		record.roots[record.root_count++] = koda_span_of(
			setup->roots[i][0] == '/' ? setup->roots[i]
						  : koda_in(setup->dir, setup->roots[i]));
	if (record.root_count == 0)
		record.roots[record.root_count++] = koda_span_of(koda_in(setup->dir, "root"));
	assert_int_equal(koda_fs_setup_add(&out, &record), KODA_OK);
	if (setup->bad_setup == 2)
		out.len--;
	if (setup->bad_setup == 1) {
		KODA_ASSERT_OK(koda_fd_memory("setup", &fd, &err), err);
		KODA_ASSERT_OK(koda_fd_write_all(fd, out.ptr, out.len, &err), err);
	} else {
		KODA_ASSERT_OK(koda_fd_sealed("setup", out.ptr, out.len, &fd, &err), err);
	}
	return fd;
}

int rig_setup_root(void **state)
{
	int r = koda_scratch_setup(state);

	return r == 0 ? mkdir(koda_in(*state, "root"), 0755) : r;
}

void rig_start_silent(struct rig *rig, const struct rig_setup *setup)
{
	static char *const no_env[] = { NULL };
	const char *program = getenv("KODA_FS_WORKER");
	char name[] = "koda-fs-worker";
	char *argv[] = { name, NULL };
	int ends[2];
	int record;

	assert_non_null(program);
	*rig = (struct rig){ .in = KODA_BUF_INIT(ROOM) };
	record = make_setup(setup);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	rig->pid = fork();
	if (rig->pid == 0) {
		int socket = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
		int rules = fcntl(record, F_DUPFD_CLOEXEC, 10);

		if (dup2(socket, KODA_FS_SOCKET_FD) < 0 || dup2(rules, KODA_FS_RULES_FD) < 0)
			_exit(90);
		execve(program, argv, setup->envp ? setup->envp : no_env);
		_exit(91);
	}
	assert_true(rig->pid > 0);
	(void)close(ends[1]);
	(void)close(record);
	rig->socket = ends[0];
}

void rig_start(struct rig *rig, const struct rig_setup *setup)
{
	struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };

	rig_start_silent(rig, setup);
	rig_send(rig, &hello);
	assert_true(rig_receive(rig, &hello));
	assert_int_equal(hello.kind, KODA_FS_HELLO);
}

int rig_wait_end(struct rig *rig)
{
	int status;

	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	(void)close(rig->socket);
	koda_buf_clear(&rig->in);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int rig_stop(struct rig *rig)
{
	assert_int_equal(shutdown(rig->socket, SHUT_RDWR), 0);
	return rig_wait_end(rig);
}

void rig_send_bytes(struct rig *rig, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len > 0) {
		ssize_t n = send(rig->socket, from, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		from += n;
		len -= (size_t)n;
	}
}

void rig_send(struct rig *rig, const struct koda_fs_frame *frame)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);

	assert_int_equal(koda_fs_frame_add(&out, frame), KODA_OK);
	rig_send_bytes(rig, out.ptr, out.len);
}

struct koda_fs_frame rig_request(struct rig *rig, enum koda_fs_op op, const char *a)
{
	return (struct koda_fs_frame){ .kind = KODA_FS_REQUEST,
				       .code = op,
				       .id = ++rig->last_id,
				       .text = { koda_span_of(a) } };
}

void rig_send_content(struct rig *rig, uint64_t id, const void *content, size_t len)
{
	const char *from = content;
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .id = id };

	do {
		size_t n = len < KODA_FS_CHUNK ? len : KODA_FS_CHUNK;

		data.text[0] = (struct koda_span){ from, n };
		data.flags = n == len ? KODA_FS_LAST : 0;
		rig_send(rig, &data);
		from += n;
		len -= n;
	} while (!(data.flags & KODA_FS_LAST));
}

bool rig_receive(struct rig *rig, struct koda_fs_frame *ret_frame)
{
	for (;;) {
		struct koda_span rest = { rig->in.ptr + rig->at, rig->in.len - rig->at };
		size_t len;
		enum koda_fs_found found =
			koda_fs_frame_read(rest, KODA_FS_WORKER, ret_frame, &len);
		char *room;
		ssize_t n;

		assert_true(found == KODA_FS_FOUND_FRAME || found == KODA_FS_FOUND_MORE);
		if (found == KODA_FS_FOUND_FRAME) {
			rig->at += len;
			return true;
		}
		if (rig->at == rig->in.len)
			rig->at = rig->in.len = 0;
		assert_int_equal(koda_buf_room(&rig->in, KODA_FS_CHUNK, &room), KODA_OK);
		n = recv(rig->socket, room, KODA_FS_CHUNK, 0);
		if (n <= 0)
			return false;
		koda_buf_grew(&rig->in, (size_t)n);
	}
}

static void keep_text(char *to, size_t size, struct koda_span *text)
{
	assert_true(text->len < size);
	if (text->len > 0)
		memcpy(to, text->ptr, text->len);
	to[text->len] = '\0';
	text->ptr = to;
}

void rig_await(struct rig *rig, uint64_t id, struct answer *ret_answer)
{
	ret_answer->data = (struct koda_buf)KODA_BUF_INIT(ROOM);
	do {
		assert_true(rig_receive(rig, &ret_answer->frame));
		assert_int_equal(ret_answer->frame.id, id);
		if (ret_answer->frame.kind == KODA_FS_DATA)
			assert_int_equal(koda_buf_add(&ret_answer->data,
						      ret_answer->frame.text[0].ptr,
						      ret_answer->frame.text[0].len),
					 KODA_OK);
	} while (ret_answer->frame.kind != KODA_FS_REPLY);
	keep_text(ret_answer->rule, sizeof(ret_answer->rule), &ret_answer->frame.text[0]);
	keep_text(ret_answer->path, sizeof(ret_answer->path), &ret_answer->frame.text[1]);
	keep_text(ret_answer->said, sizeof(ret_answer->said), &ret_answer->frame.text[2]);
}

void rig_ask(struct rig *rig, const struct koda_fs_frame *request, struct answer *ret_answer)
{
	rig_send(rig, request);
	rig_await(rig, request->id, ret_answer);
}

void rig_answer_clear(struct answer *answer)
{
	koda_buf_clear(&answer->data);
}

enum koda_fs_status rig_do2(struct rig *rig, enum koda_fs_op op, const char *a, const char *b,
			    uint32_t flags)
{
	struct koda_fs_frame request = rig_request(rig, op, a);
	rig_auto_answer struct answer answer;

	request.text[1] = koda_span_of(b);
	request.flags = flags;
	rig_ask(rig, &request, &answer);
	return (enum koda_fs_status)answer.frame.code;
}

enum koda_fs_status rig_do(struct rig *rig, enum koda_fs_op op, const char *path, uint32_t flags)
{
	return rig_do2(rig, op, path, "", flags);
}

enum koda_fs_status rig_write(struct rig *rig, const char *path, const char *content,
			      uint32_t flags)
{
	struct koda_fs_frame request = rig_request(rig, KODA_FS_OP_WRITE, path);
	rig_auto_answer struct answer answer;

	request.flags = flags;
	rig_send(rig, &request);
	rig_send_content(rig, request.id, content, strlen(content));
	rig_await(rig, request.id, &answer);
	return (enum koda_fs_status)answer.frame.code;
}

const char *rig_read(struct rig *rig, const char *path)
{
	static char content[1 << 16];
	struct koda_fs_frame request = rig_request(rig, KODA_FS_OP_READ, path);
	rig_auto_answer struct answer answer;

	rig_ask(rig, &request, &answer);
	if (answer.frame.code != KODA_FS_STATUS_OK || answer.data.len >= sizeof(content))
		fail_msg("read %s: %s", path, koda_fs_status_text(answer.frame.code));
	memcpy(content, answer.data.ptr ? answer.data.ptr : "", answer.data.len);
	content[answer.data.len] = '\0';
	return content;
}

const char *rig_content(const char *path)
{
	static char content[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof(content) - 1);

	if (n < 0)
		fail_msg("read %s: %s", path, strerror(errno));
	(void)close(fd);
	content[n] = '\0';
	return content;
}
