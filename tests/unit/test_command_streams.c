/* SPDX-License-Identifier: MIT */
/* Where the streams of a command can lead, and what passes. */
#include "koda_test.h"

#include "../lib/commands.h"
#include "base/buf.h"
#include "base/fd.h"

#include <sys/mman.h>

static void expect_file(int fd, const char *wanted)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
	struct koda_error err = { 0 };

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	KODA_ASSERT_OK(koda_fd_read_all(fd, &text, &err), err);
	KODA_ASSERT_SPAN(koda_buf_span(&text), wanted);
}

/* A struct of zeros: nothing to read, and output goes nowhere. */
static void nothing_is_the_default(void **state)
{
	const struct koda_command_options options = {
		.size = sizeof(options), .shell = "read x && exit 1; echo out; echo err >&2; exit 7"
	};
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *command = koda_test_start(sandbox, &options);
	struct koda_outcome outcome = koda_test_wait(command);

	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(outcome.code, 7);
	assert_int_equal(outcome.output_bytes, 8);
	assert_int_equal(outcome.output_errno, 0);
	KODA_ASSERT_SPAN(koda_command_output(command, 1), "");
	KODA_ASSERT_SPAN(koda_command_output(command, 2), "");
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void descriptors_of_this_process(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	const struct koda_stream inherited = { .kind = KODA_STREAM_INHERIT };
	const struct koda_command_options options = { .size = sizeof(options),
						      .shell = "read x; echo out $x; "
							       "echo err $x >&2",
						      .in = inherited,
						      .out = inherited,
						      .err = inherited };
	int before[3];
	int file[3];

	for (int i = 0; i < 3; i++) {
		before[i] = dup(i);
		file[i] = memfd_create("stream", MFD_CLOEXEC);
		assert_true(before[i] > 2 && file[i] > 2);
	}
	assert_int_equal(write(file[0], "word\n", 5), 5);
	assert_int_equal(lseek(file[0], 0, SEEK_SET), 0);
	(void)fflush(NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(dup2(file[i], i), i);
	koda_command_free(koda_test_run(sandbox, &options, 0));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dup2(before[i], i), i);
		assert_int_equal(close(before[i]), 0);
	}
	expect_file(file[1], "out word\n");
	expect_file(file[2], "err word\n");
	for (int i = 0; i < 3; i++)
		assert_int_equal(close(file[i]), 0);
	koda_sandbox_close(sandbox);
}

/* The caller may close its own as soon as the command is started. */
static void one_file_for_both_outputs(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	koda_auto_fd int file = open(koda_in(*state, "both"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	int own = dup(file);
	const struct koda_stream to = { .kind = KODA_STREAM_FD, .fd = own };
	/* The two pipes are read in any order, so each waits for the other's bytes. */
	const struct koda_command_options options = {
		.size = sizeof(options),
		.shell = "echo out; until grep -q out both; do sleep 0.01; done; echo err >&2",
		.out = to,
		.err = to
	};
	struct koda_command *command = koda_test_start(sandbox, &options);

	assert_int_equal(close(own), 0);
	assert_int_equal(koda_test_wait(command).code, 0);
	koda_command_free(command);
	expect_file(file, "out\nerr\n");
	koda_sandbox_close(sandbox);
}

/* More than a pipe holds, with zeros; the caller's copy is gone before it is carried. */
static void input_from_memory(void **state)
{
	static const size_t sizes[] = { 0, 1, 65536, 65537, 3000001 };
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);

	KODA_EACH(size, sizes) {
		char *bytes = malloc(*size + 1);
		char wanted[64];
		struct koda_command *command;

		assert_non_null(bytes);
		for (size_t i = 0; i < *size; i++)
			bytes[i] = (char)(i % 256);
		command =
			koda_test_start(sandbox, &KODA_SHELL("sleep 0.05; wc -c",
							     .in = { .kind = KODA_STREAM_BYTES,
								     .bytes = { bytes, *size } }));
		memset(bytes, 'x', *size);
		free(bytes);
		assert_int_equal(koda_test_wait(command).code, 0);
		(void)snprintf(wanted, sizeof(wanted), "%zu\n", *size);
		KODA_ASSERT_SPAN(koda_command_output(command, 1), wanted);
		koda_command_free(command);
	}
	/* Nobody reads it. */
	koda_command_free(koda_test_run(
		sandbox,
		&KODA_SHELL("exit 3", .in = { .kind = KODA_STREAM_BYTES, .bytes = { "x", 1 } }),
		3));
	koda_sandbox_close(sandbox);
}

static void captured_bytes_are_exact(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	char bytes[1024];
	struct koda_command *command;
	struct koda_span got;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 256);
	command = koda_test_run(
		sandbox,
		&KODA_SHELL("cat; echo err >&2",
			    .in = { .kind = KODA_STREAM_BYTES, .bytes = { bytes, sizeof(bytes) } }),
		0);
	got = koda_command_output(command, 1);
	assert_int_equal(got.len, sizeof(bytes));
	assert_memory_equal(got.ptr, bytes, sizeof(bytes));
	assert_int_equal(got.ptr[got.len], 0);
	KODA_ASSERT_SPAN(koda_command_output(command, 2), "err\n");
	KODA_ASSERT_SPAN(koda_command_output(command, 0), "");
	KODA_ASSERT_SPAN(koda_command_output(command, 3), "");
	koda_command_free(command);
	command = koda_test_run(sandbox, &KODA_SHELL("true"), 0);
	assert_int_equal(koda_command_output(command, 1).len, 0);
	assert_string_equal(koda_command_output(command, 1).ptr, "");
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

/* The first half, a line, the last half; each stream has the limit for itself. */
static void captured_output_is_bounded(void **state)
{
	static const struct {
		const char *shell;
		uint64_t most;
		const char *wanted;
		uint64_t dropped;
	} rows[] = {
		{ "printf 123456789", 9, "123456789", 0 },
		{ "printf 1234567890", 9, "12345\n[... 1 bytes left out ...]\n7890", 1 },
		{ "printf 1234567890", 2, "1\n[... 8 bytes left out ...]\n0", 8 },
		{ "printf 1234567890", 1, "1\n[... 9 bytes left out ...]\n", 9 },
		{ "printf 12345; printf 67 >&2", 4, "12\n[... 1 bytes left out ...]\n45", 1 },
		{ "head -c 500000 /dev/zero | tr '\\0' a; echo b", 6,
		  "aaa\n[... 499996 bytes left out ...]\nab\n", 499996 },
	};
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);

	KODA_EACH(row, rows) {
		struct koda_command *command = koda_test_start(
			sandbox, &KODA_SHELL(row->shell, .max_output_bytes = row->most));
		struct koda_outcome outcome = koda_test_wait(command);

		KODA_ASSERT_SPAN(koda_command_output(command, 1), row->wanted);
		assert_int_equal(outcome.output_dropped, row->dropped);
		assert_int_equal(outcome.limits, row->dropped ? 1U << KODA_LIMIT_OUTPUT : 0);
		koda_command_free(command);
	}
	koda_sandbox_close(sandbox);
}

/* What a callback got, and from which stream. */
struct taken {
	struct koda_buf text;
	struct koda_command *command;
	unsigned int wrong;
};

static void take(void *ctx, struct koda_command *command, const char *bytes, size_t len)
{
	struct taken *taken = ctx;

	taken->wrong += len == 0 || (taken->command && taken->command != command);
	taken->command = command;
	if (koda_buf_add(&taken->text, bytes, len) < 0)
		taken->wrong++;
}

/* So much that the pipe is made larger on the way, on both streams at once. */
static void much_output_is_exact(void **state)
{
	koda_auto_buf struct koda_buf wanted = KODA_BUF_INIT(1 << 22);
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);

	for (int i = 1; i <= 270000; i++)
		assert_int_equal(koda_buf_addf(&wanted, "%d\n", i), KODA_OK);
	assert_true(wanted.len > 3 << 19 && wanted.len < 2 << 20);
	for (int calls = 0; calls < 2; calls++) {
		struct taken taken = { .text = KODA_BUF_INIT(1 << 22) };
		struct koda_stream to = { .kind = KODA_STREAM_CAPTURE };
		struct koda_command *command;

		if (calls)
			to = (struct koda_stream){ .kind = KODA_STREAM_CALLBACK,
						   .on_output = take,
						   .ctx = &taken };
		command = koda_test_start(
			sandbox,
			&KODA_SHELL_TO(to, "seq 1 270000 >&2 & seq 1 270000; wait; exit 3"));
		assert_int_equal(koda_test_wait(command).code, 3);
		KODA_ASSERT_SPAN(calls ? koda_buf_span(&taken.text)
				       : koda_command_output(command, 1),
				 wanted.ptr);
		KODA_ASSERT_SPAN(koda_command_output(command, 2), wanted.ptr);
		assert_int_equal(taken.wrong, 0);
		koda_command_free(command);
		koda_buf_clear(&taken.text);
	}
	koda_sandbox_close(sandbox);
}

static void callbacks_get_bytes_in_order(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct taken out = { .text = KODA_BUF_INIT(1 << 22) };
	struct taken err = { .text = KODA_BUF_INIT(1 << 22) };
	const struct koda_command_options options = {
		.size = sizeof(options),
		.shell = "for i in $(seq 20000); do echo $i; done; echo err >&2",
		.out = { .kind = KODA_STREAM_CALLBACK, .on_output = take, .ctx = &out },
		.err = { .kind = KODA_STREAM_CALLBACK, .on_output = take, .ctx = &err }
	};
	struct koda_command *command = koda_test_run(sandbox, &options, 0);
	const char *at = out.text.ptr;

	assert_int_equal(out.wrong + err.wrong, 0);
	assert_ptr_equal(out.command, command);
	assert_ptr_equal(err.command, command);
	for (long i = 1; i <= 20000; i++) {
		char *end;

		assert_int_equal(strtol(at, &end, 10), i);
		assert_int_equal(*end, '\n');
		at = end + 1;
	}
	assert_int_equal(*at, 0);
	KODA_ASSERT_SPAN(koda_buf_span(&err.text), "err\n");
	KODA_ASSERT_SPAN(koda_command_output(command, 1), "");
	koda_command_free(command);
	koda_buf_clear(&out.text);
	koda_buf_clear(&err.text);
	koda_sandbox_close(sandbox);
}

static void a_callback_gets_head_and_tail(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct taken out = { .text = KODA_BUF_INIT(1 << 20) };
	const struct koda_stream to = { .kind = KODA_STREAM_CALLBACK,
					.on_output = take,
					.ctx = &out };
	struct koda_command *command = koda_test_run(
		sandbox, &KODA_SHELL_TO(to, "printf abcdefgh", .max_output_bytes = 4), 0);

	KODA_ASSERT_SPAN(koda_buf_span(&out.text), "ab\n[... 4 bytes left out ...]\ngh");
	koda_command_free(command);
	koda_buf_clear(&out.text);
	koda_sandbox_close(sandbox);
}

/* Nothing ran, and the one event says why. */
static void impossible_streams_are_refused(void **state)
{
	static const struct {
		const char *field;
		int code;
		struct koda_stream in;
		struct koda_stream out;
		struct koda_stream err;
	} rows[] = {
		{ .field = "in", .code = KODA_E_INVALID, .in = { .kind = KODA_STREAM_CAPTURE } },
		{ .field = "in",
		  .code = KODA_E_INVALID,
		  .in = { .kind = KODA_STREAM_CALLBACK, .on_output = take } },
		{ .field = "in", .code = KODA_E_INVALID, .in = { .kind = KODA_STREAM_COUNT } },
		{ .field = "in",
		  .code = KODA_E_INVALID,
		  .in = { .kind = KODA_STREAM_BYTES, .bytes = { NULL, 1 } } },
		{ .field = "out", .code = KODA_E_INVALID, .out = { .kind = KODA_STREAM_BYTES } },
		{ .field = "err", .code = KODA_E_INVALID, .err = { .kind = KODA_STREAM_BYTES } },
		{ .field = "err", .code = KODA_E_INVALID, .err = { .kind = KODA_STREAM_CALLBACK } },
		{ .field = "out",
		  .code = KODA_E_INVALID,
		  .out = { .kind = (enum koda_stream_kind)99 } },
		{ .field = "in", .code = KODA_E_SYS, .in = { .kind = KODA_STREAM_FD, .fd = -1 } },
		{ .field = "out",
		  .code = KODA_E_SYS,
		  .out = { .kind = KODA_STREAM_FD, .fd = 999 } },
		{ .field = "err", .code = KODA_E_SYS, .err = { .kind = KODA_STREAM_FD, .fd = -5 } },
	};
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	unsigned int exits = 0;

	KODA_EACH(row, rows) {
		const struct koda_command_options options = { .size = sizeof(options),
							      .shell = "touch ran",
							      .in = row->in,
							      .out = row->out,
							      .err = row->err };

		KODA_TEST_REFUSED(sandbox, &options, row->code, row->field);
		assert_int_equal(told.exits, ++exits);
		assert_int_equal(told.starts, 0);
		assert_int_equal(told.strange, 0);
		assert_non_null(strstr(told.message, row->field));
		assert_int_equal(access(koda_in(*state, "ran"), F_OK), -1);
	}
	koda_command_free(koda_test_run(sandbox, &KODA_SHELL("touch ran"), 0));
	assert_int_equal(access(koda_in(*state, "ran"), F_OK), 0);
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(nothing_is_the_default),
		KODA_SCRATCH_TEST(descriptors_of_this_process),
		KODA_SCRATCH_TEST(one_file_for_both_outputs),
		KODA_SCRATCH_TEST(input_from_memory),
		KODA_SCRATCH_TEST(captured_bytes_are_exact),
		KODA_SCRATCH_TEST(captured_output_is_bounded),
		KODA_SCRATCH_TEST(much_output_is_exact),
		KODA_SCRATCH_TEST(callbacks_get_bytes_in_order),
		KODA_SCRATCH_TEST(a_callback_gets_head_and_tail),
		KODA_SCRATCH_TEST(impossible_streams_are_refused),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
