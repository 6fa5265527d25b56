/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/parse.h"

#include <errno.h>
#include <koda/policy.h>
#include <limits.h>
#include <unistd.h>

#define FD_FOLDER "/dev/fd/"

int cli_input_read(int fd, struct koda_buf *text, struct koda_error *err)
{
	int r = koda_fd_read_all(fd, text, err);

	if (r == KODA_E_SYS && err->sys_errno == EBADF)
		cli_error_advise(err, "open it for reading, as 3< policy.json does for 3");
	return r;
}

int cli_input_decode(const struct koda_buf *text, const char *option, const char *arg,
		     struct koda_policy **ret_policy, struct koda_error *err)
{
	int r = koda_policy_parse(text->ptr, text->len, ret_policy, err);

	if (r < 0)
		cli_error_place(err, "%s%s%.80s", option, arg ? " " : "", arg ? arg : "");
	return r;
}

static int load(int fd, const char *place, struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)KODA_POLICY_TEXT_MAX);
	int r = cli_input_read(fd, &text, err);

	if (r == KODA_OK)
		return cli_input_decode(&text, place, NULL, ret_policy, err);
	cli_error_place(err, "%s", place);
	return r;
}

int cli_input_load(const char *path, struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	uint64_t number;
	int r;

	if (strcmp(path, "-") == 0)
		return load(STDIN_FILENO, "standard input", ret_policy, err);
	if (strncmp(path, FD_FOLDER, strlen(FD_FOLDER)) == 0 &&
	    koda_parse_u64(path + strlen(FD_FOLDER), INT_MAX, &number, NULL) == KODA_OK)
		return load((int)number, path, ret_policy, err);
	r = koda_fd_open_regular(path, &fd, err);
	return r < 0 ? r : load(fd, path, ret_policy, err);
}
