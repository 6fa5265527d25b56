/* SPDX-License-Identifier: MIT */
/* Runs system-call filters as the kernel would, so that one of another architecture can be tried.
 */
#ifndef KODA_TEST_BPF_H
#define KODA_TEST_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* An action that no filter has: the program is not one that the kernel would take. */
#define KODA_BPF_BROKEN 0x12345678U

static inline bool koda_bpf_is_taken(const struct sock_filter *i, unsigned int value)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return value == i->k;
	case BPF_JGT:
		return value > i->k;
	case BPF_JGE:
		return value >= i->k;
	default:
		return (value & i->k) != 0;
	}
}

/* Returns the action for a call. The instructions are those that filters of this project have. */
static inline unsigned int koda_bpf_run(const struct sock_filter *program, size_t count,
					const struct seccomp_data *data)
{
	unsigned int value = 0;

	if (count > BPF_MAXINSNS)
		return KODA_BPF_BROKEN;
	for (size_t at = 0; at < count; at++) {
		const struct sock_filter *i = &program[at];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k % sizeof(value) != 0 || i->k > sizeof(*data) - sizeof(value))
				return KODA_BPF_BROKEN;
			memcpy(&value, (const char *)data + i->k, sizeof(value));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			value &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			at += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			at += koda_bpf_is_taken(i, value) ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return KODA_BPF_BROKEN;
		}
	}
	return KODA_BPF_BROKEN;
}

#endif
