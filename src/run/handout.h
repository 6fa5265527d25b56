/* SPDX-License-Identifier: MIT */
/* T-85. The descriptors that a host hands to a command besides its streams. */
#ifndef KODA_RUN_HANDOUT_H
#define KODA_RUN_HANDOUT_H

#include "base/macros.h"
#include "wire/descriptor.h"

#include <koda/run.h>

/* Duplicates of the caller's: what has been looked at is what is handed over, whatever another
 * thread does with its number meanwhile. */
struct koda_handout {
	struct koda_descriptor list[KODA_HANDED_MAX];
	size_t count;
};

#define KODA_HANDOUT_INIT                                                                          \
	{                                                                                          \
		.count = 0                                                                         \
	}

/* The numbers that the command finds them at. Fails: INVALID, LIMIT. */
KODA_CHECK int koda_handout_numbers(const struct koda_command_options *options,
				    struct koda_handed *ret_handed, struct koda_error *err);
/* handout must be KODA_HANDOUT_INIT. Fails: as koda_handout_numbers; DENIED for what may not be
 * handed over, SYS. */
KODA_CHECK int koda_handout_take(struct koda_handout *handout,
				 const struct koda_command_options *options,
				 struct koda_error *err);
void koda_handout_clear(struct koda_handout *handout);
#define koda_auto_handout __attribute__((cleanup(koda_handout_clear)))

/* Sends those of options, if there are any, to whoever starts the command. Fails: SYS. */
KODA_CHECK int koda_handout_send(const struct koda_command_options *options, int socket,
				 struct koda_error *err);

#endif
