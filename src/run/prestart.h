/* SPDX-License-Identifier: MIT */
/* A launcher that was started before there is a sandbox for it. */
#ifndef KODA_RUN_PRESTART_H
#define KODA_RUN_PRESTART_H

#include "run/backend/backend.h"

struct koda_prestart {
	struct koda_launcher launcher; /* has no backend once a sandbox has taken it */
};

/* Moves the launcher out. Returns KODA_LAUNCHER_INIT for NULL. */
struct koda_launcher koda_prestart_take(struct koda_prestart *prestart);

#endif
