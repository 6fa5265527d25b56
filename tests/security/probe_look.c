/* SPDX-License-Identifier: MIT */
/* Looking around: each act prints what it finds and "succeeds" if it finds something that must not
 * be there. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors above 2. */
static int find_descriptors(char **arg)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int error = ENOENT;

	(void)arg;
	if (!dir)
		return errno;
	while ((entry = readdir(dir))) {
		long fd = strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd > 2 && fd != dirfd(dir)) {
			(void)printf("%ld\n", fd);
			error = 0;
		}
	}
	(void)closedir(dir);
	return error;
}

static int read_text(const char *path, char *text, size_t size, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int error = n < 0 ? errno : 0;

	if (fd >= 0)
		(void)close(fd);
	if (!error) {
		text[n] = '\0';
		*ret_len = (size_t)n;
	}
	return error;
}

/* A capability in any set of this process, or of its init. */
static int find_capabilities(char **arg)
{
	static const char *const files[] = { "/proc/self/status", "/proc/1/status" };
	static const char *const sets[] = { "\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:",
					    "\nCapAmb:" };
	int found = EPERM;

	(void)arg;
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		char text[8192];
		size_t len;
		int error = read_text(files[f], text, sizeof(text), &len);

		if (error)
			return error;
		for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
			const char *at = strstr(text, sets[i]);

			if (!at || strtoull(at + strlen(sets[i]), NULL, 16) != 0) {
				(void)printf("%s%.28s\n", files[f], at ? at + 1 : sets[i]);
				found = 0;
			}
		}
	}
	return found;
}

/* FIELD VALUE: "succeeds" if /proc/self/status does not say so. */
static int find_status(char **arg)
{
	char text[8192];
	char line[128];
	size_t len;
	int error = read_text("/proc/self/status", text, sizeof(text), &len);

	(void)snprintf(line, sizeof(line), "\n%s:\t%s\n", arg[0], arg[1]);
	return error || !strstr(text, line) ? 0 : EPERM;
}

static bool is_number(const char *name)
{
	return *name && name[strspn(name, "0123456789")] == '\0';
}

/* TEXT in any process's environment or command line. */
static int find_environ(char **arg)
{
	static const char *const files[] = { "environ", "cmdline" };
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int found = ENOENT;

	if (!dir)
		return errno;
	while ((entry = readdir(dir))) {
		for (size_t i = 0; is_number(entry->d_name) && i < 2; i++) {
			char path[300];
			char text[65536];
			size_t len = 0;

			/* Its own command line names what it looks for. */
			if (i == 1 && strtol(entry->d_name, NULL, 10) == getpid())
				continue;
			(void)snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, files[i]);
			if (read_text(path, text, sizeof(text), &len) == 0 &&
			    memmem(text, len, arg[0], strlen(arg[0]))) {
				(void)printf("%s\n", path);
				found = 0;
			}
		}
	}
	(void)closedir(dir);
	return found;
}

/* More processes than NUMBER: those of the host would be many. Prints how many there are. */
static int find_process(char **arg)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int count = 0;

	if (!dir)
		return errno;
	while ((entry = readdir(dir)))
		count += is_number(entry->d_name);
	(void)closedir(dir);
	(void)printf("%d\n", count);
	return count > probe_number(arg[0]) ? 0 : ESRCH;
}

static int walk_found;
static const char *walk_kind;

static int is_writable_file(const char *path, const struct stat *st)
{
	int fd;

	/* Pipes wait, and a socket cannot be opened; neither is a file of the kernel. */
	if (!S_ISREG(st->st_mode))
		return 0;
	fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)close(fd);
	return 1;
}

/* What a minimal /dev has. */
static int is_odd_device(const char *path, const struct stat *st)
{
	static const char *const fine[] = { "/dev/null",    "/dev/zero",    "/dev/full",
					    "/dev/random",  "/dev/urandom", "/dev/tty",
					    "/dev/pts/ptmx" };

	if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode))
		return 0;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (strcmp(path, fine[i]) == 0)
			return 0;
	return 1;
}

static int walk_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	/* Processes have files of their own, about themselves. */
	if (strncmp(path, "/proc/", 6) == 0 &&
	    (path[6] == 's' || path[6] == 't' || is_number(path + 6)) &&
	    (is_number(path + 6) || strcmp(path, "/proc/self") == 0 ||
	     strcmp(path, "/proc/thread-self") == 0))
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F && type != FTW_SL)
		return FTW_CONTINUE;
	if (walk_kind[0] == 'w' ? is_writable_file(path, st) : is_odd_device(path, st)) {
		(void)printf("%s\n", path);
		walk_found++;
	}
	return FTW_CONTINUE;
}

static int walk(const char *kind, const char *dir)
{
	int tries = 0;

	walk_kind = kind;
	walk_found = 0;
	/* On the host directories come and go, which ends a walk in the middle. */
	while (nftw(dir, walk_one, 32, FTW_PHYS | FTW_ACTIONRETVAL) < 0) {
		if (errno != ENOENT || ++tries == 20)
			return errno;
		walk_found = 0;
	}
	return walk_found ? 0 : ENOENT;
}

/* Files below DIR that can be opened for writing. */
static int find_writable(char **arg)
{
	return walk("writable", arg[0]);
}

/* Device nodes below DIR that a minimal /dev does not have. */
static int find_devices(char **arg)
{
	return walk("devices", arg[0]);
}

/* Raises the limit on core dumps; ends by itself, so no dump is made either way. */
static int try_core(char **arg)
{
	struct rlimit limit = { .rlim_cur = 4096, .rlim_max = 4096 };

	(void)arg;
	return setrlimit(RLIMIT_CORE, &limit) < 0 ? errno : 0;
}

/* Prints every limit on one line. */
static int print_limits(char **arg)
{
	(void)arg;
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			(void)printf("%lld/%lld ", (long long)limit.rlim_cur,
				     (long long)limit.rlim_max);
	}
	return 0;
}

const struct probe_entry probe_look_acts[] = {
	{ "find-descriptors", 0, find_descriptors },
	{ "find-capabilities", 0, find_capabilities },
	{ "find-status-not", 2, find_status },
	{ "find-environ", 1, find_environ },
	{ "find-processes", 1, find_process },
	{ "find-writable", 1, find_writable },
	{ "find-devices", 1, find_devices },
	{ "raise-core", 0, try_core },
	{ "limits", 0, print_limits },
	{ NULL, 0, NULL },
};
