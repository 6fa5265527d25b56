/* SPDX-License-Identifier: MIT */
/* The file worker as a process, without a sandbox, and a client that speaks its frames by hand. */
#ifndef KODA_TEST_FSWORKER_RIG_H
#define KODA_TEST_FSWORKER_RIG_H

#include "../lib/scratch.h"

#include "base/buf.h"
#include "policy/pathindex.h"
#include "wire/fs_frame.h"

#include <koda/rules.h>
#include <sys/types.h>

#define MARK(why) (1U << KODA_REASON_##why)

struct rig_rule {
	const char *path; /* relative to the scratch directory */
	uint32_t marks;
};

#define RIG_MAX 8

/* How a worker is started. */
struct rig_setup {
	const char *dir;            /* the scratch directory */
	const char *roots[RIG_MAX]; /* relative to it, or absolute; none: "root" */
	struct rig_rule rules[RIG_MAX];
	const char *env_names;
	size_t env_len;
	char *const *envp;
	uint32_t link_depth;                /* 0: the least */
	const struct koda_pathindex *index; /* instead of rules */
	int bad_setup;                      /* 1: not sealed, 2: cut off, 3: other rules */
};

struct rig {
	pid_t pid;
	int socket;
	uint64_t last_id;
	struct koda_buf in; /* received */
	size_t at;
};

/* The reply to a request, and its data. */
struct answer {
	struct koda_fs_frame frame; /* texts are below */
	char rule[4200], path[4200], said[1200];
	struct koda_buf data;
};

/* cmocka setup: a scratch directory with an empty directory "root" in it. */
int rig_setup_root(void **state);
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup_root, koda_scratch_teardown)

/* Starts a worker whose root is dir/root, all of it writable unless rules say more; and exchanges
 * HELLO. */
void rig_start(struct rig *rig, const struct rig_setup *setup);
/* The same without HELLO. */
void rig_start_silent(struct rig *rig, const struct rig_setup *setup);
/* Closes the connection. Returns the exit status; fails unless it ends by itself. */
int rig_stop(struct rig *rig);
/* Reaps a worker that ends by itself. Returns its exit status, or -1 with a signal. */
int rig_wait_end(struct rig *rig);

/* Sends a frame. */
void rig_send(struct rig *rig, const struct koda_fs_frame *frame);
void rig_send_bytes(struct rig *rig, const void *bytes, size_t len);
/* Returns a request with an id of its own. */
struct koda_fs_frame rig_request(struct rig *rig, enum koda_fs_op op, const char *a);
/* Sends the content of a WRITE, in chunks. */
void rig_send_content(struct rig *rig, uint64_t id, const void *content, size_t len);
/* Receives one frame; false at the end of the connection. */
bool rig_receive(struct rig *rig, struct koda_fs_frame *ret_frame);
/* Receives until the reply to id. Frames of other requests fail the test. */
void rig_await(struct rig *rig, uint64_t id, struct answer *ret_answer);
/* Sends a request and awaits its reply. */
void rig_ask(struct rig *rig, const struct koda_fs_frame *request, struct answer *ret_answer);
void rig_answer_clear(struct answer *answer);
#define rig_auto_answer __attribute__((cleanup(rig_answer_clear)))

/* Shorthands that return the status. */
enum koda_fs_status rig_do(struct rig *rig, enum koda_fs_op op, const char *path, uint32_t flags);
enum koda_fs_status rig_do2(struct rig *rig, enum koda_fs_op op, const char *a, const char *b,
			    uint32_t flags);
enum koda_fs_status rig_write(struct rig *rig, const char *path, const char *content,
			      uint32_t flags);
/* The content of a file through the worker, which must be readable. */
const char *rig_read(struct rig *rig, const char *path);
/* The content of a file of the test. */
const char *rig_content(const char *path);

/* The status must be this one; tells both by name. */
#define RIG_EXPECT(wanted, call)                                                                   \
	do {                                                                                       \
		enum koda_fs_status koda_got_ = (call);                                            \
		if (koda_got_ != KODA_FS_STATUS_##wanted)                                          \
			fail_msg("%s:%d: %s: \"%s\", expected %s", __FILE__, __LINE__, #call,      \
				 koda_fs_status_text(koda_got_), #wanted);                         \
	} while (0)

#endif
