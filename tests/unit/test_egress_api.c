/* SPDX-License-Identifier: MIT */
/* The egress proxy on a host's own listener: what its options must be, start, stop and end. */
#include "koda_test.h"

#include "base/fd.h"

#include <koda/koda.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };

static struct koda_policy *parse(const char *text)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &policy, &err), err);
	return policy;
}

static int open_with(const struct koda_policy *policy, const char *const *passthrough,
		     struct koda_egress **ret_egress, struct koda_error *err)
{
	const struct koda_egress_options options = { .size = sizeof(options),
						     .policy = policy,
						     .host_env = env,
						     .tls_passthrough = passthrough };

	return koda_egress_open(&options, ret_egress, err);
}

static void refuses_options(void **state)
{
	static const char *const no_pattern[] = { "a b", NULL };
	static const char *const pattern[] = { "example.com", NULL };
	struct koda_policy *policy = parse("{}");
	const struct koda_egress_options sizes[] = { { .size = 0, .policy = policy },
						     { .size = 8, .policy = policy } };
	struct koda_egress *egress = NULL;
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(open_with(NULL, NULL, &egress, &err), KODA_E_INVALID);
	assert_int_equal(open_with(policy, no_pattern, &egress, &err), KODA_E_POLICY);
	/* Nothing is terminated, so nothing can be exempt. */
	assert_int_equal(open_with(policy, pattern, &egress, &err), KODA_E_INVALID);
	KODA_EACH(options, sizes)
		assert_int_equal(koda_egress_open(options, &egress, &err), KODA_E_INVALID);
	assert_null(egress);
	koda_egress_close(NULL);
	koda_policy_free(policy);
}

static int listen_anywhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static void needs_one_listener(void **state)
{
	struct koda_policy *policy = parse("{}");
	struct koda_egress *egress = NULL;
	struct koda_error err = { 0 };
	int second;

	(void)state;
	KODA_ASSERT_OK(open_with(policy, NULL, &egress, &err), err);
	koda_policy_free(policy); /* it was copied */
	assert_int_equal(koda_egress_serve(egress, -1, &err), KODA_E_INVALID);
	KODA_ASSERT_OK(koda_egress_listen(egress, listen_anywhere(), &err), err);
	second = listen_anywhere();
	assert_int_equal(koda_egress_listen(egress, second, &err), KODA_E_INVALID);
	assert_int_equal(close(second), -1); /* it was taken over */
	koda_egress_close(egress);
}

static void says_once_that_it_serves(void **state)
{
	struct koda_policy *policy = parse("{}");
	struct koda_egress *egress = NULL;
	struct koda_error err = { 0 };
	int stop[2];

	(void)state;
	assert_int_equal(pipe(stop), 0);
	KODA_ASSERT_OK(open_with(policy, NULL, &egress, &err), err);
	KODA_ASSERT_OK(koda_egress_listen(egress, listen_anywhere(), &err), err);
	assert_int_equal(koda_egress_serve(egress, stop[0], &err), 1);
	assert_int_equal(write(stop[1], "", 1), 1);
	assert_int_equal(koda_egress_serve(egress, stop[0], &err), 0);
	assert_int_equal(koda_egress_serve(egress, stop[0], &err), 0);
	koda_egress_close(egress);
	koda_policy_free(policy);
	koda_fd_close(&stop[0]);
	koda_fd_close(&stop[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_options),
		cmocka_unit_test(needs_one_listener),
		cmocka_unit_test(says_once_that_it_serves),
	};

	return KODA_TEST_RUN(tests);
}
