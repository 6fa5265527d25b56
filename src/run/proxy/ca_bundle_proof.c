/* SPDX-License-Identifier: MIT */
/* T-76. */
#include "run/proxy/ca_bundle_proof.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/policy.h"
#include "run/project/ca_bundle.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PROOF_NS   10000000000ULL
#define REMOVAL_NS 1000000000ULL

struct proof {
	bool added;
	bool refused;
	char why[sizeof(((struct koda_egress_message *)0)->text)];
};

static void take_message(void *ctx, const struct koda_egress_message *message)
{
	struct proof *proof = ctx;

	proof->added = proof->added || message->kind == KODA_EGRESS_ADDED;
	if (message->kind != KODA_EGRESS_REFUSED)
		return;
	proof->refused = true;
	memcpy(proof->why, message->text, sizeof(proof->why));
}

/* Makes a policy with this CA bundle that allows no host. */
static int make_policy(struct koda_span bundle, struct koda_policy **ret_policy,
		       struct koda_error *err)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	int r = koda_policy_new(&policy, err);

	if (r == KODA_OK)
		r = koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, err);
	if (r == KODA_OK)
		r = koda_policy_set_ca_bundle(policy, bundle.ptr, bundle.len, err);
	if (r == KODA_OK)
		*ret_policy = KODA_TAKE(policy);
	return r;
}

/* Binds to an abstract name that the kernel chooses. */
static int open_listener(int *ret_fd, struct koda_error *err)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	koda_auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) < 0 ||
	    listen(fd, 1) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot listen");
	*ret_fd = koda_take_fd(&fd);
	return KODA_OK;
}

/* Waits until the proxy has accepted or refused the bundle. */
static int await(struct koda_listener *listener, const struct proof *proof, struct koda_error *err)
{
	uint64_t deadline = koda_clock_now() + PROOF_NS;

	koda_listener_start(listener);
	while (!proof->added && !proof->refused) {
		struct pollfd polled[KODA_LISTENER_POLLED];
		size_t count = koda_listener_wants(listener, polled);

		if (koda_listener_state(listener) != KODA_LISTENER_SERVED ||
		    koda_clock_now() >= deadline)
			return koda_fail(err, KODA_E_CHILD, 0, "the proxy does not start");
		(void)poll(polled, count, 100);
		koda_listener_step(listener);
	}
	return KODA_OK;
}

static int prove(struct koda_proxy *proxy, struct koda_span bundle, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_listener *listener = NULL;
	struct proof proof = { 0 };
	int fd = -1;
	int r = make_policy(bundle, &policy, err);

	if (r == KODA_OK)
		r = open_listener(&fd, err);
	if (r == KODA_OK)
		r = koda_listener_add(proxy, &(struct koda_policy_blob){ .policy = policy },
				      koda_take_fd(&fd), take_message, &proof, &listener, err);
	if (r == KODA_OK)
		r = await(listener, &proof, err);
	koda_listener_remove(listener, koda_clock_now() + REMOVAL_NS);
	if (r == KODA_OK && proof.refused)
		r = koda_fail_at(err, KODA_E_POLICY, 0, bundle.ptr, "the authority of net.mitm: %s",
				 proof.why);
	return r;
}

int koda_ca_bundle_prove(struct koda_net_rules *net, const char *const *env, struct koda_error *err)
{
	struct koda_span bundle;
	int r = KODA_OK;

	(void)pthread_mutex_lock(&net->lock);
	bundle = koda_policy_ca_bundle(net->policy);
	if (bundle.ptr && koda_ca_bundle_is_passthrough(net->policy) != net->all_passthrough)
		r = koda_fail_at(err, KODA_E_POLICY, 0, bundle.ptr,
				 "the authority of net.mitm: its key has come or gone since the "
				 "sandbox was opened");
	if (r == KODA_OK && bundle.ptr && !net->all_passthrough && !net->ca_proven) {
		if (!net->proxy)
			r = koda_proxy_open(env, &net->proxy, err);
		if (r == KODA_OK)
			r = prove(net->proxy, bundle, err);
		net->ca_proven = r == KODA_OK;
	}
	(void)pthread_mutex_unlock(&net->lock);
	return r;
}
