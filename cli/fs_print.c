/* SPDX-License-Identifier: MIT */
/* T-10. */
#include "fs_print.h"

#include "base/error.h"
#include "base/escape.h"

#include <sys/stat.h>

/* Lines are printed once there are that many bytes of them. */
#define FLUSH ((size_t)64 << 10)

static const struct {
	char letter;
	mode_t mode;
	const char *name;
} types[] = {
	{ 'f', S_IFREG, "file" },        { 'd', S_IFDIR, "directory" },
	{ 'l', S_IFLNK, "link" },        { 'p', S_IFIFO, "fifo" },
	{ 's', S_IFSOCK, "socket" },     { 'b', S_IFBLK, "block_device" },
	{ 'c', S_IFCHR, "char_device" },
};

static const char *name_of_letter(char letter)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(types); i++)
		if (types[i].letter == letter)
			return types[i].name;
	return "unknown";
}

static const char *name_of_mode(uint32_t mode)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(types); i++)
		if ((mode & S_IFMT) == types[i].mode)
			return types[i].name;
	return "unknown";
}

void cli_fs_print_clear(struct cli_fs_print *print)
{
	koda_buf_clear(&print->lines);
	koda_buf_clear(&print->content);
}

static int flush(struct cli_fs_print *print, struct koda_error *err)
{
	int r = print->lines.len ? cli_output_print(print->lines.ptr, print->lines.len, err)
				 : KODA_OK;

	print->lines.len = 0;
	return r;
}

/* Appends a line of a file. A tab does no harm there. */
static int add_text(struct koda_buf *out, struct koda_span text)
{
	int r = KODA_OK;

	while (r == KODA_OK && text.len > 0) {
		const char *tab = memchr(text.ptr, '\t', text.len);
		size_t len = tab ? (size_t)(tab - text.ptr) : text.len;

		r = cli_output_escape(out, (struct koda_span){ text.ptr, len });
		if (r == KODA_OK && tab)
			r = koda_buf_add(out, "\t", 1);
		text = koda_span_skip(text, tab ? len + 1 : len);
	}
	return r;
}

static int add_json(struct koda_buf *out, const char *key, struct koda_span text)
{
	int r = koda_buf_addf(out, "\"%s\":", key);

	return r < 0 ? r : koda_escape_json_string(out, text);
}

static int add_object(struct cli_fs_print *print, const struct koda_fs_item *item)
{
	struct koda_buf *out = &print->lines;
	int r = koda_buf_addf(out, "{");

	if (r == KODA_OK)
		r = add_json(out, print->op == KODA_FS_OP_LIST ? "name" : "path", item->name);
	if (r == KODA_OK && print->op == KODA_FS_OP_LIST)
		r = koda_buf_addf(out, ",\"type\":\"%s\"", name_of_letter(item->type));
	if (r == KODA_OK && print->op == KODA_FS_OP_GREP)
		r = koda_buf_addf(out, ",\"line\":%llu,", (unsigned long long)item->line);
	if (r == KODA_OK && print->op == KODA_FS_OP_GREP)
		r = add_json(out, "text", item->text);
	return r < 0 ? r : koda_buf_addf(out, "}\n");
}

static int add_line(struct cli_fs_print *print, const struct koda_fs_item *item)
{
	struct koda_buf *out = &print->lines;
	int r = cli_output_escape(out, item->name);

	if (r == KODA_OK && print->op == KODA_FS_OP_LIST && item->type == 'd')
		r = koda_buf_addf(out, "/");
	if (r == KODA_OK && print->op == KODA_FS_OP_GREP)
		r = koda_buf_addf(out, ":%llu:", (unsigned long long)item->line);
	if (r == KODA_OK && print->op == KODA_FS_OP_GREP)
		r = add_text(out, item->text);
	return r < 0 ? r : koda_buf_addf(out, "\n");
}

int cli_fs_print_item(void *ctx, const struct koda_fs_item *item)
{
	struct cli_fs_print *print = ctx;
	int r = print->json ? add_object(print, item) : add_line(print, item);

	if (r < 0)
		r = koda_fail_nomem(&print->failure);
	if (r == KODA_OK && print->lines.len >= FLUSH)
		r = flush(print, &print->failure);
	return r;
}

int cli_fs_print_content(void *ctx, const char *bytes, size_t len)
{
	struct cli_fs_print *print = ctx;
	int r;

	if (!print->json)
		return cli_output_print(bytes, len, &print->failure);
	r = koda_buf_add(&print->content, bytes, len);
	return r < 0 ? koda_fail_room(&print->failure, r, "the content as JSON") : KODA_OK;
}

static int add_stat_object(struct cli_fs_print *print, const struct koda_fs_reply *reply)
{
	struct koda_buf *out = &print->lines;
	const struct koda_fs_stat *stat = &reply->stat;
	int r = koda_buf_addf(out, "{");

	if (r == KODA_OK)
		r = add_json(out, "path", koda_span_of(print->path));
	if (r == KODA_OK)
		r = koda_buf_addf(out,
				  ",\"type\":\"%s\",\"mode\":\"%04o\",\"size\":%llu,"
				  "\"mtime\":%.9f,\"links\":%llu,\"uid\":%llu,\"gid\":%llu",
				  name_of_mode(stat->mode), (unsigned int)stat->mode & 07777U,
				  (unsigned long long)stat->size, (double)stat->mtime_ns / 1e9,
				  (unsigned long long)stat->links, (unsigned long long)stat->uid,
				  (unsigned long long)stat->gid);
	if (r == KODA_OK && reply->link.len > 0)
		r = koda_buf_addf(out, ",");
	if (r == KODA_OK && reply->link.len > 0)
		r = add_json(out, "target", reply->link);
	return r < 0 ? r : koda_buf_addf(out, "}\n");
}

static int add_stat_line(struct cli_fs_print *print, const struct koda_fs_reply *reply)
{
	struct koda_buf *out = &print->lines;
	int r = koda_buf_addf(out, "%s %04o %llu ", name_of_mode(reply->stat.mode),
			      (unsigned int)reply->stat.mode & 07777U,
			      (unsigned long long)reply->stat.size);

	if (r == KODA_OK)
		r = cli_output_escape(out, koda_span_of(print->path));
	if (r == KODA_OK && reply->link.len > 0)
		r = koda_buf_addf(out, " -> ");
	if (r == KODA_OK)
		r = cli_output_escape(out, reply->link);
	return r < 0 ? r : koda_buf_addf(out, "\n");
}

static int add_content(struct cli_fs_print *print, const struct koda_fs_reply *reply)
{
	struct koda_buf *out = &print->lines;
	const struct koda_span content =
		print->content.ptr ? koda_buf_span(&print->content) : koda_span_of("");
	int r;

	out->max = 8 * CLI_FS_CONTENT_MAX; /* of bytes that need an escape */
	r = koda_buf_addf(out, "{\"bytes\":%llu,", (unsigned long long)reply->count);
	if (r == KODA_OK)
		r = add_json(out, "content", content);
	return r < 0 ? r : koda_buf_addf(out, "}\n");
}

static int add_reply(struct cli_fs_print *print, const struct koda_fs_reply *reply)
{
	struct koda_buf *out = &print->lines;
	unsigned long long count = reply->count;

	if (print->op == KODA_FS_OP_STAT)
		return print->json ? add_stat_object(print, reply) : add_stat_line(print, reply);
	if (!print->json)
		return KODA_OK;
	if (print->op == KODA_FS_OP_READ)
		return add_content(print, reply);
	if (print->op == KODA_FS_OP_WRITE)
		return koda_buf_addf(out, "{\"bytes\":%llu}\n", count);
	if (print->op == KODA_FS_OP_EDIT)
		return koda_buf_addf(out, "{\"replacements\":%llu}\n", count);
	return KODA_OK;
}

int cli_fs_print_reply(struct cli_fs_print *print, const struct koda_fs_reply *reply,
		       struct koda_error *err)
{
	return add_reply(print, reply) < 0 ? koda_fail_nomem(err) : flush(print, err);
}
