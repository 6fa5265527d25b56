/* SPDX-License-Identifier: MIT */
/* T-85. */
#include "run/stream/passed_fds.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

_Static_assert(KODA_DESCRIPTORS_MAX == KODA_PASSED_FDS_MAX &&
		       KODA_DESCRIPTOR_LAST == KODA_PASSED_FDS_LAST &&
		       KODA_PASSED_FDS_MAX <= KODA_FD_PASS_MAX,
	       "what is promised can be carried");

/* "descriptors[2]" */
static int blame(struct koda_error *err, size_t i, int code, int sys_errno, const char *what)
{
	char field[48];

	(void)snprintf(field, sizeof(field), "descriptors[%zu]", i);
	return koda_fail_at(err, code, sys_errno, field, "%s", what);
}

int koda_passed_fds_offer_numbers(const struct koda_command_options *options,
				  struct koda_passed_fds *ret_passed, struct koda_error *err)
{
	struct koda_passed_fds passed = { .count = (uint32_t)options->descriptor_count };

	if (options->descriptor_count > KODA_PASSED_FDS_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, "descriptor_count",
				    "%zu descriptors are more than %d", options->descriptor_count,
				    KODA_PASSED_FDS_MAX);
	if (options->descriptor_count > 0 && !options->descriptors)
		return koda_fail_at(err, KODA_E_INVALID, 0, "descriptors",
				    "is NULL, and descriptor_count is not 0");
	for (size_t i = 0; i < options->descriptor_count; i++) {
		int number = options->descriptors[i].child_fd;

		if (number >= 0 && number < KODA_PASSED_FDS_FIRST)
			return blame(err, i, KODA_E_INVALID, 0,
				     "0 to 2 are the streams: use in, out and err");
		if (number < 0 || number > KODA_PASSED_FDS_LAST)
			return blame(err, i, KODA_E_INVALID, 0,
				     "child_fd is not between 3 and KODA_DESCRIPTOR_LAST");
		for (size_t k = 0; k < i; k++)
			if (passed.numbers[k] == number)
				return blame(err, i, KODA_E_INVALID, 0,
					     "child_fd is the number of another descriptor");
		passed.numbers[i] = number;
	}
	*ret_passed = passed;
	return KODA_OK;
}

int koda_passed_fds_offer_take(struct koda_passed_fds_offer *offer,
			       const struct koda_command_options *options, struct koda_error *err)
{
	struct koda_passed_fds passed = { .count = 0 };
	int r = koda_passed_fds_offer_numbers(options, &passed, err);

	for (size_t i = 0; i < options->descriptor_count && r == KODA_OK; i++) {
		const struct koda_descriptor *from = &options->descriptors[i];
		int own = from->host_fd < 0 ? -1 : fcntl(from->host_fd, F_DUPFD_CLOEXEC, 3);
		const char *refusal;

		if (own < 0 && (from->host_fd < 0 || errno == EBADF))
			return blame(err, i, KODA_E_INVALID, EBADF, "host_fd is not open");
		if (own < 0)
			return blame(err, i, KODA_E_SYS, errno, "host_fd cannot be kept");
		offer->list[offer->count++] =
			(struct koda_descriptor){ .host_fd = own, .child_fd = from->child_fd };
		refusal = koda_passed_fds_refusal(own);
		if (refusal)
			r = blame(err, i, KODA_E_DENIED, 0, refusal);
	}
	return r;
}

void koda_passed_fds_offer_clear(struct koda_passed_fds_offer *offer)
{
	while (offer->count > 0)
		koda_fd_close(&offer->list[--offer->count].host_fd);
}

int koda_passed_fds_offer_send(const struct koda_command_options *options, int socket,
			       struct koda_error *err)
{
	int fds[KODA_PASSED_FDS_MAX];
	struct koda_passed_fds passed = { .count = 0 };
	struct koda_error why = { .code = KODA_OK };
	int r;

	if (options->descriptor_count == 0)
		return KODA_OK;
	r = koda_passed_fds_offer_numbers(options, &passed, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < passed.count; i++)
		fds[i] = options->descriptors[i].host_fd;
	r = koda_fd_send(socket, &passed, sizeof(passed), fds, passed.count, &why);
	/* If the launcher is gone already, its report says why. */
	if (r < 0 && (why.sys_errno == EPIPE || why.sys_errno == ECONNRESET))
		return KODA_OK;
	if (r < 0 && err)
		*err = why;
	return r;
}
