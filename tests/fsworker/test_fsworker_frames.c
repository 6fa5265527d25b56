/* SPDX-License-Identifier: MIT */
/* The connection: what is malformed, out of order, too much, or cut off. */
#include "rig.h"

#include <poll.h>
#include <sys/socket.h>

static void the_worker_greets_and_ends(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	rig_start(&rig, &setup);
	for (int i = 0; i < 5; i++)
		RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	assert_int_equal(rig_stop(&rig), 0);
	/* A shutdown is answered before the end. */
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_SHUTDOWN, "");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(rig_wait_end(&rig), 0);
}

/* The set-up record is all that the worker believes, so it must be sealed and sound. */
static void a_bad_setup_starts_nothing(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	for (setup.bad_setup = 1; setup.bad_setup <= 3; setup.bad_setup++) {
		rig_start_silent(&rig, &setup);
		assert_int_equal(rig_wait_end(&rig), 1);
	}
	setup.bad_setup = 0;
	setup.roots[0] = "missing";
	rig_start_silent(&rig, &setup);
	assert_int_equal(rig_wait_end(&rig), 1);
	assert_int_equal(symlink("root", koda_in(*state, "link")), 0);
	setup.roots[0] = "link";
	rig_start_silent(&rig, &setup);
	assert_int_equal(rig_wait_end(&rig), 1);
}

/* Each of them ends the connection, and the worker with it. */
static void lost_framing_ends_the_connection(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };
	const struct koda_fs_frame other = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION + 1 } };
	struct koda_fs_frame frame;
	struct koda_fs_header header;
	struct rig rig;

	rig_start_silent(&rig, &setup); /* another version */
	rig_send(&rig, &other);
	assert_int_equal(rig_wait_end(&rig), 1);
	rig_start_silent(&rig, &setup); /* a request before HELLO */
	frame = rig_request(&rig, KODA_FS_OP_PING, "");
	rig_send(&rig, &frame);
	assert_int_equal(rig_wait_end(&rig), 1);
	rig_start(&rig, &setup); /* HELLO again */
	rig_send(&rig, &hello);
	assert_int_equal(rig_wait_end(&rig), 1);
	rig_start(&rig, &setup); /* a reply from a client */
	frame = (struct koda_fs_frame){ .kind = KODA_FS_REPLY, .id = 1 };
	rig_send(&rig, &frame);
	assert_int_equal(rig_wait_end(&rig), 1);
	rig_start(&rig, &setup); /* over-long */
	frame = rig_request(&rig, KODA_FS_OP_STAT, "x");
	header = koda_fs_frame_header(&frame);
	header.len[0] = KODA_FS_TEXT_MAX + 1;
	header.bytes = (uint32_t)sizeof(header) + header.len[0];
	rig_send_bytes(&rig, &header, sizeof(header));
	assert_int_equal(rig_wait_end(&rig), 1);
	rig_start(&rig, &setup); /* text */
	rig_send_bytes(&rig,
		       "{\"kind\":\"ping\"}{\"kind\":\"ping\"}{\"kind\":\"ping\"}"
		       "{\"kind\":\"ping\"}{\"kind\":\"ping\"}{\"kind\":\"ping\"}"
		       "{\"kind\":\"ping\"}{\"kind\":\"ping\"}{\"kind\":\"ping\"}",
		       135);
	assert_int_equal(rig_wait_end(&rig), 1);
}

/* The end of the connection within a frame is an error of the client; between frames it is the end
 * of the work. */
static void a_frame_that_is_cut_off(void **state)
{
	struct rig_setup setup = { .dir = *state };
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
	struct koda_fs_frame frame;
	struct rig rig;

	rig_start(&rig, &setup);
	frame = rig_request(&rig, KODA_FS_OP_STAT, "some/path");
	assert_int_equal(koda_fs_frame_add(&out, &frame), KODA_OK);
	rig_send_bytes(&rig, out.ptr, out.len - 1);
	assert_int_equal(shutdown(rig.socket, SHUT_WR), 0);
	assert_int_equal(rig_wait_end(&rig), 1);
	/* The whole frame is answered, although the client sends nothing more. */
	rig_start(&rig, &setup);
	rig_send_bytes(&rig, out.ptr, out.len);
	assert_int_equal(shutdown(rig.socket, SHUT_WR), 0);
	assert_true(rig_receive(&rig, &frame));
	assert_int_equal(frame.code, KODA_FS_STATUS_MISSING);
	assert_false(rig_receive(&rig, &frame));
	assert_int_equal(rig_wait_end(&rig), 0);
}

/* A request that is malformed by itself is answered, and the next one is carried out. */
static void malformed_requests_are_answered(void **state)
{
	static char name[5001];
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame frame;
	struct answer answer;
	struct rig rig;

	rig_start(&rig, &setup);
	frame = rig_request(&rig, KODA_FS_OP_COUNT, "");
	rig_ask(&rig, &frame, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	frame = rig_request(&rig, KODA_FS_OP_STAT, "");
	frame.text[0] = (struct koda_span){ "a\0b", 3 };
	rig_ask(&rig, &frame, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	memset(name, 'x', 5000);
	RIG_EXPECT(INVALID, rig_do(&rig, KODA_FS_OP_STAT, name, 0));
	name[4000] = '\0';
	RIG_EXPECT(TOO_LARGE, rig_do(&rig, KODA_FS_OP_STAT, name, 0));
	name[255] = '\0';
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_STAT, name, 0));
	RIG_EXPECT(INVALID, rig_do(&rig, KODA_FS_OP_STAT, "a", KODA_FS_RECURSIVE));
	/* A malformed WRITE; its content is dropped. */
	RIG_EXPECT(INVALID, rig_write(&rig, name, "x", KODA_FS_RECURSIVE));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	/* A DATA frame without a WRITE request before it. */
	frame = (struct koda_fs_frame){ .kind = KODA_FS_DATA, .id = 77, .text = { { "x", 1 } } };
	rig_send(&rig, &frame);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	frame.flags = KODA_FS_LAST;
	rig_send(&rig, &frame);
	rig_await(&rig, 77, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

/* Frames in one piece, byte by byte, and many at a time give the same. */
static void requests_are_pipelined(void **state)
{
	enum {
		COUNT = 2000
	};
	struct rig_setup setup = { .dir = *state };
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT((size_t)16 << 20);
	struct koda_fs_frame frame;
	struct rig rig;

	rig_start(&rig, &setup);
	assert_int_equal(rig_write(&rig, "file", "content", 0), KODA_FS_STATUS_OK);
	for (int i = 0; i < COUNT; i++) {
		frame = rig_request(&rig, KODA_FS_OP_STAT, "file");
		assert_int_equal(koda_fs_frame_add(&out, &frame), KODA_OK);
	}
	rig.last_id -= COUNT;
	for (size_t at = 0; at < 1000; at++)
		rig_send_bytes(&rig, out.ptr + at, 1);
	rig_send_bytes(&rig, out.ptr + 1000, out.len - 1000);
	for (int i = 0; i < COUNT; i++) {
		assert_true(rig_receive(&rig, &frame));
		assert_int_equal(frame.id, ++rig.last_id);
		assert_int_equal(frame.n[0], 7);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

/* A client that reads nothing while there are megabytes for it: a CANCEL is seen, and when it reads
 * again, everything is there. */
static void a_client_that_stops_reading(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame read, stat;
	struct koda_fs_frame cancel = { .kind = KODA_FS_CANCEL };
	struct koda_fs_frame frame;
	struct rig rig;
	int fd;

	rig_start(&rig, &setup);
	fd = open(koda_in(*state, "root/large"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, (off_t)64 << 20), 0);
	(void)close(fd);
	read = rig_request(&rig, KODA_FS_OP_READ, "large");
	rig_send(&rig, &read);
	stat = rig_request(&rig, KODA_FS_OP_STAT, "large");
	rig_send(&rig, &stat);
	cancel.id = read.id;
	rig_send(&rig, &cancel);
	do
		assert_true(rig_receive(&rig, &frame));
	while (frame.kind == KODA_FS_DATA);
	assert_int_equal(frame.id, read.id);
	assert_int_equal(frame.code, KODA_FS_STATUS_CANCELLED);
	assert_true(rig_receive(&rig, &frame));
	assert_int_equal(frame.id, stat.id);
	assert_int_equal(frame.n[0], (size_t)64 << 20);
	/* A client that goes away in the middle ends the worker. */
	read = rig_request(&rig, KODA_FS_OP_READ, "large");
	rig_send(&rig, &read);
	assert_true(rig_receive(&rig, &frame));
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_worker_greets_and_ends),       RIG_TEST(a_bad_setup_starts_nothing),
		RIG_TEST(lost_framing_ends_the_connection), RIG_TEST(a_frame_that_is_cut_off),
		RIG_TEST(malformed_requests_are_answered),  RIG_TEST(requests_are_pipelined),
		RIG_TEST(a_client_that_stops_reading),
	};

	return KODA_TEST_RUN(tests);
}
