/* SPDX-License-Identifier: MIT */
#include "run/proxy/listener.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "policy/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct koda_listener_entry *take_entry(struct koda_listener *listener)
{
	struct koda_listener_entry *entry;

	(void)pthread_mutex_lock(&listener->proxy->lock);
	entry = koda_listener_queue_take(listener);
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	return entry;
}

/* Calls on_message without the lock, because the owner may call anything from there. */
static void tell_all(struct koda_listener *listener)
{
	struct koda_listener_entry *entry;

	while ((entry = take_entry(listener))) {
		listener->on_message(listener->ctx, &entry->message);
		free(entry);
	}
}

size_t koda_listener_wants(const struct koda_listener *listener, struct pollfd *polled)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&listener->proxy->lock);
	polled[count++] = (struct pollfd){ .fd = listener->wake_fd, .events = POLLIN };
	if (listener->is_served)
		polled[count++] =
			(struct pollfd){ .fd = listener->proxy->control, .events = POLLIN };
	else if (listener->fd >= 0)
		polled[count++] = (struct pollfd){ .fd = listener->fd, .events = POLLIN };
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	return count;
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

void koda_listener_step(struct koda_listener *listener)
{
	uint64_t ignored;

	(void)!read(listener->wake_fd, &ignored, sizeof(ignored));
	(void)pthread_mutex_lock(&listener->proxy->lock);
	koda_proxy_receive(listener->proxy);
	if (!listener->is_served && is_ready(listener->fd))
		koda_proxy_serve(listener);
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	tell_all(listener);
}

void koda_listener_start(struct koda_listener *listener)
{
	(void)pthread_mutex_lock(&listener->proxy->lock);
	if (!listener->is_served && listener->fd >= 0)
		koda_proxy_serve(listener);
	(void)pthread_mutex_unlock(&listener->proxy->lock);
}

enum koda_listener_state koda_listener_state(const struct koda_listener *listener)
{
	enum koda_listener_state state;

	(void)pthread_mutex_lock(&listener->proxy->lock);
	state = listener->fd < 0      ? KODA_LISTENER_CLOSED
		: listener->is_served ? KODA_LISTENER_SERVED
				      : KODA_LISTENER_WAITING;
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	return state;
}

static int open_ca(struct koda_listener *listener, const struct koda_policy *policy,
		   struct koda_error *err)
{
	struct koda_span path = koda_policy_ca_bundle(policy);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(PATH_MAX);
	int r;

	if (!path.ptr || listener->blob.all_passthrough)
		return KODA_OK;
	r = koda_pem_key_path(path, &key, err);
	if (r < 0)
		return r;
	/* The key is in the bundle or in a file beside it. If it is in neither, the proxy sends
	 * REFUSED. */
	listener->ca_fd[1] = open(key.ptr, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return koda_fd_open_regular(path.ptr, &listener->ca_fd[0], err);
}

static int fill(struct koda_listener *listener, const struct koda_policy_blob *blob,
		struct koda_error *err)
{
	/* Most commands never connect. A blob that certainly fits is sealed when it is needed. */
	int r = koda_policy_blob_is_short(blob)
			? KODA_OK
			: koda_policy_blob_seal(blob, &listener->policy_fd, err);

	if (r == KODA_OK)
		r = open_ca(listener, blob->policy, err);
	if (r < 0)
		return r;
	listener->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (listener->wake_fd < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot make an event descriptor");
	return KODA_OK;
}

static void destroy(struct koda_listener *listener)
{
	while (listener->first) {
		struct koda_listener_entry *entry = listener->first;

		listener->first = entry->next;
		free(entry);
	}
	koda_fd_close(&listener->fd);
	koda_fd_close(&listener->policy_fd);
	koda_fd_close(&listener->ca_fd[0]);
	koda_fd_close(&listener->ca_fd[1]);
	koda_fd_close(&listener->wake_fd);
	free(listener);
}

int koda_listener_add(struct koda_proxy *proxy, const struct koda_policy_blob *blob, int fd,
		      koda_listener_fn *on_message, void *ctx, struct koda_listener **ret_listener,
		      struct koda_error *err)
{
	struct koda_listener *listener = calloc(1, sizeof(*listener));
	int r;

	if (!listener) {
		koda_fd_close(&fd);
		return koda_fail_nomem(err);
	}
	*listener = (struct koda_listener){ .proxy = proxy,
					    .fd = fd,
					    .blob = *blob,
					    .policy_fd = -1,
					    .next_policy_fd = -1,
					    .ca_fd = { -1, -1 },
					    .wake_fd = -1,
					    .on_message = on_message,
					    .ctx = ctx };
	listener->last = &listener->first;
	r = fill(listener, blob, err);
	if (r < 0) {
		destroy(listener);
		return r;
	}
	(void)pthread_mutex_lock(&proxy->lock);
	proxy->starts = 0;
	listener->id = ++proxy->next_id;
	listener->next = proxy->listeners;
	proxy->listeners = listener;
	(void)pthread_mutex_unlock(&proxy->lock);
	*ret_listener = listener;
	return KODA_OK;
}

int koda_listener_set_token(struct koda_listener *listener, const char *token,
			    struct koda_error *err)
{
	size_t len = strlen(token);

	if (len == 0 || len >= sizeof(listener->token))
		return koda_fail(err, KODA_E_INVALID, 0, "the token has an impossible length");
	(void)pthread_mutex_lock(&listener->proxy->lock);
	memcpy(listener->token, token, len + 1);
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	return KODA_OK;
}

/* Another thread may read the last message about this listener. */
bool koda_listener_is_gone(const struct koda_listener *listener)
{
	bool gone;

	(void)pthread_mutex_lock(&listener->proxy->lock);
	gone = !listener->is_served || listener->is_removed;
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	return gone;
}

void koda_listener_close(struct koda_listener *listener)
{
	(void)pthread_mutex_lock(&listener->proxy->lock);
	koda_fd_close(&listener->fd);
	/* A process that does not take REMOVE would go on serving it, so it is ended. Its messages
	 * are read first. */
	if (listener->is_served &&
	    koda_proxy_send_order(listener, KODA_EGRESS_REMOVE, NULL, 0, NULL) < 0) {
		koda_proxy_receive(listener->proxy);
		koda_proxy_lose(listener->proxy);
	}
	(void)pthread_mutex_unlock(&listener->proxy->lock);
}

void koda_listener_free(struct koda_listener *listener)
{
	struct koda_listener **at;

	tell_all(listener);
	(void)pthread_mutex_lock(&listener->proxy->lock);
	for (at = &listener->proxy->listeners; *at != listener; at = &(*at)->next)
		;
	*at = listener->next;
	(void)pthread_mutex_unlock(&listener->proxy->lock);
	destroy(listener);
}

void koda_listener_remove(struct koda_listener *listener, uint64_t deadline_ns)
{
	struct pollfd polled[KODA_LISTENER_POLLED];

	if (!listener)
		return;
	koda_listener_close(listener);
	while (!koda_listener_is_gone(listener) && koda_clock_now() < deadline_ns) {
		size_t count = koda_listener_wants(listener, polled);

		if (poll(polled, count, 10) > 0)
			koda_listener_step(listener);
	}
	koda_listener_free(listener);
}
