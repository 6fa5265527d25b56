/* SPDX-License-Identifier: MIT */
#ifndef KODA_BENCH_PEERS_H
#define KODA_BENCH_PEERS_H

#include <stdint.h>

/* A non-blocking listener on 127.0.0.1. */
int peer_listen(uint16_t *ret_port);
/* Answers each byte with the same byte, and a 'p' with bytes without end. Never returns. */
_Noreturn void peer_origin(int listener);
/* CONNECT to IPv4 literals, and splice: no rules, no checks, no limits. Never returns. */
_Noreturn void peer_relay(int listener);

#endif
