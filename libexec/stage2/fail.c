/* SPDX-License-Identifier: MIT */
#include "fail.h"

#include "init/inside.h"
#include "report.h"
#include "wire/report.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static bool own_flag;
bool *stage2_fail_flag = &own_flag;
static bool is_inside; /* bubblewrap is between this process and the guardian */
static pid_t guardian; /* the process that tidies up */
static void (*tidy_guardian)(void);

void stage2_fail_set_tidy(void (*tidy)(void))
{
	guardian = getpid();
	tidy_guardian = tidy;
}

void stage2_fail_set_inside(void)
{
	is_inside = true;
}

/* Comes before the report: the runner ends everything once it has read that. */
static void mark_failure(void)
{
	const unsigned char word = INSIDE_FAILED;

	*stage2_fail_flag = true;
	if (is_inside)
		(void)!send(KODA_STAGE2_LIFE_FD, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

_Noreturn void stage2_fail(enum koda_launch_step step, const char *path, int sys_errno)
{
	mark_failure();
	(void)stage2_report_fail(KODA_REPORT_SETUP_FAILED, step, path, sys_errno);
	if (getpid() == guardian) {
		guardian = 0; /* tidying up may fail, too */
		tidy_guardian();
	}
	_exit(KODA_STAGE2_FAILED);
}

_Noreturn void stage2_fail_silently(void)
{
	mark_failure();
	_exit(KODA_STAGE2_FAILED);
}

void stage2_fail_share(void)
{
	void *map = mmap(NULL, sizeof(*stage2_fail_flag), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		stage2_fail(KODA_LAUNCH_SHARE_MEMORY, "", errno);
	stage2_fail_flag = map;
}
