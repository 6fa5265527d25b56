/* SPDX-License-Identifier: MIT */
/* One run with a fault in it, and whether its outcome is one of those that may be. */
#ifndef KODA_FAULT_JUDGE_H
#define KODA_FAULT_JUDGE_H

#include "trace.h"

#define JUDGE_TEXT_MAX 65536

struct judge {
	const char *koda;
	const char *base;
	const char *backend; /* as --backend has it */
	enum trace_shape shape;
	char answers[JUDGE_TEXT_MAX]; /* of the probe, without a fault */
	char listing[JUDGE_TEXT_MAX]; /* of the project, before */
	char mounts[JUDGE_TEXT_MAX];
	char got[JUDGE_TEXT_MAX];  /* what the probe answered in the last run */
	char said[JUDGE_TEXT_MAX]; /* what the last run said on standard error */
};

bool judge_open(struct judge *judge, const char *koda, const char *base, const char *backend);

/* The answers and calls of a run without a fault; false if it is not as it should be. */
bool judge_learn(struct judge *judge, struct trace_result *ret_plain);

bool judge_run(struct judge *judge, const struct trace_fault *fault,
	       struct trace_result *ret_result);

/* NULL if all is well; else what is wrong. */
const char *judge_outcome(struct judge *judge, const struct trace_fault *fault,
			  const struct trace_result *result);

#endif
