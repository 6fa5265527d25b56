/* SPDX-License-Identifier: MIT */
/* The sections of a profile that name no path of the policy. */
#ifndef KODA_PLAN_SEATBELT_BASE_H
#define KODA_PLAN_SEATBELT_BASE_H

#include "plan/seatbelt.h"
#include "plan/seatbelt_writer.h"

/* What a rule about reading, and a rule about writing, is about. */
#define KODA_SEATBELT_READ  "file-read* file-map-executable process-exec*"
#define KODA_SEATBELT_WRITE "file-write*"

/* Writes what every profile begins with: all is denied; files can be read, some devices written. */
void koda_seatbelt_base(struct koda_seatbelt_writer *w);
/* Writes processes, services and what programs may ask the kernel. */
void koda_seatbelt_services(struct koda_seatbelt_writer *w, bool trust_service);
/* Writes the programs that are not executed, wherever reading is allowed. */
void koda_seatbelt_go_betweens(struct koda_seatbelt_writer *w);
/* Writes the network. */
void koda_seatbelt_network(struct koda_seatbelt_writer *w, const struct koda_seatbelt *seatbelt,
			   bool binding);

#endif
