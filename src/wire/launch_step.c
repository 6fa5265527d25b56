/* SPDX-License-Identifier: MIT */
#include "wire/launch_step.h"

static const struct {
	const char *text;
	enum koda_launch_meaning meaning;
} steps[KODA_LAUNCH_STEP_COUNT] = { [KODA_LAUNCH_NONE] = { "", KODA_LAUNCH_MEANS_UNRELATED },
#define KODA_LAUNCH_ROW(name, text, meaning)                                                       \
	[KODA_LAUNCH_##name] = { text, KODA_LAUNCH_MEANS_##meaning },
				    KODA_LAUNCH_STEPS(KODA_LAUNCH_ROW)
#undef KODA_LAUNCH_ROW
};

const char *koda_launch_step_text(uint32_t step)
{
	return step < KODA_LAUNCH_STEP_COUNT ? steps[step].text : "";
}

enum koda_launch_meaning koda_launch_step_meaning(uint32_t step)
{
	return step < KODA_LAUNCH_STEP_COUNT ? steps[step].meaning : KODA_LAUNCH_MEANS_UNRELATED;
}
