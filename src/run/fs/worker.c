/* SPDX-License-Identifier: MIT */
/* T-106. */
#include "run/fs/worker.h"

#include "base/error.h"
#include "base/fd.h"
#include "policy/rules.h"
#include "run/in_use.h"
#include "run/survey.h"
#include "wire/fs_frame.h"
#include "wire/fs_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* The number of KODA_FS_SELF_FD. */
#define PROGRAM_INSIDE "/proc/self/fd/5"
_Static_assert(KODA_FS_SELF_FD == 5, "the program is where it is executed from");

#define PROGRAM_MAX    ((off_t)64 << 20)
#define MEMORY_DEFAULT ((uint64_t)1 << 30)
/* How long a worker that has closed its socket may take to end. */
#define END_MS 2000U
/* How often a worker is started because the project has changed meanwhile. */
#define START_TRIES 3

/* Makes a memory file that can be executed. Kernels before 6.3 know no flag for that. */
static int make_program_file(int *ret_fd, struct koda_error *err)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

	*ret_fd = memfd_create(KODA_FS_WORKER_NAME, flags | MFD_EXEC);
	if (*ret_fd < 0 && errno == EINVAL)
		*ret_fd = memfd_create(KODA_FS_WORKER_NAME, flags);
	if (*ret_fd < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an in-memory file");
	return KODA_OK;
}

int koda_fs_worker_load(const char *path, int *ret_program, struct koda_error *err)
{
	koda_auto_fd int file = -1;
	koda_auto_fd int program = -1;
	struct stat st = { .st_size = 0 };
	void *bytes;
	int r = koda_fd_open_regular(path, &file, err);

	if (r == KODA_OK && fstat(file, &st) < 0)
		r = koda_fail_at(err, KODA_E_SYS, errno, path, "cannot be examined");
	if (r == KODA_OK && (st.st_size == 0 || st.st_size > PROGRAM_MAX))
		r = koda_fail_at(err, KODA_E_INVALID, 0, path, "is no program of koda-sandbox");
	if (r == KODA_OK)
		r = make_program_file(&program, err);
	if (r < 0)
		return r;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (bytes == MAP_FAILED)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot be read");
	r = koda_fd_seal(program, bytes, (size_t)st.st_size, err);
	(void)munmap(bytes, (size_t)st.st_size);
	if (r == KODA_OK)
		*ret_program = koda_take_fd(&program);
	return r;
}

void koda_fs_worker_options_clear(struct koda_fs_worker_options *options)
{
	koda_strv_clear(&options->roots);
	koda_strv_clear(&options->env);
	free(KODA_TAKE(options->id));
	koda_fd_close(&options->program);
	koda_sandbox_close(KODA_TAKE(options->sandbox));
}

/* Seals the roots and rules. Without roots, every path that a command could reach is decided by the
 * rules alone. */
static int seal_setup(const struct koda_fs_worker_options *options, const struct koda_rules *rules,
		      int *ret_fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf blob = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	koda_auto_buf struct koda_buf record = KODA_BUF_INIT(KODA_FS_SETUP_MAX);
	struct koda_fs_setup setup = {
		.link_depth = koda_policy_search_depth(options->sandbox->policy),
		.roots = { koda_span_of(options->sandbox->site.root), koda_span_of("/") },
		.root_count = 2,
	};
	int r = koda_rules_blob_add(rules, &blob);

	if (options->roots.len > 0)
		setup.root_count = options->roots.len;
	for (size_t i = 0; i < options->roots.len; i++)
		setup.roots[i] = koda_span_of(options->roots.items[i]);
	setup.rules = koda_buf_span(&blob);
	if (r == KODA_OK)
		r = koda_fs_setup_add(&record, &setup);
	if (r < 0)
		return koda_fail(err, r, 0, "the rules cannot be passed to the file worker");
	return koda_fd_sealed("koda-fs-rules", record.ptr, record.len, ret_fd, err);
}

/* Surveys the project ahead of the plan, and returns a reference to the rules. */
static int survey(struct koda_sandbox *sandbox, struct koda_rules **ret_rules,
		  struct koda_error *err)
{
	int r = koda_in_use_begin(&sandbox->in_use, "sandbox", err);

	if (r < 0)
		return r;
	r = koda_survey_ahead(sandbox, err);
	if (r == KODA_OK)
		*ret_rules = koda_rules_share(sandbox->rules);
	(void)koda_in_use_end(&sandbox->in_use); /* koda_sandbox_close counts references */
	return r;
}

/* Starts the program with these rules and this end of the socket. */
static int start_with(const struct koda_fs_worker_options *options, const struct koda_rules *rules,
		      int socket, struct koda_command **ret_command, struct koda_error *err)
{
	static const char *const argv[] = { KODA_FS_WORKER_NAME, NULL };
	koda_auto_fd int setup = -1;
	int r = seal_setup(options, rules, &setup, err);
	const struct koda_descriptor descriptors[] = {
		{ socket, KODA_FS_SOCKET_FD },
		{ setup, KODA_FS_RULES_FD },
		{ options->program, KODA_FS_SELF_FD },
	};
	const struct koda_command_options command = {
		.size = sizeof(command),
		.argv = argv,
		.err = { .kind = KODA_STREAM_CAPTURE },
		.untimed = true,
		.approved = options->approved,
		.descriptors = descriptors,
		.descriptor_count = KODA_ARRAY_LEN(descriptors),
		.max_memory_bytes =
			options->max_memory_bytes ? options->max_memory_bytes : MEMORY_DEFAULT,
		.env = (const char *const *)options->env.items,
		.id = options->id,
		.user = options->user,
	};

	if (r == KODA_OK)
		r = koda_sandbox_start_helper(options->sandbox, PROGRAM_INSIDE, &command,
					      ret_command, err);
	return r;
}

int koda_fs_worker_start(const struct koda_fs_worker_options *options, int *ret_socket,
			 struct koda_command **ret_command, struct koda_error *err)
{
	for (int i = 0; i < START_TRIES; i++) {
		koda_auto_fd int ours = -1;
		koda_auto_fd int theirs = -1;
		struct koda_rules *rules = NULL;
		struct koda_command *command = NULL;
		int pair[2];
		int r = survey(options->sandbox, &rules, err);

		if (r == KODA_OK && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			r = koda_fail(err, KODA_E_SYS, errno, "cannot make a socket pair");
		if (r == KODA_OK) {
			ours = pair[0];
			theirs = pair[1];
			r = start_with(options, rules, theirs, &command, err);
		}
		/* The plan must be made of the rules that the worker has. */
		if (r == KODA_OK && command->rules == rules) {
			koda_rules_free(rules);
			*ret_socket = koda_take_fd(&ours);
			*ret_command = command;
			return KODA_OK;
		}
		koda_rules_free(rules);
		koda_command_free(command);
		if (r < 0)
			return r;
	}
	return koda_fail(err, KODA_E_SYS, EAGAIN, "the project changes all the time");
}

/* Returns the first line of what the worker wrote to its standard error. */
static struct koda_span last_words(const struct koda_command *command)
{
	struct koda_span words = koda_command_output(command, 2);
	const char *end = words.len ? memchr(words.ptr, '\n', words.len) : NULL;

	if (end)
		words.len = (size_t)(end - words.ptr);
	if (words.len > 160)
		words.len = 160;
	return words;
}

int koda_fs_worker_end(struct koda_command *command, struct koda_error *err)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error why = { .code = KODA_OK };
	struct koda_span words;
	int r = koda_command_wait_for(command, END_MS, &outcome, &why);

	if (r == KODA_E_TIMEOUT) {
		koda_command_kill(command);
		r = koda_command_wait(command, &outcome, &why);
	}
	words = last_words(command);
	if (r < 0) {
		if (err)
			*err = why;
	} else if (outcome.end == KODA_END_SIGNAL) {
		r = koda_fail(err, KODA_E_CHILD, 0, "the file worker was ended by signal %d%s%.*s",
			      outcome.signal, words.len ? ": " : "", (int)words.len,
			      words.len ? words.ptr : "");
	} else if (outcome.end == KODA_END_EXITED) {
		r = koda_fail(err, KODA_E_CHILD, 0,
			      "the file worker has ended with status %d%s%.*s", outcome.code,
			      words.len ? ": " : "", (int)words.len, words.len ? words.ptr : "");
	} else {
		r = koda_fail(err, KODA_E_CHILD, outcome.sys_errno,
			      "the file worker could not be executed");
	}
	koda_command_free(command);
	return r;
}
