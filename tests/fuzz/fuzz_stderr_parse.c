/* SPDX-License-Identifier: MIT */
/*
 * T-105. Any text as a command's error messages. Records are bounded, every target is an absolute
 * path that is in the text, and no target can forge the block.
 */
#include "target.h"

#include "base/macros.h"
#include "run/stream/violation.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_violation_list struct koda_violation_list *list = NULL;
	koda_auto_free char *block = NULL;
	size_t lines = 0;
	size_t count;

	CHECK(koda_stderr_parse((const char *)data, size, "x", &list, NULL) == KODA_OK);
	count = koda_violation_list_count(list);
	CHECK(count <= KODA_STDERR_VIOLATIONS_MAX);
	CHECK(count == KODA_STDERR_VIOLATIONS_MAX || koda_violation_list_dropped(list) == 0);
	for (size_t i = 0; i < count; i++) {
		const char *target = koda_violation_list_get(list, i)->target;

		CHECK(!target || (target[0] == '/' && target[1] != '\0' &&
				  memmem(data, size, target, strlen(target))));
	}
	CHECK(koda_violation_list_render(list, &block, NULL) == KODA_OK);
	for (const char *at = block; *at; at++)
		lines += *at == '\n';
	CHECK(lines == (count ? count + 1 : 0));
	return 0;
}
