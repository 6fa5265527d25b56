/* SPDX-License-Identifier: MIT */
#include "run/command.h"
#include "run/sized.h"

int koda_command_options_take(struct koda_command_options *known,
			      const struct koda_command_options *given, struct koda_error *err)
{
	/* The options of the first release ended before descriptors. */
	return koda_sized_take(known, sizeof(*known),
			       offsetof(struct koda_command_options, descriptors), given,
			       "koda_command_options", err);
}
