/* SPDX-License-Identifier: MIT */
/* Telling what happens. */
#ifndef KODA_RUN_EVENT_H
#define KODA_RUN_EVENT_H

#include "base/macros.h"

#include <koda/event.h>

/* Seconds since the epoch. */
double koda_event_now(void);

#endif
