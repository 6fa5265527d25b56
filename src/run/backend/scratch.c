/* SPDX-License-Identifier: MIT */
#include <koda/env.h>

#include "base/buf.h"
#include "base/error.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

#define PARENT "/tmp"

int koda_scratch_name(char **ret_path, struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(64);
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return koda_fail(err, KODA_E_SYS, errno, "cannot choose a name");
	if (koda_buf_addf(&path, PARENT "/koda-%016llx%016llx", (unsigned long long)random[0],
			  (unsigned long long)random[1]) < 0 ||
	    koda_buf_take(&path, ret_path) < 0)
		return koda_fail_nomem(err);
	return KODA_OK;
}
