/* SPDX-License-Identifier: MIT */
/* T-32, T-99. The journal of placeholders: journal.h says what it is, handover.c when it is
 * written. */
#include "guardian/journal.h"

#include "guardian/clock.h"
#include "guardian/state.h"
#include "plan.h"
#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* A longer journal is not added to. */
#define BYTES_MAX ((size_t)1 << 20)

/* Guardians lock it for a moment only. */
#define LOCK_WAIT_MS 2
#define LOCK_TRIES   500
#define OPEN_TRIES   8

/* Files that one walk examines. */
#define WALK_MAX 256

/* First byte of a record's first text. */
#define RECORD_NODE 'n' /* KODA_OP_PLACEHOLDER */
#define RECORD_FILE 'f' /* KODA_OP_PLACEHOLDER_FILE; its contents follow */
/* its pid and start time follow; the path is "/" */
#define RECORD_PROCESS 'p'

static const char *journals_path; /* borrowed from the plan; NULL: there is none */
static uint64_t until_ms = UINT64_MAX;

void stage2_journal_use(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_JOURNAL)
			journals_path = op.text1.ptr;
}

void stage2_journal_until(uint64_t ms)
{
	until_ms = ms;
}

bool stage2_journal_name(int dir, char ret_name[STAGE2_JOURNAL_NAME])
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	(void)snprintf(ret_name, STAGE2_JOURNAL_NAME, "%llx-%llx", (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	return true;
}

static int open_store(bool make)
{
	int fd;

	if (!journals_path)
		return -1;
	fd = make ? stage2_state_open(journals_path)
		  : sys_openat2(AT_FDCWD, journals_path, O_RDONLY | O_DIRECTORY,
				RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || stage2_state_is_private(fd))
		return fd;
	(void)close(fd);
	return -1;
}

bool stage2_journal_exists(bool make)
{
	int fd = open_store(make);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static bool lock(int fd)
{
	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || tries == LOCK_TRIES ||
		    stage2_clock_now() >= until_ms)
			return false;
		(void)poll(NULL, 0, LOCK_WAIT_MS);
	}
	return true;
}

/* Returns the offset after the record; 0 if the record is not whole. */
static size_t record_end(const struct stage2_journal *journal, size_t at)
{
	for (int texts = 0; texts < 2; texts++) {
		const char *end = memchr(journal->bytes + at, '\0', journal->len - at);

		if (!end)
			return 0;
		at = (size_t)(end - journal->bytes) + 1;
	}
	return at;
}

/* Reads whole records and cuts the file after them: a guardian that was killed while writing has
 * left a part of one. */
static bool read_all(struct stage2_journal *journal, size_t size)
{
	size_t whole = 0;
	size_t end;
	ssize_t n;

	journal->len = 0;
	journal->bytes = malloc(size ? size : 1);
	if (!journal->bytes)
		return false;
	while (journal->len < size && (n = pread(journal->fd, journal->bytes + journal->len,
						 size - journal->len, (off_t)journal->len)) > 0)
		journal->len += (size_t)n;
	while ((end = record_end(journal, whole)) > 0)
		whole = end;
	journal->len = whole;
	return whole == size || ftruncate(journal->fd, (off_t)whole) == 0;
}

/* Opens and locks the file that has the name. One that was removed after open (st_nlink 0) is
 * opened again. */
static bool open_current(struct stage2_journal *journal, int flags)
{
	struct stat st;

	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		journal->fd = openat(
			journal->store, journal->name,
			O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
		if (journal->fd < 0)
			return false;
		if (!lock(journal->fd) || fstat(journal->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		    (size_t)st.st_size > BYTES_MAX)
			break;
		if (st.st_nlink > 0)
			return read_all(journal, (size_t)st.st_size);
		(void)close(journal->fd);
		journal->fd = -1;
	}
	return false;
}

bool stage2_journal_open(struct stage2_journal *journal, int dir, const char *name, bool make)
{
	*journal = (struct stage2_journal){ .fd = -1, .store = open_store(make) };
	if (name)
		(void)snprintf(journal->name, sizeof(journal->name), "%s", name);
	if (journal->store >= 0 && (name || stage2_journal_name(dir, journal->name)) &&
	    open_current(journal, make ? O_CREAT : 0))
		return true;
	stage2_journal_close(journal);
	return false;
}

void stage2_journal_close(struct stage2_journal *journal)
{
	if (journal->fd >= 0)
		(void)close(journal->fd);
	if (journal->store >= 0)
		(void)close(journal->store);
	free(journal->bytes);
	*journal = (struct stage2_journal){ .fd = -1, .store = -1 };
}

void stage2_journal_remove(struct stage2_journal *journal)
{
	(void)unlinkat(journal->store, journal->name, 0);
	stage2_journal_close(journal);
}

static bool has_record(const struct stage2_journal *journal, const char *record, size_t len)
{
	for (size_t at = 0; at < journal->len;) {
		size_t end = record_end(journal, at);

		if (end - at == len && memcmp(journal->bytes + at, record, len) == 0)
			return true;
		at = end;
	}
	return false;
}

/* Appends a record in one piece, or not at all. */
static bool append(struct stage2_journal *journal, const char *record, size_t len)
{
	char *bytes;
	struct stat st;

	if (has_record(journal, record, len))
		return true;
	bytes = journal->len + len > BYTES_MAX ? NULL : realloc(journal->bytes, journal->len + len);
	if (!bytes)
		return false;
	journal->bytes = bytes;
	if (fstat(journal->fd, &st) < 0)
		return false;
	if (write(journal->fd, record, len) != (ssize_t)len) {
		(void)!ftruncate(journal->fd, st.st_size);
		return false;
	}
	memcpy(bytes + journal->len, record, len);
	journal->len += len;
	return true;
}

/* A path is shorter than a page, and contents are a few bytes. */
#define RECORD_MAX (4096 + 64)

bool stage2_journal_add(struct stage2_journal *journal, const struct koda_op *op)
{
	const size_t contents = op->text2.len;
	const size_t len = 1 + contents + 1 + op->text1.len + 1;
	char record[RECORD_MAX];

	if (len > sizeof(record) || memchr(op->text2.ptr, '\0', contents))
		return false;
	record[0] = op->kind == KODA_OP_PLACEHOLDER ? RECORD_NODE : RECORD_FILE;
	memcpy(record + 1, op->text2.ptr, contents + 1);
	memcpy(record + 1 + contents + 1, op->text1.ptr, op->text1.len + 1);
	return append(journal, record, len);
}

/* Finds the next record that lists a placeholder. */
bool stage2_journal_next(const struct stage2_journal *journal, size_t *at, struct koda_op *ret_op)
{
	while (*at < journal->len) {
		const char *kind = journal->bytes + *at;
		const char *path = kind + strlen(kind) + 1;
		const char *last = strrchr(path, '/');

		*at = record_end(journal, *at);
		if ((kind[0] != RECORD_NODE && kind[0] != RECORD_FILE) || path[0] != '/' ||
		    !last[1])
			continue;
		*ret_op =
			(struct koda_op){ .kind = kind[0] == RECORD_NODE ? KODA_OP_PLACEHOLDER
									 : KODA_OP_PLACEHOLDER_FILE,
					  .text1 = { path, strlen(path) },
					  .text2 = { kind + 1, strlen(kind + 1) } };
		return true;
	}
	return false;
}

/* Returns when a process was started, in clock ticks since boot; 0 if it has ended. */
static unsigned long long start_of(long pid)
{
	char path[64];
	char text[1024];
	const char *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The second field, the name, may contain anything; the third is the state. */
	at = strrchr(text, ')');
	if (!at || !at[1] || at[2] == 'Z' || at[2] == 'X')
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

bool stage2_journal_add_process(struct stage2_journal *journal, pid_t pid)
{
	unsigned long long start = start_of(pid);
	char record[64];
	int len;

	if (start == 0)
		return true; /* a zombie has ended */
	len = snprintf(record, sizeof(record), "%c%d %llu", RECORD_PROCESS, (int)pid, start);
	record[len + 1] = '/';
	record[len + 2] = '\0';
	return append(journal, record, (size_t)len + 3);
}

bool stage2_journal_is_blocked(const struct stage2_journal *journal)
{
	for (size_t at = 0; at < journal->len; at = record_end(journal, at)) {
		const char *kind = journal->bytes + at;
		char *end;
		long pid;

		if (kind[0] != RECORD_PROCESS)
			continue;
		pid = strtol(kind + 1, &end, 10);
		if (pid > 0 && start_of(pid) == strtoull(end, NULL, 10) && *end)
			return true;
	}
	return false;
}

void stage2_journal_walk(bool (*each)(const char *name))
{
	int fd = open_store(false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	for (int i = 0; i < WALK_MAX && dir && (entry = readdir(dir)); i++)
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < STAGE2_JOURNAL_NAME &&
		    !each(entry->d_name))
			break;
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
}

bool stage2_journal_is_recent(const struct stage2_journal *journal, long seconds)
{
	struct stat st;

	return fstat(journal->fd, &st) == 0 && st.st_mtime >= time(NULL) - seconds;
}
