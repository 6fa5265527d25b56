/* SPDX-License-Identifier: MIT */
#include "run/backend.h"

#include "base/fd.h"
#include "run/remedy.h"

int koda_launcher_prepare(struct koda_launcher *launcher, const struct koda_backend *backend,
			  struct koda_error *err)
{
	int r = koda_ends_make(&launcher->ends, err);

	launcher->backend = backend;
	if (r == KODA_OK && backend->prepare)
		r = backend->prepare(launcher, err);
	if (r < 0) {
		koda_remedy_add(err);
		koda_launcher_clear(launcher);
	}
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

void koda_launcher_clear(struct koda_launcher *launcher)
{
	struct koda_exit ignored;

	/* The guardian ends the rest and tidies up; only if it does not is it killed itself. */
	koda_ends_close(&launcher->ends);
	koda_fd_close(&launcher->plan_fd);
	if (launcher->proc.pid > 0)
		(void)!koda_proc_wait(&launcher->proc, koda_clock_now() + KODA_GUARDIAN_NS,
				      &ignored, NULL);
	koda_proc_kill(&launcher->proc);
}
