/* SPDX-License-Identifier: MIT */
/* Events: the time that they carry. <koda/event.h> declares the rest of event.c. */
#ifndef KODA_RUN_EVENT_H
#define KODA_RUN_EVENT_H

#include "base/macros.h"

#include <koda/event.h>

/* Returns seconds since the epoch. */
double koda_event_now(void);

#endif
