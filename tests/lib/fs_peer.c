/* SPDX-License-Identifier: MIT */
/*
 * A file worker that misbehaves, and one that was taken over: started in the real one's place, it
 * does what the path of a READ says.
 *
 *   echo TEXT    replies with TEXT
 *   sh COMMAND   replies with what that prints, carried out from inside this process
 *   fds          replies with its descriptors
 *   env          replies with its environment
 *   abort, exit  ends
 *   hang         never replies
 *   junk         sends bytes that are no frame
 *   lie          tells of more bytes than it has sent
 *   other        replies to a request that nobody has sent
 *   deny         says that the policy refuses /secret
 */
#include "wire/fs_frame.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char input[4 * KODA_FS_FRAME_MAX];
static size_t have;

static void put(const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(KODA_FS_SOCKET_FD, (const char *)bytes + at, len - at);

		if (n <= 0)
			exit(4);
		at += (size_t)n;
	}
}

static void send_frame(const struct koda_fs_frame *frame)
{
	struct koda_buf out = KODA_BUF_INIT(2 * KODA_FS_FRAME_MAX);

	if (koda_fs_frame_add(&out, frame) < 0)
		exit(5);
	put(out.ptr, out.len);
	koda_buf_clear(&out);
}

static void reply_with(uint64_t id, uint32_t status, uint64_t count)
{
	const struct koda_fs_frame reply = {
		.kind = KODA_FS_REPLY, .id = id, .code = status, .n = { count, count }
	};

	send_frame(&reply);
}

static void send_text(uint64_t id, const char *text, size_t len)
{
	for (size_t at = 0; at < len; at += KODA_FS_CHUNK) {
		struct koda_fs_frame data = { .kind = KODA_FS_DATA, .id = id };

		data.text[0].ptr = text + at;
		data.text[0].len = len - at < KODA_FS_CHUNK ? len - at : KODA_FS_CHUNK;
		send_frame(&data);
	}
	reply_with(id, KODA_FS_STATUS_OK, len);
}

static void run(uint64_t id, const char *command)
{
	static char output[1 << 20];
	FILE *out = popen(command, "r");
	size_t len = out ? fread(output, 1, sizeof(output), out) : 0;

	if (out)
		(void)pclose(out);
	send_text(id, output, len);
}

static void list_fds(uint64_t id)
{
	char text[4096] = "";
	size_t len = 0;
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
						entry->d_name);
	if (dir)
		(void)closedir(dir);
	send_text(id, text, len);
}

static void tell_env(uint64_t id)
{
	static char text[1 << 16];
	size_t len = 0;

	for (char **env = environ; *env; env++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", *env);
	send_text(id, text, len);
}

static void deny(uint64_t id)
{
	const struct koda_fs_frame reply = {
		.kind = KODA_FS_REPLY,
		.id = id,
		.code = KODA_FS_STATUS_DENIED,
		.reason = 2, /* fs.deny_read */
		.text = { koda_span_of("/secret"), koda_span_of("/secret/x") },
	};

	send_frame(&reply);
}

static void act(uint64_t id, const char *what)
{
	static const char junk[512] = "junk";

	if (strncmp(what, "echo ", 5) == 0)
		send_text(id, what + 5, strlen(what + 5));
	else if (strncmp(what, "sh ", 3) == 0)
		run(id, what + 3);
	else if (strcmp(what, "fds") == 0)
		list_fds(id);
	else if (strcmp(what, "env") == 0)
		tell_env(id);
	else if (strcmp(what, "abort") == 0)
		abort();
	else if (strcmp(what, "exit") == 0) {
		(void)fputs("no more\n", stderr);
		exit(3);
	} else if (strcmp(what, "junk") == 0)
		put(junk, sizeof(junk));
	else if (strcmp(what, "lie") == 0)
		reply_with(id, KODA_FS_STATUS_OK, 7);
	else if (strcmp(what, "other") == 0)
		reply_with(id + 1, KODA_FS_STATUS_OK, 0);
	else if (strcmp(what, "deny") == 0)
		deny(id);
}

static void take(const struct koda_fs_frame *frame)
{
	char path[4096];

	if (frame->kind == KODA_FS_CANCEL)
		reply_with(frame->id, KODA_FS_STATUS_CANCELLED, 0);
	if (frame->kind == KODA_FS_DATA && frame->flags & KODA_FS_LAST)
		reply_with(frame->id, KODA_FS_STATUS_OK, 0);
	if (frame->kind != KODA_FS_REQUEST)
		return;
	if (frame->code == KODA_FS_OP_PING)
		reply_with(frame->id, KODA_FS_STATUS_OK, 0);
	if (frame->code != KODA_FS_OP_READ)
		return;
	memcpy(path, frame->text[0].ptr, frame->text[0].len);
	path[frame->text[0].len] = '\0';
	act(frame->id, path);
}

int main(void)
{
	const struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };
	struct koda_fs_frame frame;
	size_t len;
	ssize_t n;

	send_frame(&hello);
	while ((n = read(KODA_FS_SOCKET_FD, input + have, sizeof(input) - have)) > 0) {
		have += (size_t)n;
		while (koda_fs_frame_read((struct koda_span){ input, have }, KODA_FS_CLIENT, &frame,
					  &len) == KODA_FS_FOUND_FRAME) {
			take(&frame);
			have -= len;
			memmove(input, input + len, have);
		}
	}
	return 0;
}
