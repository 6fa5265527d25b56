/* SPDX-License-Identifier: MIT */
/* Keeps the reply that koda_fs_call waits for, and makes violations of denials. */
#include "run/fs/fs.h"

#include <stdio.h>

/* Copies a text behind those that are kept already. */
static struct koda_span keep(struct koda_fs *fs, struct koda_span text)
{
	size_t at = fs->texts.len;

	if (text.len == 0 || koda_buf_add(&fs->texts, text.ptr, text.len) < 0)
		return (struct koda_span){ "", 0 };
	return (struct koda_span){ fs->texts.ptr + at, text.len };
}

static void keep_reply(struct koda_fs *fs, const struct koda_fs_reply *reply,
		       struct koda_fs_job *job)
{
	char *room;

	fs->answered = true;
	fs->reply = *reply;
	fs->texts.len = 0;
	/* So that texts does not move while it is filled. */
	if (koda_buf_room(&fs->texts,
			  reply->rule.len + reply->path.len + reply->link.len + reply->message.len,
			  &room) < 0)
		fs->reply.status = KODA_FS_STATUS_NO_MEMORY;
	fs->reply.rule = keep(fs, reply->rule);
	fs->reply.path = keep(fs, reply->path);
	fs->reply.link = keep(fs, reply->link);
	fs->reply.message = keep(fs, reply->message);
	koda_buf_clear(&fs->content);
	if (reply->content.len > 0) {
		fs->content = job->kept;
		job->kept = (struct koda_buf)KODA_BUF_INIT(0);
		fs->reply.content = koda_buf_span(&fs->content);
	}
}

/* Returns what was tried, for a violation. */
static enum koda_violation violation_of(enum koda_fs_op op)
{
	switch (op) {
	case KODA_FS_OP_READ:
	case KODA_FS_OP_STAT:
	case KODA_FS_OP_LIST:
	case KODA_FS_OP_GLOB:
	case KODA_FS_OP_GREP:
		return KODA_VIOLATION_FILE_READ;
	case KODA_FS_OP_WRITE:
	case KODA_FS_OP_EDIT:
	case KODA_FS_OP_MKDIR:
	case KODA_FS_OP_REMOVE:
	case KODA_FS_OP_RENAME:
		return KODA_VIOLATION_FILE_WRITE;
	case KODA_FS_OP_PING:
	case KODA_FS_OP_SHUTDOWN:
	case KODA_FS_OP_GETENV:
	case KODA_FS_OP_COUNT:
		break;
	}
	return KODA_VIOLATION_OTHER;
}

static void add_violation(struct koda_fs *fs, const struct koda_fs_reply *reply)
{
	koda_auto_free char *target =
		reply->path.len ? strndup(reply->path.ptr, reply->path.len) : NULL;
	koda_auto_free char *call = strdup(koda_fs_op_name(reply->op));
	char rule[512];
	const struct koda_denial denial = { .kind = violation_of(reply->op),
					    .source = KODA_SOURCE_WORKER,
					    .target = target,
					    .rule = rule,
					    .call = call };

	(void)snprintf(rule, sizeof(rule), "%s%s%.*s", koda_reason_name(reply->reason),
		       reply->rule.len ? " " : "", (int)reply->rule.len,
		       reply->rule.len ? reply->rule.ptr : "");
	koda_command_add_violation(fs->command, &denial);
}

void koda_fs_note_reply(void *ctx, const struct koda_fs_reply *reply, struct koda_fs_job *job)
{
	struct koda_fs *fs = ctx;

	if (reply->status == KODA_FS_STATUS_DENIED && fs->command)
		add_violation(fs, reply);
	if (job->id == fs->awaited)
		keep_reply(fs, reply, job);
}
