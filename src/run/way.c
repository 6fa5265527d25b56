/* SPDX-License-Identifier: MIT */
/* T-33. */
#include "run/way.h"

#include "base/diag.h"
#include "base/fd.h"
#include "policy/policy.h"
#include "run/member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A proxy that follows no order for so long is ended. */
#define RULES_NS 5000000000ULL

void koda_way_init(struct koda_way *way, const struct koda_policy *policy, bool can_ask)
{
	*way = (struct koda_way){ .policy = policy, .can_ask = can_ask };
	(void)pthread_mutex_init(&way->lock, NULL);
}

void koda_way_clear(struct koda_way *way)
{
	koda_egress_close(KODA_TAKE(way->egress));
	koda_policy_free(KODA_TAKE(way->replaced));
	koda_strv_clear(&way->except);
	(void)pthread_mutex_destroy(&way->lock);
}

void koda_way_hold(struct koda_way *way)
{
	(void)pthread_mutex_lock(&way->lock);
	if (way->egress)
		(void)pthread_mutex_lock(&way->egress->lock);
}

void koda_way_release(struct koda_way *way)
{
	if (way->egress)
		(void)pthread_mutex_unlock(&way->egress->lock);
	(void)pthread_mutex_unlock(&way->lock);
}

int koda_way_add(struct koda_way *way, const char *const *env, int listener, koda_member_fn *told,
		 void *ctx, struct koda_member **ret_member, struct koda_error *err)
{
	int r = KODA_OK;

	(void)pthread_mutex_lock(&way->lock);
	if (!way->egress)
		r = koda_egress_open(env, &way->egress, err);
	if (r == KODA_OK)
		r = koda_member_add(way->egress, &(struct koda_terms){ way->policy, &way->except },
				    koda_take_fd(&listener), told, ctx, ret_member, err);
	if (r == KODA_OK) {
		(void)pthread_mutex_lock(&way->egress->lock);
		(*ret_member)->of = way;
		(*ret_member)->can_ask = way->can_ask;
		(void)pthread_mutex_unlock(&way->egress->lock);
	}
	(void)pthread_mutex_unlock(&way->lock);
	koda_fd_close(&listener);
	return r;
}

/* With both locks held: every member gets the rules, or none does. */
static int hand_out(struct koda_way *way, int sealed, struct koda_error *err)
{
	int r = KODA_OK;

	for (struct koda_member *m = way->egress->members; m && r == KODA_OK; m = m->next) {
		if (m->of != way)
			continue;
		m->next_policy = fcntl(sealed, F_DUPFD_CLOEXEC, 3);
		if (m->next_policy < 0)
			r = koda_fail(err, KODA_E_SYS, errno, "cannot keep the rules");
	}
	for (struct koda_member *m = way->egress->members; m; m = m->next) {
		if (m->next_policy < 0)
			continue;
		if (r == KODA_OK) {
			int before = m->policy;

			m->policy = m->next_policy;
			m->next_policy = before;
		}
		koda_fd_close(&m->next_policy);
	}
	return r;
}

/* With both locks held: the proxy is told. One that cannot be told is ended, and the next one
 * begins with the new rules. */
static void order(struct koda_way *way)
{
	for (struct koda_member *m = way->egress->members; m; m = m->next) {
		if (m->of != way || !m->is_served || m->is_removed)
			continue;
		m->rules++;
		if (koda_egress_order(m, KODA_EGRESS_RULES, &m->policy, 1, NULL) < 0) {
			koda_egress_lose(way->egress);
			return;
		}
	}
}

/* With both locks held. */
static bool is_followed(const struct koda_way *way)
{
	for (const struct koda_member *m = way->egress->members; m; m = m->next)
		if (m->of == way && m->is_served && !m->is_removed && m->ruled != m->rules)
			return false;
	return true;
}

/* Whoever waits for a command reads the proxy's answer, and so do we. */
static void await_rules(struct koda_way *way)
{
	struct koda_egress *egress = way->egress;
	uint64_t deadline = koda_clock_now() + RULES_NS;

	(void)pthread_mutex_lock(&egress->lock);
	while (!is_followed(way)) {
		struct pollfd polled = { .fd = egress->control, .events = POLLIN };

		if (koda_clock_now() >= deadline) {
			koda_egress_lose(egress); /* the next one begins with the new rules */
			break;
		}
		(void)pthread_mutex_unlock(&egress->lock);
		(void)poll(&polled, 1, 10);
		(void)pthread_mutex_lock(&egress->lock);
		koda_egress_listen(egress);
	}
	(void)pthread_mutex_unlock(&egress->lock);
}

static int replace(struct koda_way *way, struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_fd int sealed = -1;
	int r = koda_terms_seal(&(struct koda_terms){ policy, &way->except }, &sealed, err);

	if (r == KODA_OK && way->egress) {
		(void)pthread_mutex_lock(&way->egress->lock);
		r = hand_out(way, sealed, err);
		if (r == KODA_OK)
			order(way);
		(void)pthread_mutex_unlock(&way->egress->lock);
		if (r == KODA_OK)
			await_rules(way);
	}
	return r;
}

int koda_way_set_rules(struct koda_way *way, const struct koda_policy *policy,
		       struct koda_error *err)
{
	koda_auto_policy struct koda_policy *copy = NULL;
	int r = koda_policy_copy(policy, &copy, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&way->lock);
	if ((koda_policy_ca_bundle(policy).ptr != NULL) !=
	    (koda_policy_ca_bundle(way->policy).ptr != NULL))
		r = koda_fail(err, KODA_E_INVALID, 0,
			      "TLS termination cannot be switched on or off by new rules");
	/* Which authority it is was decided when the sandbox was opened. */
	if (r == KODA_OK && koda_policy_ca_bundle(policy).ptr)
		r = koda_policy_set_ca_bundle(copy, koda_policy_ca_bundle(way->policy).ptr,
					      koda_policy_ca_bundle(way->policy).len, err);
	if (r == KODA_OK)
		r = replace(way, copy, err);
	if (r == KODA_OK) {
		koda_policy_free(way->replaced);
		way->replaced = KODA_TAKE(copy);
		way->policy = way->replaced;
	}
	(void)pthread_mutex_unlock(&way->lock);
	return r;
}

uint64_t koda_way_question(const struct koda_egress_message *message)
{
	return (uint64_t)message->id << 32 | message->question;
}

int koda_way_answer(struct koda_way *way, uint64_t question, bool allow, struct koda_error *err)
{
	const struct koda_egress_message answer = {
		.magic = KODA_EGRESS_MAGIC,
		.kind = KODA_EGRESS_ANSWER,
		.id = (uint32_t)(question >> 32),
		.question = (uint32_t)question,
		.verdict = allow ? KODA_EGRESS_ALLOW : KODA_EGRESS_DENY,
	};
	int r = koda_fail(err, KODA_E_INVALID, 0, "nobody waits for this answer any more");

	(void)pthread_mutex_lock(&way->lock);
	if (way->egress) {
		struct koda_member *member;

		(void)pthread_mutex_lock(&way->egress->lock);
		member = koda_egress_find(way->egress, answer.id);
		if (member && member->of == way && member->is_served && !member->is_removed) {
			r = koda_egress_tell(way->egress, &answer, NULL, 0, err);
			if (r < 0)
				koda_egress_lose(way->egress);
		}
		(void)pthread_mutex_unlock(&way->egress->lock);
	}
	(void)pthread_mutex_unlock(&way->lock);
	return r;
}
