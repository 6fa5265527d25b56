/* SPDX-License-Identifier: MIT */
#include "run/prestart.h"

#include "base/error.h"

int koda_prestart(enum koda_backend_kind kind, struct koda_prestart **ret_prestart,
		  struct koda_error *err)
{
	const struct koda_backend *backend =
		koda_backend_of(kind == KODA_BACKEND_AUTO ? KODA_BACKEND_NATIVE : kind);
	struct koda_prestart *prestart;
	int r;

	if (!backend || !backend->prepare) {
		*ret_prestart = NULL;
		return KODA_OK;
	}
	prestart = calloc(1, sizeof(*prestart));
	if (!prestart)
		return koda_fail_nomem(err);
	prestart->launcher = (struct koda_launcher)KODA_LAUNCHER_INIT;
	r = koda_launcher_prepare(&prestart->launcher, backend, err);
	if (r < 0) {
		free(prestart);
		return r;
	}
	*ret_prestart = prestart;
	return KODA_OK;
}

struct koda_launcher koda_prestart_take(struct koda_prestart *prestart)
{
	struct koda_launcher launcher = KODA_LAUNCHER_INIT;

	if (!prestart)
		return launcher;
	launcher = prestart->launcher;
	prestart->launcher = (struct koda_launcher)KODA_LAUNCHER_INIT;
	return launcher;
}

void koda_prestart_free(struct koda_prestart *prestart)
{
	if (!prestart)
		return;
	koda_launcher_clear(&prestart->launcher);
	free(prestart);
}
