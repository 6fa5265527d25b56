/* SPDX-License-Identifier: MIT */
/* A seccomp program that is a list of calls: for each call the instructions that decide about it.
 * Calls that are not in the list are allowed. */
#ifndef KODA_PLAN_CALL_FILTER_H
#define KODA_PLAN_CALL_FILTER_H

#include "base/buf.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/* Instructions. */
#define REFUSE(error) (SECCOMP_RET_ERRNO | (unsigned int)(error))
#define LOAD(field)                                                                                \
	{                                                                                          \
		BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned int)offsetof(struct seccomp_data, field) \
	}
/* The low half of an argument: the kernel takes these as int. */
#define ARG(n) LOAD(args[n])
#define IS(value, yes, no)                                                                         \
	{                                                                                          \
		BPF_JMP | BPF_JEQ | BPF_K, yes, no, (unsigned int)(value)                          \
	}
#define HAS(bits, yes, no)                                                                         \
	{                                                                                          \
		BPF_JMP | BPF_JSET | BPF_K, yes, no, (unsigned int)(bits)                          \
	}
#define MASK(bits)                                                                                 \
	{                                                                                          \
		BPF_ALU | BPF_AND | BPF_K, 0, 0, (unsigned int)(bits)                              \
	}
#define ANSWER(action)                                                                             \
	{                                                                                          \
		BPF_RET | BPF_K, 0, 0, (action)                                                    \
	}
#define ALLOW      SECCOMP_RET_ALLOW
#define LET(value) IS(value, 0, 1), ANSWER(ALLOW)

/* What is decided about one call. The instructions start with its number in the accumulator, and
 * end with an action. */
struct koda_call_filter_word {
	int number; /* CALL_..., -1 on architectures that lack it */
	const struct sock_filter *part;
	size_t count;
};

/* Sorts the words and appends the program. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_call_filter_program(struct koda_call_filter_word *words, size_t count,
					struct koda_buf *out);

#endif
