/* SPDX-License-Identifier: MIT */
/* A listener with its rules, as its owner sees it: what to wait for, what to do, what is told. */
#include "run/member.h"

#include "base/diag.h"
#include "base/fd.h"
#include "policy/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct queued *dequeue(struct koda_member *member)
{
	struct queued *entry;

	(void)pthread_mutex_lock(&member->egress->lock);
	entry = member->first;
	if (entry) {
		member->first = entry->next;
		member->queued--;
		if (!member->first)
			member->last = &member->first;
	}
	(void)pthread_mutex_unlock(&member->egress->lock);
	return entry;
}

/* Outside the lock: the owner may do anything. */
static void tell_all(struct koda_member *member)
{
	struct queued *entry;

	while ((entry = dequeue(member))) {
		member->told(member->ctx, &entry->message);
		free(entry);
	}
}

size_t koda_member_wants(const struct koda_member *member, struct pollfd *polled)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&member->egress->lock);
	polled[count++] = (struct pollfd){ .fd = member->wake, .events = POLLIN };
	if (member->is_served)
		polled[count++] =
			(struct pollfd){ .fd = member->egress->control, .events = POLLIN };
	else if (member->listener >= 0)
		polled[count++] = (struct pollfd){ .fd = member->listener, .events = POLLIN };
	(void)pthread_mutex_unlock(&member->egress->lock);
	return count;
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

void koda_member_step(struct koda_member *member)
{
	uint64_t ignored;

	(void)!read(member->wake, &ignored, sizeof(ignored));
	(void)pthread_mutex_lock(&member->egress->lock);
	koda_egress_listen(member->egress);
	if (!member->is_served && is_ready(member->listener))
		koda_egress_serve(member);
	(void)pthread_mutex_unlock(&member->egress->lock);
	tell_all(member);
}

void koda_member_start(struct koda_member *member)
{
	(void)pthread_mutex_lock(&member->egress->lock);
	if (!member->is_served && member->listener >= 0)
		koda_egress_serve(member);
	(void)pthread_mutex_unlock(&member->egress->lock);
}

enum koda_member_state koda_member_state(const struct koda_member *member)
{
	enum koda_member_state state;

	(void)pthread_mutex_lock(&member->egress->lock);
	state = member->listener < 0 ? KODA_MEMBER_CLOSED
		: member->is_served  ? KODA_MEMBER_SERVED
				     : KODA_MEMBER_WAITING;
	(void)pthread_mutex_unlock(&member->egress->lock);
	return state;
}

static int open_ca(struct koda_member *member, const struct koda_policy *policy,
		   struct koda_error *err)
{
	struct koda_span path = koda_policy_ca_bundle(policy);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(PATH_MAX);
	int r;

	if (!path.ptr)
		return KODA_OK;
	r = koda_pem_key_path(path, &key, err);
	if (r < 0)
		return r;
	/* The key lies in the same file or beside it; the proxy says if it is in neither. */
	member->ca[1] = open(key.ptr, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return koda_fd_open_regular(path.ptr, &member->ca[0], err);
}

static int fill(struct koda_member *member, const struct koda_terms *terms, struct koda_error *err)
{
	/* A command that never connects does not pay for long lists. */
	int r = koda_terms_are_short(terms) ? KODA_OK
					    : koda_terms_seal(terms, &member->policy, err);

	if (r == KODA_OK)
		r = open_ca(member, terms->policy, err);
	if (r < 0)
		return r;
	member->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (member->wake < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an event descriptor");
	return KODA_OK;
}

static void free_member(struct koda_member *member)
{
	while (member->first) {
		struct queued *entry = member->first;

		member->first = entry->next;
		free(entry);
	}
	koda_fd_close(&member->listener);
	koda_fd_close(&member->policy);
	koda_fd_close(&member->ca[0]);
	koda_fd_close(&member->ca[1]);
	koda_fd_close(&member->wake);
	free(member);
}

int koda_member_add(struct koda_egress *egress, const struct koda_terms *terms, int listener,
		    koda_member_fn *told, void *ctx, struct koda_member **ret_member,
		    struct koda_error *err)
{
	struct koda_member *member = calloc(1, sizeof(*member));
	int r;

	if (!member) {
		koda_fd_close(&listener);
		return koda_fail_nomem(err);
	}
	*member = (struct koda_member){ .egress = egress,
					.listener = listener,
					.terms = *terms,
					.policy = -1,
					.next_policy = -1,
					.ca = { -1, -1 },
					.wake = -1,
					.told = told,
					.ctx = ctx };
	member->last = &member->first;
	r = fill(member, terms, err);
	if (r < 0) {
		free_member(member);
		return r;
	}
	(void)pthread_mutex_lock(&egress->lock);
	egress->starts = 0;
	member->id = ++egress->next_id;
	member->next = egress->members;
	egress->members = member;
	(void)pthread_mutex_unlock(&egress->lock);
	*ret_member = member;
	return KODA_OK;
}

int koda_member_set_token(struct koda_member *member, const char *token, struct koda_error *err)
{
	size_t len = strlen(token);

	if (len == 0 || len >= sizeof(member->token))
		return koda_fail(err, KODA_E_INVALID, 0, "the token has an impossible length");
	(void)pthread_mutex_lock(&member->egress->lock);
	memcpy(member->token, token, len + 1);
	(void)pthread_mutex_unlock(&member->egress->lock);
	return KODA_OK;
}

/* Another thread that reads from the proxy may be told for this one. */
static bool is_removed(const struct koda_member *member)
{
	bool removed;

	(void)pthread_mutex_lock(&member->egress->lock);
	removed = member->is_removed;
	(void)pthread_mutex_unlock(&member->egress->lock);
	return removed;
}

/* Until the proxy has said its last word about this member. */
static void await_removal(struct koda_member *member, uint64_t deadline_ns)
{
	struct pollfd polled[KODA_MEMBER_POLLED];

	while (!is_removed(member) && koda_clock_now() < deadline_ns) {
		size_t count = koda_member_wants(member, polled);

		if (poll(polled, count, 10) > 0)
			koda_member_step(member);
	}
}

void koda_member_remove(struct koda_member *member, uint64_t deadline_ns)
{
	struct koda_member **at;
	bool is_served;

	if (!member)
		return;
	(void)pthread_mutex_lock(&member->egress->lock);
	koda_fd_close(&member->listener);
	is_served = member->is_served;
	/* A proxy that cannot be told would go on serving it. What it said is heard first. */
	if (is_served && koda_egress_order(member, KODA_EGRESS_REMOVE, NULL, 0, NULL) < 0) {
		koda_egress_listen(member->egress);
		koda_egress_lose(member->egress);
	}
	(void)pthread_mutex_unlock(&member->egress->lock);
	if (is_served)
		await_removal(member, deadline_ns);
	tell_all(member);
	(void)pthread_mutex_lock(&member->egress->lock);
	for (at = &member->egress->members; *at != member; at = &(*at)->next)
		;
	*at = member->next;
	(void)pthread_mutex_unlock(&member->egress->lock);
	free_member(member);
}
