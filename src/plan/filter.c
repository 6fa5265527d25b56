/* SPDX-License-Identifier: MIT */
#include "plan/filter.h"

#include <koda/sandbox.h>
#include <linux/filter.h>

#include "plan/filter_program.h"

struct koda_span koda_filter_program(void)
{
	return (struct koda_span){ (const char *)filter_program, sizeof(filter_program) };
}

const char *koda_filter_listing(void)
{
	return filter_listing;
}
