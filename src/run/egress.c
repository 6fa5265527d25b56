/* SPDX-License-Identifier: MIT */
/* The egress proxy on a listener of the host's own. */
#include <koda/egress.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/sized.h"
#include "base/strv.h"
#include "run/command_net.h"
#include "run/project/ca_bundle.h"
#include "run/proxy/listener.h"
#include "run/proxy/policy_blob.h"
#include "run/proxy/proxy.h"

#include <errno.h>
#include <stdio.h>

/* How long koda_egress_close waits for the last events. */
#define REMOVAL_NS 500000000ULL

struct koda_egress {
	struct koda_proxy *proxy;       /* a reference */
	struct koda_listener *listener; /* owned; NULL: koda_egress_listen was not called */
	struct koda_policy *policy;     /* owned */
	struct koda_strv passthrough;   /* owned */
	bool opaque;                    /* the policy's CA bundle has no key */
	bool is_served;                 /* the proxy has said that it accepts connections */
	bool is_announced;              /* koda_egress_serve has returned 1 for is_served */
	struct koda_error refused;      /* code KODA_OK: the proxy has refused nothing */
	koda_event_fn *on_event;        /* may be NULL */
	void *event_ctx;
};

static int check_passthrough(const struct koda_egress *egress, struct koda_error *err)
{
	int r = koda_policy_blob_check(&egress->passthrough, err);

	/* The caller believes that TLS of all other hosts is terminated. */
	if (r == KODA_OK && egress->passthrough.len > 0 &&
	    (!koda_policy_ca_bundle(egress->policy).ptr || egress->opaque))
		r = koda_fail(err, KODA_E_INVALID, 0,
			      "the policy has no net.mitm with a key, so TLS is opaque anyway");
	return r;
}

static int fill(struct koda_egress *egress, const struct koda_egress_options *options,
		struct koda_error *err)
{
	int r;

	if (!options->policy)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no policy");
	r = koda_policy_copy(options->policy, &egress->policy, err);
	for (const char *const *at = options->tls_passthrough; at && *at && r == KODA_OK; at++)
		r = koda_strv_add(&egress->passthrough, *at, err);
	if (r < 0)
		return r;
	egress->on_event = options->on_event;
	egress->event_ctx = options->event_ctx;
	egress->opaque = koda_ca_bundle_is_passthrough(egress->policy);
	r = check_passthrough(egress, err);
	return r < 0 ? r : koda_proxy_open(options->host_env, &egress->proxy, err);
}

int koda_egress_open(const struct koda_egress_options *options, struct koda_egress **ret_egress,
		     struct koda_error *err)
{
	struct koda_egress *egress = calloc(1, sizeof(*egress));
	struct koda_egress_options known;
	int r = KODA_OK;

	if (!egress)
		return koda_fail_nomem(err);
	/* Every member was in the first release. */
	r = koda_sized_take(&known, sizeof(known), sizeof(known), options, "koda_egress_options",
			    err);
	if (r == KODA_OK)
		r = fill(egress, &known, err);
	if (r < 0) {
		koda_egress_close(egress);
		return r;
	}
	*ret_egress = egress;
	return KODA_OK;
}

/* A koda_listener_fn. */
static void take_message(void *ctx, const struct koda_egress_message *message)
{
	struct koda_egress *egress = ctx;
	struct koda_event event;

	if (message->kind == KODA_EGRESS_REFUSED && egress->refused.code == KODA_OK)
		(void)koda_fail(&egress->refused, KODA_E_POLICY, 0, "the proxy cannot serve: %s",
				message->text);
	egress->is_served |= message->kind == KODA_EGRESS_ADDED;
	if (egress->on_event && koda_command_net_event(message, &event))
		egress->on_event(egress->event_ctx, &event);
}

int koda_egress_listen(struct koda_egress *egress, int listener, struct koda_error *err)
{
	const struct koda_policy_blob terms = { egress->policy, &egress->passthrough,
						egress->opaque };
	int r;

	if (egress->listener) {
		koda_fd_close(&listener);
		return koda_fail(err, KODA_E_INVALID, 0, "there is a listener already");
	}
	r = koda_listener_add(egress->proxy, &terms, listener, take_message, egress,
			      &egress->listener, err);
	if (r == KODA_OK)
		koda_listener_start(egress->listener);
	return r;
}

/* A proxy that died is started again by the next connection, unless it has never served. */
static int check_proxy(const struct koda_egress *egress, struct koda_error *err)
{
	enum koda_listener_state state = koda_listener_state(egress->listener);

	if (egress->refused.code != KODA_OK) {
		if (err)
			*err = egress->refused;
		return egress->refused.code;
	}
	if (state == KODA_LISTENER_CLOSED ||
	    (state == KODA_LISTENER_WAITING && !egress->is_announced))
		return koda_fail(err, KODA_E_CHILD, 0, "the proxy does not start");
	return KODA_OK;
}

int koda_egress_serve(struct koda_egress *egress, int stop_fd, struct koda_error *err)
{
	int r = KODA_OK;

	if (!egress->listener)
		return koda_fail(err, KODA_E_INVALID, 0, "there is no listener yet");
	while (r == KODA_OK) {
		struct pollfd polled[1 + KODA_LISTENER_POLLED] = { { .fd = stop_fd,
								     .events = POLLIN } };
		size_t count = 1 + koda_listener_wants(egress->listener, polled + 1);

		if (poll(polled, count, -1) < 0 && errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "cannot wait");
		if (polled[0].revents)
			return KODA_OK;
		koda_listener_step(egress->listener);
		r = check_proxy(egress, err);
		if (r == KODA_OK && egress->is_served && !egress->is_announced) {
			egress->is_announced = true;
			return 1;
		}
	}
	return r;
}

void koda_egress_close(struct koda_egress *egress)
{
	if (!egress)
		return;
	koda_listener_remove(egress->listener, koda_clock_now() + REMOVAL_NS);
	koda_proxy_close(egress->proxy);
	koda_policy_free(egress->policy);
	koda_strv_clear(&egress->passthrough);
	free(egress);
}
