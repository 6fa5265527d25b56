/* SPDX-License-Identifier: MIT */
#include "run/backend/launcher.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/backend/backend.h"
#include "run/project/remedy.h"
#include "wire/report.h"

#include <errno.h>
#include <sys/socket.h>

int koda_launcher_prepare(struct koda_launcher *launcher, const struct koda_backend *backend,
			  struct koda_error *err)
{
	int r = koda_channels_make(&launcher->channels, err);

	launcher->backend = backend;
	if (r == KODA_OK && backend->prepare)
		r = backend->prepare(launcher, err);
	if (r < 0) {
		koda_remedy_add(err);
		koda_launcher_clear(launcher);
	}
	return r;
}

int koda_launcher_spawn(struct koda_launcher *launcher, const char *path, char *const argv[],
			char *const envp[], const struct koda_fdmap *give, size_t count,
			struct koda_error *err)
{
	int r = koda_proc_spawn(&launcher->proc, path, argv, envp, give, count, err);

	if (r < 0)
		koda_remedy_add_for(err, KODA_FAILURE_START);
	return r;
}

int koda_launcher_launch(struct koda_launcher *launcher, const struct koda_plan *plan,
			 struct koda_error *err)
{
	int r = launcher->backend->launch(launcher, plan, err);

	if (r < 0)
		koda_remedy_add(err);
	return r;
}

int koda_launcher_send_plan(struct koda_launcher *launcher, const struct koda_plan *plan,
			    struct koda_error *err)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	const struct koda_life_plan message = { KODA_LIFE_PLAN, launcher->wall_seconds };
	int r = koda_plan_encode(plan, &bytes, err);

	if (r == KODA_OK)
		r = koda_fd_seal(launcher->plan_fd, bytes.ptr, bytes.len, err);
	koda_fd_close(&launcher->plan_fd);
	/* If the launcher has exited, its report says why. */
	if (r == KODA_OK &&
	    send(launcher->channels.life[0], &message, sizeof(message), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot send the plan");
	return r;
}

void koda_launcher_clear(struct koda_launcher *launcher)
{
	struct koda_exit ignored;

	/* With its lifeline closed, the guardian kills the command and cleans up. */
	koda_channels_close(&launcher->channels);
	koda_fd_close(&launcher->plan_fd);
	koda_fd_close(&launcher->args_fd);
	if (launcher->proc.pid > 0)
		(void)!koda_proc_wait(&launcher->proc, koda_clock_now() + KODA_GUARDIAN_NS,
				      &ignored, NULL);
	koda_proc_kill(&launcher->proc);
}
