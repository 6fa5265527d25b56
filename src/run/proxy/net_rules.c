/* SPDX-License-Identifier: MIT */
/* T-33. */
#include "run/proxy/net_rules.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/policy.h"
#include "run/project/ca_bundle.h"
#include "run/proxy/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How long the proxy may take to confirm RULES; then it is ended. */
#define RULES_NS 5000000000ULL

void koda_net_rules_init(struct koda_net_rules *net, const struct koda_policy *policy, bool can_ask)
{
	*net = (struct koda_net_rules){ .policy = policy,
					.can_ask = can_ask,
					.all_passthrough = koda_ca_bundle_is_passthrough(policy) };
	(void)pthread_mutex_init(&net->lock, NULL);
}

void koda_net_rules_clear(struct koda_net_rules *net)
{
	koda_proxy_close(KODA_TAKE(net->proxy));
	koda_policy_free(KODA_TAKE(net->replaced));
	koda_strv_clear(&net->tls_passthrough);
	(void)pthread_mutex_destroy(&net->lock);
}

void koda_net_rules_lock(struct koda_net_rules *net)
{
	(void)pthread_mutex_lock(&net->lock);
	if (net->proxy)
		(void)pthread_mutex_lock(&net->proxy->lock);
}

void koda_net_rules_unlock(struct koda_net_rules *net)
{
	if (net->proxy)
		(void)pthread_mutex_unlock(&net->proxy->lock);
	(void)pthread_mutex_unlock(&net->lock);
}

int koda_net_rules_add(struct koda_net_rules *net, const char *const *env, int fd,
		       koda_listener_fn *on_message, void *ctx, struct koda_listener **ret_listener,
		       struct koda_error *err)
{
	int r = KODA_OK;

	(void)pthread_mutex_lock(&net->lock);
	if (!net->proxy)
		r = koda_proxy_open(env, &net->proxy, err);
	if (r == KODA_OK)
		r = koda_listener_add(net->proxy,
				      &(struct koda_policy_blob){ net->policy,
								  &net->tls_passthrough,
								  net->all_passthrough },
				      koda_take_fd(&fd), on_message, ctx, ret_listener, err);
	if (r == KODA_OK) {
		(void)pthread_mutex_lock(&net->proxy->lock);
		(*ret_listener)->rules_owner = net;
		(*ret_listener)->can_ask = net->can_ask;
		(void)pthread_mutex_unlock(&net->proxy->lock);
	}
	(void)pthread_mutex_unlock(&net->lock);
	koda_fd_close(&fd);
	return r;
}

/* Called with both locks held. Gives the rules to every listener, or to none on failure. */
static int hand_out(struct koda_net_rules *net, int sealed, struct koda_error *err)
{
	int r = KODA_OK;

	for (struct koda_listener *l = net->proxy->listeners; l && r == KODA_OK; l = l->next) {
		if (l->rules_owner != net)
			continue;
		l->next_policy_fd = fcntl(sealed, F_DUPFD_CLOEXEC, 3);
		if (l->next_policy_fd < 0)
			r = koda_fail(err, KODA_E_SYS, errno, "cannot keep the rules");
	}
	for (struct koda_listener *l = net->proxy->listeners; l; l = l->next) {
		if (l->next_policy_fd < 0)
			continue;
		if (r == KODA_OK) {
			int before = l->policy_fd;

			l->policy_fd = l->next_policy_fd;
			l->next_policy_fd = before;
		}
		koda_fd_close(&l->next_policy_fd);
	}
	return r;
}

/* Called with both locks held. Sends RULES for every listener. If that fails, the process is ended;
 * the next one gets the new rules with ADD. */
static void send_rules(struct koda_net_rules *net)
{
	for (struct koda_listener *l = net->proxy->listeners; l; l = l->next) {
		if (l->rules_owner != net || !l->is_served || l->is_removed)
			continue;
		l->rules_sent++;
		if (koda_proxy_send_order(l, KODA_EGRESS_RULES, &l->policy_fd, 1, NULL) < 0) {
			koda_proxy_lose(net->proxy);
			return;
		}
	}
}

/* Called with both locks held. */
static bool is_followed(const struct koda_net_rules *net)
{
	for (const struct koda_listener *l = net->proxy->listeners; l; l = l->next)
		if (l->rules_owner == net && l->is_served && !l->is_removed &&
		    l->rules_confirmed != l->rules_sent)
			return false;
	return true;
}

/* Waits until the proxy has confirmed the rules. A thread that waits for a command may read the
 * confirmation first. */
static void await_rules(struct koda_net_rules *net)
{
	struct koda_proxy *proxy = net->proxy;
	uint64_t deadline = koda_clock_now() + RULES_NS;

	(void)pthread_mutex_lock(&proxy->lock);
	while (!is_followed(net)) {
		struct pollfd polled = { .fd = proxy->control, .events = POLLIN };

		if (koda_clock_now() >= deadline) {
			koda_proxy_lose(proxy); /* the next process gets the new rules */
			break;
		}
		(void)pthread_mutex_unlock(&proxy->lock);
		(void)poll(&polled, 1, 10);
		(void)pthread_mutex_lock(&proxy->lock);
		koda_proxy_receive(proxy);
	}
	(void)pthread_mutex_unlock(&proxy->lock);
}

static int replace(struct koda_net_rules *net, struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_fd int sealed = -1;
	int r = koda_policy_blob_seal(
		&(struct koda_policy_blob){ policy, &net->tls_passthrough, net->all_passthrough },
		&sealed, err);

	if (r == KODA_OK && net->proxy) {
		(void)pthread_mutex_lock(&net->proxy->lock);
		r = hand_out(net, sealed, err);
		if (r == KODA_OK)
			send_rules(net);
		(void)pthread_mutex_unlock(&net->proxy->lock);
		if (r == KODA_OK)
			await_rules(net);
	}
	return r;
}

int koda_net_rules_set_rules(struct koda_net_rules *net, const struct koda_policy *policy,
			     struct koda_error *err)
{
	koda_auto_policy struct koda_policy *copy = NULL;
	int r = koda_policy_copy(policy, &copy, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&net->lock);
	if ((koda_policy_ca_bundle(policy).ptr != NULL) !=
	    (koda_policy_ca_bundle(net->policy).ptr != NULL))
		r = koda_fail(err, KODA_E_INVALID, 0,
			      "TLS termination cannot be switched on or off by new rules");
	/* The CA bundle stays the one that the sandbox was opened with. */
	if (r == KODA_OK && koda_policy_ca_bundle(policy).ptr)
		r = koda_policy_set_ca_bundle(copy, koda_policy_ca_bundle(net->policy).ptr,
					      koda_policy_ca_bundle(net->policy).len, err);
	if (r == KODA_OK)
		r = replace(net, copy, err);
	if (r == KODA_OK) {
		koda_policy_free(net->replaced);
		net->replaced = KODA_TAKE(copy);
		net->policy = net->replaced;
	}
	(void)pthread_mutex_unlock(&net->lock);
	return r;
}

uint64_t koda_net_rules_question(const struct koda_egress_message *message)
{
	return (uint64_t)message->id << 32 | message->question;
}

int koda_net_rules_answer(struct koda_net_rules *net, uint64_t question, bool allow,
			  struct koda_error *err)
{
	const struct koda_egress_message answer = {
		.magic = KODA_EGRESS_MAGIC,
		.kind = KODA_EGRESS_ANSWER,
		.id = (uint32_t)(question >> 32),
		.question = (uint32_t)question,
		.verdict = allow ? KODA_EGRESS_ALLOW : KODA_EGRESS_DENY,
	};
	int r = KODA_E_INVALID;

	(void)pthread_mutex_lock(&net->lock);
	if (net->proxy) {
		struct koda_listener *listener;

		(void)pthread_mutex_lock(&net->proxy->lock);
		listener = koda_proxy_find(net->proxy, answer.id);
		if (listener && listener->rules_owner == net && listener->is_served &&
		    !listener->is_removed &&
		    koda_listener_queue_answer(listener, answer.question)) {
			r = koda_proxy_send(net->proxy, &answer, NULL, 0, err);
			if (r < 0)
				koda_proxy_lose(net->proxy);
		}
		(void)pthread_mutex_unlock(&net->proxy->lock);
	}
	(void)pthread_mutex_unlock(&net->lock);
	return r == KODA_E_INVALID ? koda_fail(err, r, 0,
					       "no connection waits for this answer: it was given, "
					       "or came too late")
				   : r;
}
