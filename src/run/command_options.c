/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/sized.h"
#include "run/command.h"

int koda_command_options_take(struct koda_command_options *known,
			      const struct koda_command_options *given, struct koda_error *err)
{
	return koda_sized_take(known, sizeof(*known),
			       offsetof(struct koda_command_options, descriptors), given,
			       "koda_command_options", err);
}

int koda_command_options_check(const struct koda_command_options *options, struct koda_error *err)
{
	int r = koda_streams_check(options, err);

	if (r == KODA_OK && options->shell && options->argv)
		r = koda_fail_at(err, KODA_E_INVALID, 0, "argv", "excludes shell");
	if (r == KODA_OK && options->id && strlen(options->id) > KODA_COMMAND_ID_MAX)
		r = koda_fail_at(err, KODA_E_INVALID, 0, "id", "is longer than %d bytes",
				 KODA_COMMAND_ID_MAX);
	return r;
}
