/* SPDX-License-Identifier: MIT */
/*
 * T-33. Several threads may wait for commands whose connections one proxy process serves. A thread
 * that reads the control socket finds messages for the listeners of other threads too; it queues
 * them there and wakes the owners. When the process dies, every listener gets an event. T-81: a
 * process that was taken over can send no more than the bounds below.
 */
#include "run/proxy/proxy.h"

#include "base/error.h"
#include "base/fd.h"
#include "run/proxy/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROXY      "koda-egress"
#define SAID_MAX   1024 /* messages queued for one listener; an honest process sends fewer */
#define HEAR_MAX   1024 /* messages read in one call, which bounds how long the lock is held */
#define STARTS_MAX 5    /* starts in a row without an ADDED */

/* The variables that say how to reach the network. Sandboxes that differ in one of them have
 * different proxies. */
static const char *const names[] = { "HTTP_PROXY=",  "HTTPS_PROXY=",   "ALL_PROXY=",
				     "NO_PROXY=",    "http_proxy=",    "https_proxy=",
				     "all_proxy=",   "no_proxy=",      "RES_OPTIONS=",
				     "LOCALDOMAIN=", "SSL_CERT_FILE=", "SSL_CERT_DIR=" };

/* All proxies of this process. */
static struct {
	pthread_mutex_t lock;
	struct koda_proxy *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int choose_env(const char *const *env, struct koda_strv *chosen, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(names) && r == KODA_OK; i++)
		for (const char *const *at = env; at && *at && r == KODA_OK; at++)
			if (strncmp(*at, names[i], strlen(names[i])) == 0)
				r = koda_strv_add(chosen, *at, err);
	return r;
}

/* A forked child must not use the sockets of its parent. */
static bool fits(const struct koda_proxy *proxy, const struct koda_strv *env)
{
	if (proxy->owner != getpid() || proxy->env.len != env->len)
		return false;
	for (size_t i = 0; i < env->len; i++)
		if (strcmp(proxy->env.items[i], env->items[i]) != 0)
			return false;
	return true;
}

/* Called with all.lock held. Takes env over. */
static struct koda_proxy *add_one(struct koda_strv *env)
{
	struct koda_proxy *proxy = calloc(1, sizeof(*proxy));

	if (!proxy)
		return NULL;
	(void)pthread_mutex_init(&proxy->lock, NULL);
	proxy->owner = getpid();
	proxy->process = (struct koda_proc)KODA_PROC_INIT;
	proxy->control = -1;
	proxy->env = *env;
	*env = (struct koda_strv)KODA_STRV_INIT;
	proxy->next = all.first;
	all.first = proxy;
	return proxy;
}

int koda_proxy_open(const char *const *env, struct koda_proxy **ret_proxy, struct koda_error *err)
{
	koda_auto_strv struct koda_strv chosen = KODA_STRV_INIT;
	struct koda_proxy *proxy;
	int r = choose_env(env, &chosen, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&all.lock);
	for (proxy = all.first; proxy && !fits(proxy, &chosen); proxy = proxy->next)
		;
	if (!proxy)
		proxy = add_one(&chosen);
	if (proxy)
		proxy->refs++;
	(void)pthread_mutex_unlock(&all.lock);
	*ret_proxy = proxy;
	return proxy ? KODA_OK : koda_fail_nomem(err);
}

void koda_proxy_close(struct koda_proxy *proxy)
{
	struct koda_proxy **at;
	bool last;

	if (!proxy)
		return;
	(void)pthread_mutex_lock(&all.lock);
	last = --proxy->refs == 0;
	for (at = &all.first; last && *at != proxy; at = &(*at)->next)
		;
	if (last)
		*at = proxy->next;
	(void)pthread_mutex_unlock(&all.lock);
	if (!last)
		return;
	koda_fd_close(&proxy->control); /* the process exits when this socket is closed */
	koda_proc_kill(&proxy->process);
	koda_strv_clear(&proxy->env);
	(void)pthread_mutex_destroy(&proxy->lock);
	free(proxy);
}

static void tell_failed(struct koda_listener *listener)
{
	const struct koda_egress_message event = { .kind = KODA_EGRESS_EVENT,
						   .verdict = KODA_EGRESS_ALLOW,
						   .reason = KODA_EGRESS_PROXY_FAILED };

	koda_listener_queue_add(listener, &event);
}

void koda_proxy_lose(struct koda_proxy *proxy)
{
	koda_fd_close(&proxy->control);
	koda_proc_kill(&proxy->process);
	for (struct koda_listener *l = proxy->listeners; l; l = l->next) {
		if (l->is_served)
			tell_failed(l);
		l->is_served = false;
		l->is_removed = true;
		l->rules_confirmed = l->rules_sent; /* ADD gives the next process these rules */
		koda_listener_queue_wake(l);
	}
}

static int start_proxy(struct koda_proxy *proxy, struct koda_error *err)
{
	static char name[] = PROXY;
	char *const argv[] = { name, NULL };
	char *const none[] = { NULL };
	koda_auto_fd int theirs = -1;
	struct koda_fdmap give[] = { { -1, KODA_EGRESS_CONTROL_FD } };
	int r;

	if (proxy->control >= 0)
		return KODA_OK;
	if (proxy->starts >= STARTS_MAX)
		return koda_fail(err, KODA_E_CHILD, 0, "the proxy does not start");
	proxy->starts++;
	r = koda_fd_socketpair(&proxy->control, &theirs, err);
	if (r < 0)
		return r;
	/* Messages are sent with the lock held, so a process that does not read must not block. */
	if (fcntl(proxy->control, F_SETFL, O_NONBLOCK) < 0) {
		koda_fd_close(&proxy->control);
		return koda_fail(err, KODA_E_SYS, errno, "cannot use the control socket");
	}
	give[0].ours = theirs;
	r = koda_proc_spawn(&proxy->process, KODA_HELPER_DIR "/" PROXY, argv,
			    proxy->env.len ? proxy->env.items : none, give, 1, err);
	if (r < 0)
		koda_fd_close(&proxy->control);
	return r;
}

/* Ends the texts of a message, whatever the process has put there. */
static void bound(struct koda_egress_message *message)
{
	message->method[sizeof(message->method) - 1] = '\0';
	message->address[sizeof(message->address) - 1] = '\0';
	message->host[sizeof(message->host) - 1] = '\0';
	message->rule[sizeof(message->rule) - 1] = '\0';
	message->path[sizeof(message->path) - 1] = '\0';
	message->tls_name[sizeof(message->tls_name) - 1] = '\0';
	message->text[sizeof(message->text) - 1] = '\0';
}

/* Closes all listeners: the process cannot serve any, and another one could not either. */
static void refuse_all(struct koda_proxy *proxy, const struct koda_egress_message *message)
{
	for (struct koda_listener *l = proxy->listeners; l; l = l->next) {
		if (!l->is_served)
			continue;
		koda_fd_close(&l->fd);
		l->is_removed = true;
		koda_listener_queue_add(l, message);
	}
}

/* Reads the REFUSED of a process that ended before it took the ADD. */
static void hear_last(struct koda_listener *listener)
{
	struct koda_egress_message message;
	ssize_t n = recv(listener->proxy->control, &message, sizeof(message), MSG_DONTWAIT);

	if (n != (ssize_t)sizeof(message) || message.magic != KODA_EGRESS_MAGIC ||
	    message.kind != KODA_EGRESS_REFUSED || message.id != 0)
		return;
	bound(&message);
	listener->is_served = true;
	refuse_all(listener->proxy, &message);
	listener->is_served = false;
}

void koda_proxy_serve(struct koda_listener *listener)
{
	int fds[KODA_EGRESS_FDS] = { listener->fd, -1, listener->ca_fd[0], listener->ca_fd[1] };
	size_t count = listener->ca_fd[0] < 0 ? 2 : listener->ca_fd[1] < 0 ? 3 : 4;

	if (listener->policy_fd < 0 &&
	    koda_policy_blob_seal(&listener->blob, &listener->policy_fd, NULL) < 0) {
		koda_fd_close(&listener->fd);
		tell_failed(listener);
		return;
	}
	fds[1] = listener->policy_fd;
	/* A new number: answers to questions of an earlier process must not be taken for this one.
	 */
	listener->id = ++listener->proxy->next_id;
	memset(listener->questions, 0, sizeof(listener->questions));
	if (start_proxy(listener->proxy, NULL) == KODA_OK &&
	    koda_proxy_send_order(listener, KODA_EGRESS_ADD, fds, count, NULL) == KODA_OK) {
		listener->is_served = true;
		listener->is_removed = false;
		return;
	}
	if (listener->proxy->control >= 0)
		hear_last(listener);
	/* The next connection starts the process again, unless it has failed too often. */
	if (listener->proxy->starts >= STARTS_MAX) {
		koda_fd_close(&listener->fd);
		tell_failed(listener);
	}
	koda_proxy_lose(listener->proxy);
}

struct koda_listener *koda_proxy_find(const struct koda_proxy *proxy, uint32_t id)
{
	struct koda_listener *l = proxy->listeners;

	while (l && l->id != id)
		l = l->next;
	return l;
}

/* Closes a listener whose policy or CA the process cannot use. If it is served, then by rules that
 * were to be replaced; a process that cannot be told to stop is ended. False if no process serves
 * the listener any more. */
static bool give_up(struct koda_listener *listener)
{
	if (listener->fd < 0)
		return false;
	koda_fd_close(&listener->fd);
	listener->rules_confirmed = listener->rules_sent;
	if (koda_proxy_send_order(listener, KODA_EGRESS_REMOVE, NULL, 0, NULL) == KODA_OK)
		return true;
	koda_proxy_lose(listener->proxy);
	return false;
}

/* Queues a message for the listener that it names. */
static void hear(struct koda_proxy *proxy, const struct koda_egress_message *message)
{
	struct koda_listener *listener;

	if (message->kind == KODA_EGRESS_ADDED)
		proxy->starts = 0;
	if (message->kind == KODA_EGRESS_REFUSED && message->id == 0)
		refuse_all(proxy, message);
	listener = koda_proxy_find(proxy, message->id);
	if (!listener)
		return;
	if (message->kind == KODA_EGRESS_RULED) {
		listener->rules_confirmed++; /* await_rules() waits for this count */
		return;
	}
	if (listener->queued >= SAID_MAX) {
		koda_proxy_lose(proxy);
		return;
	}
	if (message->kind == KODA_EGRESS_GONE)
		listener->is_removed = true;
	koda_listener_queue_add(listener, message);
	if (message->kind == KODA_EGRESS_REFUSED && !give_up(listener))
		listener->is_removed = true;
}

void koda_proxy_receive(struct koda_proxy *proxy)
{
	for (int heard = 0; proxy->control >= 0 && heard < HEAR_MAX; heard++) {
		struct koda_egress_message message;
		ssize_t n = recv(proxy->control, &message, sizeof(message), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* The process ended without reading all our messages. recv() reports that once,
		 * before the last messages of the process. */
		if (n < 0 && errno == ECONNRESET)
			continue;
		if (n != (ssize_t)sizeof(message) || message.magic != KODA_EGRESS_MAGIC) {
			koda_proxy_lose(proxy);
			return;
		}
		bound(&message);
		hear(proxy, &message);
	}
}
