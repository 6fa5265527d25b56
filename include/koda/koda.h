/* SPDX-License-Identifier: MIT */
/* Everything of libkoda-sandbox. */
#ifndef KODA_KODA_H
#define KODA_KODA_H

#include <koda/clause.h>
#include <koda/command.h>
#include <koda/doctor.h>
#include <koda/egress.h>
#include <koda/env.h>
#include <koda/error.h>
#include <koda/event.h>
#include <koda/event_reader.h>
#include <koda/explain.h>
#include <koda/fs.h>
#include <koda/hint.h>
#include <koda/host.h>
#include <koda/limit.h>
#include <koda/policy.h>
#include <koda/project.h>
#include <koda/rules.h>
#include <koda/sandbox.h>
#include <koda/seatbelt.h>
#include <koda/span.h>
#include <koda/trust.h>
#include <koda/violation.h>

#endif
