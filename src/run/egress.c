/* SPDX-License-Identifier: MIT */
/*
 * T-33. Several threads may wait for commands whose connections one proxy serves, and all sandboxes
 * of a process with the same environment share it. Whoever reads the control channel finds messages
 * of others as well; these are queued for them, and they are woken. A proxy that dies is told to
 * each of them. T-81 what one that was taken over can say is bounded.
 */
#include "run/egress.h"

#include "base/diag.h"
#include "base/fd.h"
#include "run/member.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROXY      "koda-egress"
#define QUEUE_MAX  256  /* events; what is neither that nor a question waits anyway */
#define ASK_MAX    512  /* with questions; one that is lost is answered by its deadline */
#define SAID_MAX   1024 /* with everything; no proxy that follows orders says so much unheard */
#define HEAR_MAX   1024 /* messages at a time; a proxy that never stops keeps nobody here */
#define STARTS_MAX 5    /* in a row, without becoming ready */

/* What says how to reach the network. Whoever differs in it cannot share a proxy. */
static const char *const names[] = { "HTTP_PROXY=",  "HTTPS_PROXY=",   "ALL_PROXY=",
				     "NO_PROXY=",    "http_proxy=",    "https_proxy=",
				     "all_proxy=",   "no_proxy=",      "RES_OPTIONS=",
				     "LOCALDOMAIN=", "SSL_CERT_FILE=", "SSL_CERT_DIR=" };

/* Every one of this process. */
static struct {
	pthread_mutex_t lock;
	struct koda_egress *first;
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

/* A process that was forked must not use what belongs to the one it came from. */
static bool fits(const struct koda_egress *egress, const struct koda_strv *env)
{
	if (egress->owner != getpid() || egress->env.len != env->len)
		return false;
	for (size_t i = 0; i < env->len; i++)
		if (strcmp(egress->env.items[i], env->items[i]) != 0)
			return false;
	return true;
}

/* With the lock of all held. Takes env over. */
static struct koda_egress *add_one(struct koda_strv *env)
{
	struct koda_egress *egress = calloc(1, sizeof(*egress));

	if (!egress)
		return NULL;
	(void)pthread_mutex_init(&egress->lock, NULL);
	egress->owner = getpid();
	egress->proxy = (struct koda_proc)KODA_PROC_INIT;
	egress->control = -1;
	egress->env = *env;
	*env = (struct koda_strv)KODA_STRV_INIT;
	egress->next = all.first;
	all.first = egress;
	return egress;
}

int koda_egress_open(const char *const *env, struct koda_egress **ret_egress,
		     struct koda_error *err)
{
	koda_auto_strv struct koda_strv chosen = KODA_STRV_INIT;
	struct koda_egress *egress;
	int r = choose_env(env, &chosen, err);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&all.lock);
	for (egress = all.first; egress && !fits(egress, &chosen); egress = egress->next)
		;
	if (!egress)
		egress = add_one(&chosen);
	if (egress)
		egress->refs++;
	(void)pthread_mutex_unlock(&all.lock);
	*ret_egress = egress;
	return egress ? KODA_OK : koda_fail_nomem(err);
}

void koda_egress_close(struct koda_egress *egress)
{
	struct koda_egress **at;
	bool last;

	if (!egress)
		return;
	(void)pthread_mutex_lock(&all.lock);
	last = --egress->refs == 0;
	for (at = &all.first; last && *at != egress; at = &(*at)->next)
		;
	if (last)
		*at = egress->next;
	(void)pthread_mutex_unlock(&all.lock);
	if (!last)
		return;
	koda_fd_close(&egress->control); /* it ends by that */
	koda_proc_kill(&egress->proxy);
	koda_strv_clear(&egress->env);
	(void)pthread_mutex_destroy(&egress->lock);
	free(egress);
}

static void wake(const struct koda_member *member)
{
	const uint64_t one = 1;

	(void)!write(member->wake, &one, sizeof(one));
}

/* Whoever does not read hears less, and how much less. */
static void enqueue(struct koda_member *member, const struct koda_egress_message *message)
{
	bool event = message->kind == KODA_EGRESS_EVENT;
	struct queued *entry = NULL;

	if (message->kind == KODA_EGRESS_ASK ? member->queued < ASK_MAX
					     : !event || member->queued < QUEUE_MAX)
		entry = malloc(sizeof(*entry));
	if (!entry) {
		member->dropped += event ? message->dropped + 1 : 0;
		return;
	}
	*entry = (struct queued){ .message = *message };
	if (event || message->kind == KODA_EGRESS_GONE) {
		entry->message.dropped += member->dropped;
		member->dropped = 0;
	}
	*member->last = entry;
	member->last = &entry->next;
	member->queued++;
	wake(member);
}

static void tell_failed(struct koda_member *member)
{
	const struct koda_egress_message event = { .kind = KODA_EGRESS_EVENT,
						   .verdict = KODA_EGRESS_ALLOW,
						   .reason = KODA_EGRESS_PROXY_FAILED };

	enqueue(member, &event);
}

/* The proxy is gone: its connections are, and the next one starts another. */
void koda_egress_lose(struct koda_egress *egress)
{
	koda_fd_close(&egress->control);
	koda_proc_kill(&egress->proxy);
	for (struct koda_member *m = egress->members; m; m = m->next) {
		if (m->is_served)
			tell_failed(m);
		m->is_served = false;
		m->is_removed = true;
		m->ruled = m->rules; /* the next proxy gets what holds now */
		wake(m);
	}
}

static int start_proxy(struct koda_egress *egress, struct koda_error *err)
{
	static char name[] = PROXY;
	char *const argv[] = { name, NULL };
	char *const none[] = { NULL };
	koda_auto_fd int theirs = -1;
	struct koda_fdmap give[] = { { -1, KODA_EGRESS_CONTROL_FD } };
	int r;

	if (egress->control >= 0)
		return KODA_OK;
	if (egress->starts >= STARTS_MAX)
		return koda_fail(err, KODA_E_CHILD, 0, "the proxy does not start");
	egress->starts++;
	r = koda_fd_socketpair(&egress->control, &theirs, err);
	if (r < 0)
		return r;
	/* Whoever gives an order holds the lock; the proxy must not be able to keep it there. */
	if (fcntl(egress->control, F_SETFL, O_NONBLOCK) < 0) {
		koda_fd_close(&egress->control);
		return koda_fail(err, KODA_E_SYS, errno, "cannot use the control socket");
	}
	give[0].ours = theirs;
	r = koda_proc_spawn(&egress->proxy, KODA_HELPER_DIR "/" PROXY, argv,
			    egress->env.len ? egress->env.items : none, give, 1, err);
	if (r < 0)
		koda_fd_close(&egress->control);
	return r;
}

/* Texts end, whatever the proxy sent. */
static void bound(struct koda_egress_message *message)
{
	message->method[sizeof(message->method) - 1] = '\0';
	message->address[sizeof(message->address) - 1] = '\0';
	message->host[sizeof(message->host) - 1] = '\0';
	message->rule[sizeof(message->rule) - 1] = '\0';
	message->path[sizeof(message->path) - 1] = '\0';
	message->text[sizeof(message->text) - 1] = '\0';
}

/* The proxy cannot serve anybody: not its fault, and another would not do better. */
static void refuse_all(struct koda_egress *egress, const struct koda_egress_message *message)
{
	for (struct koda_member *m = egress->members; m; m = m->next) {
		if (!m->is_served)
			continue;
		koda_fd_close(&m->listener);
		m->is_removed = true;
		enqueue(m, message);
	}
}

/* What a proxy said that ended before it could be told anything. */
static void hear_last(struct koda_member *member)
{
	struct koda_egress_message message;
	ssize_t n = recv(member->egress->control, &message, sizeof(message), MSG_DONTWAIT);

	if (n != (ssize_t)sizeof(message) || message.magic != KODA_EGRESS_MAGIC ||
	    message.kind != KODA_EGRESS_REFUSED || message.id != 0)
		return;
	bound(&message);
	member->is_served = true;
	refuse_all(member->egress, &message);
	member->is_served = false;
}

/* Somebody wants to connect. */
void koda_egress_serve(struct koda_member *member)
{
	int fds[KODA_EGRESS_FDS] = { member->listener, -1, member->ca[0], member->ca[1] };
	size_t count = member->ca[0] < 0 ? 2 : member->ca[1] < 0 ? 3 : 4;

	if (member->policy < 0 && koda_terms_seal(&member->terms, &member->policy, NULL) < 0) {
		koda_fd_close(&member->listener);
		tell_failed(member);
		return;
	}
	fds[1] = member->policy;
	/* No answer to a question of the proxy before is one to a question of this one. */
	member->id = ++member->egress->next_id;
	if (start_proxy(member->egress, NULL) == KODA_OK &&
	    koda_egress_order(member, KODA_EGRESS_ADD, fds, count, NULL) == KODA_OK) {
		member->is_served = true;
		member->is_removed = false;
		return;
	}
	if (member->egress->control >= 0)
		hear_last(member);
	/* A proxy that died meanwhile is noticed and tried again; one that never starts is not. */
	if (member->egress->starts >= STARTS_MAX) {
		koda_fd_close(&member->listener);
		tell_failed(member);
	}
	koda_egress_lose(member->egress);
}

struct koda_member *koda_egress_find(const struct koda_egress *egress, uint32_t id)
{
	struct koda_member *m = egress->members;

	while (m && m->id != id)
		m = m->next;
	return m;
}

/* Its policy or CA cannot be used. If it is served, then by rules that were to be replaced, and by
 * a proxy that is ended if it cannot be told to stop. False: nobody serves it any more. */
static bool give_up(struct koda_member *member)
{
	if (member->listener < 0)
		return false;
	koda_fd_close(&member->listener);
	member->ruled = member->rules;
	if (koda_egress_order(member, KODA_EGRESS_REMOVE, NULL, 0, NULL) == KODA_OK)
		return true;
	koda_egress_lose(member->egress);
	return false;
}

/* Gives a message to whom it concerns. */
static void hear(struct koda_egress *egress, const struct koda_egress_message *message)
{
	struct koda_member *member;

	if (message->kind == KODA_EGRESS_ADDED)
		egress->starts = 0;
	if (message->kind == KODA_EGRESS_REFUSED && message->id == 0)
		refuse_all(egress, message);
	member = koda_egress_find(egress, message->id);
	if (!member)
		return;
	if (message->kind == KODA_EGRESS_RULED) {
		member->ruled++; /* which is all that anybody wants to know */
		return;
	}
	if (member->queued >= SAID_MAX) {
		koda_egress_lose(egress);
		return;
	}
	if (message->kind == KODA_EGRESS_GONE)
		member->is_removed = true;
	enqueue(member, message);
	if (message->kind == KODA_EGRESS_REFUSED && !give_up(member))
		member->is_removed = true;
}

/* Takes what the proxy has said, up to a turn's worth. */
void koda_egress_listen(struct koda_egress *egress)
{
	for (int heard = 0; egress->control >= 0 && heard < HEAR_MAX; heard++) {
		struct koda_egress_message message;
		ssize_t n = recv(egress->control, &message, sizeof(message), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* It ended without reading all that we said. That is told once, and before its own
		 * last word. */
		if (n < 0 && errno == ECONNRESET)
			continue;
		if (n != (ssize_t)sizeof(message) || message.magic != KODA_EGRESS_MAGIC) {
			koda_egress_lose(egress);
			return;
		}
		bound(&message);
		hear(egress, &message);
	}
}
