/* SPDX-License-Identifier: MIT */
/*
 * T-48. The limits that the kernel holds without a sandbox. They come as one argument,
 * RESOURCE:SOFT:HARD and a comma each, and are read back: a limit that did not take is a
 * reason not to run.
 */
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The threads of this user. The kernel counts them all, so the command's come on top. */
static bool count_threads(rlim_t *ret_count)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	*ret_count = 0;
	if (!dir)
		return false;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread here */
	while ((entry = readdir(dir))) {
		char path[64];
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "%.20s/task", entry->d_name);
		/* A directory's links are its subdirectories and two more. */
		if (fstatat(dirfd(dir), path, &st, 0) == 0 && st.st_uid == getuid())
			*ret_count += st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	}
	(void)closedir(dir);
	return true;
}

static rlim_t lesser(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

static bool set(int resource, struct rlimit want)
{
	struct rlimit now;
	rlim_t others = 0;

	if (resource == RLIMIT_NPROC && !count_threads(&others))
		return false;
	want.rlim_cur += others;
	want.rlim_max += others;
	if (getrlimit(resource, &now) < 0)
		return false;
	/* A lower limit of the host stays. */
	want.rlim_max = lesser(want.rlim_max, now.rlim_max);
	want.rlim_cur = lesser(want.rlim_cur, want.rlim_max);
	if (setrlimit(resource, &want) < 0 || getrlimit(resource, &now) < 0)
		return false;
	errno = ENOTSUP;
	return now.rlim_cur == want.rlim_cur && now.rlim_max == want.rlim_max;
}

/* A number, and what ends it. */
static bool take(const char **at, char end, unsigned long long *ret_number)
{
	char *rest;

	errno = 0;
	*ret_number = strtoull(*at, &rest, 10);
	if (rest == *at || *rest != end || errno != 0) {
		errno = EINVAL;
		return false;
	}
	*at = rest + 1;
	return true;
}

bool bare_limits_apply(const char *text)
{
	while (*text) {
		unsigned long long resource;
		unsigned long long soft;
		unsigned long long hard;

		if (!take(&text, ':', &resource) || !take(&text, ':', &soft) ||
		    !take(&text, ',', &hard) ||
		    !set((int)resource, (struct rlimit){ .rlim_cur = soft, .rlim_max = hard }))
			return false;
	}
	return true;
}
