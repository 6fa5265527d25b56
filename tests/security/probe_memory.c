/* SPDX-License-Identifier: MIT */
/* Memory that nobody counts, or that nobody comes to count. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

/* Memory that is not even the kernel's to look at. */
static int try_secret(char **arg)
{
	size_t size = (size_t)probe_number(arg[0]) << 10;
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	memset(map, 1, size);
	return 0;
}

/* Pages of a file that cannot be taken back. */
static int try_lock_file(char **arg)
{
	size_t size = (size_t)probe_number(arg[0]) << 10;
	int fd = open("locked", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return map == MAP_FAILED || mlock(map, size) < 0 ? errno : 0;
}

static _Noreturn void spin(volatile const int *go, char *memory, size_t size, time_t seconds)
{
	time_t end = time(NULL) + seconds;

	(void)setsid();
	while (!*go)
		(void)usleep(20000);
	memset(memory, 1, size);
	while (time(NULL) < end)
		;
	_exit(0);
}

/* So many processes, each in a session of its own, take so much and use all processors. */
static int try_starve(char **arg)
{
	size_t count = (size_t)probe_number(arg[0]);
	size_t size = (size_t)probe_number(arg[1]) << 10;
	volatile int *go =
		mmap(NULL, sizeof(*go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *memory = mmap(NULL, count * size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (go == MAP_FAILED || memory == MAP_FAILED)
		return errno;
	for (size_t i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0)
			spin(go, memory + i * size, size, (time_t)probe_number(arg[2]));
	}
	*go = 1;
	while (wait(NULL) > 0)
		;
	return 0;
}

const struct probe_entry probe_memory_acts[] = {
	{ "secret-memory", 1, try_secret },
	{ "lock-file", 1, try_lock_file },
	{ "starve", 3, try_starve },
	{ NULL, 0, NULL },
};
