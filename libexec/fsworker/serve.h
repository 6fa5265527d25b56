/* SPDX-License-Identifier: MIT */
/* Serves a client until it is done. */
#ifndef FSWORKER_SERVE_H
#define FSWORKER_SERVE_H

#include "fsworker.h"

/* Returns true if the client has closed the connection or asked for the end, and false if what it
 * sent was no frame or came out of order. */
bool fsworker_serve(struct fsworker *worker);

#endif
