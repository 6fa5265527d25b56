/* SPDX-License-Identifier: MIT */
/* T-85. Descriptors that the host passes to a command besides its standard streams. */
#ifndef KODA_RUN_STREAM_PASSED_FDS_H
#define KODA_RUN_STREAM_PASSED_FDS_H

#include "base/macros.h"
#include "wire/passed_fds.h"

#include <koda/command.h>

/* Duplicates of the caller's descriptors: the open file that was checked is the one that is passed,
 * even if another thread closes the caller's number meanwhile. */
struct koda_passed_fds_offer {
	struct koda_descriptor list[KODA_PASSED_FDS_MAX];
	size_t count;
};

#define KODA_PASSED_FDS_OFFER_INIT                                                                 \
	{                                                                                          \
		.count = 0                                                                         \
	}

/* Returns the numbers that the command finds them at. Fails: INVALID, LIMIT. */
KODA_CHECK int koda_passed_fds_offer_numbers(const struct koda_command_options *options,
					     struct koda_passed_fds *ret_passed,
					     struct koda_error *err);
/* Duplicates and checks the descriptors of options. offer must be KODA_PASSED_FDS_OFFER_INIT.
 * Fails: as koda_passed_fds_offer_numbers; DENIED for a file that may not be passed, SYS. */
KODA_CHECK int koda_passed_fds_offer_take(struct koda_passed_fds_offer *offer,
					  const struct koda_command_options *options,
					  struct koda_error *err);
void koda_passed_fds_offer_clear(struct koda_passed_fds_offer *offer);
#define koda_auto_passed_fds_offer __attribute__((cleanup(koda_passed_fds_offer_clear)))

/* Sends the descriptors of options, if there are any, to the launcher. Fails: SYS. */
KODA_CHECK int koda_passed_fds_offer_send(const struct koda_command_options *options, int socket,
					  struct koda_error *err);

#endif
