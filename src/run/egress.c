/* SPDX-License-Identifier: MIT */
/*
 * T-33. Several threads may wait for commands whose connections one proxy serves. Whoever reads the
 * control channel finds messages of others as well; these are queued for them, and they are woken.
 */
#include "run/egress.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/proc.h"
#include "run/event.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROXY      "koda-egress"
#define QUEUE_MAX  256
#define STARTS_MAX 5 /* in a row, without becoming ready */

struct queued {
	struct koda_egress_message message;
	struct queued *next;
};

struct koda_member {
	struct koda_egress *egress; /* borrowed */
	struct koda_member *next;
	uint32_t id;
	int listener;   /* owned; -1: nobody can connect any more */
	int policy;     /* owned; sealed */
	int ca[2];      /* owned; certificate and key, -1: none */
	int wake;       /* owned */
	bool is_served; /* the proxy has it */
	bool is_removed;
	struct queued *first;
	struct queued **last;
	size_t queued;
	koda_member_fn *told;
	void *ctx;
};

struct koda_egress {
	pthread_mutex_t lock; /* of everything here, and of the queues of members */
	struct koda_strv env;
	struct koda_proc proxy;
	int control; /* -1: no proxy runs */
	unsigned int starts;
	uint32_t next_id;
	struct koda_member *members;
};

static const char *const codes[] = {
#define REASON_CODE(name, code, text) [KODA_EGRESS_##name] = (code),
	KODA_EGRESS_REASONS(REASON_CODE)
#undef REASON_CODE
};

bool koda_egress_event(const struct koda_egress_message *message, struct koda_event *ret_event)
{
	if (message->kind != KODA_EGRESS_EVENT)
		return false;
	*ret_event = (struct koda_event){ .type = KODA_EVENT_EGRESS, .time = koda_event_now() };
	ret_event->of.egress = (struct koda_event_egress){
		.host = message->host,
		.port = message->port,
		.address = message->address[0] ? message->address : NULL,
		.allowed = message->verdict == KODA_EGRESS_ALLOW,
		.reason = message->reason < KODA_EGRESS_REASON_COUNT ? codes[message->reason] : "?",
		.rule = message->rule[0] ? message->rule : NULL,
		.method = message->method[0] ? message->method : NULL,
		.path = message->path,
		.bytes_up = message->bytes_up,
		.bytes_down = message->bytes_down,
		.ms = (double)message->ms,
	};
	return true;
}

int koda_egress_new(const char *const *env, struct koda_egress **ret_egress, struct koda_error *err)
{
	static const char *const names[] = { "HTTP_PROXY=",  "HTTPS_PROXY=",   "ALL_PROXY=",
					     "NO_PROXY=",    "http_proxy=",    "https_proxy=",
					     "all_proxy=",   "no_proxy=",      "RES_OPTIONS=",
					     "LOCALDOMAIN=", "SSL_CERT_FILE=", "SSL_CERT_DIR=" };
	struct koda_egress *egress = calloc(1, sizeof(*egress));
	int r = KODA_OK;

	if (!egress)
		return koda_fail_nomem(err);
	(void)pthread_mutex_init(&egress->lock, NULL);
	egress->proxy = (struct koda_proc)KODA_PROC_INIT;
	egress->control = -1;
	for (; env && *env && r == KODA_OK; env++)
		for (size_t i = 0; i < KODA_ARRAY_LEN(names) && r == KODA_OK; i++)
			if (strncmp(*env, names[i], strlen(names[i])) == 0)
				r = koda_strv_add(&egress->env, *env, err);
	if (r < 0) {
		koda_egress_free(egress);
		return r;
	}
	*ret_egress = egress;
	return KODA_OK;
}

void koda_egress_free(struct koda_egress *egress)
{
	if (!egress)
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

/* The proxy is gone: its connections are, and the next one starts another. */
static void lose_proxy(struct koda_egress *egress)
{
	koda_fd_close(&egress->control);
	koda_proc_kill(&egress->proxy);
	for (struct koda_member *m = egress->members; m; m = m->next) {
		m->is_served = false;
		m->is_removed = true;
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
	give[0].ours = theirs;
	r = koda_proc_spawn(&egress->proxy, KODA_HELPER_DIR "/" PROXY, argv,
			    egress->env.len ? egress->env.items : none, give, 1, err);
	if (r < 0)
		koda_fd_close(&egress->control);
	return r;
}

static int order(struct koda_member *member, enum koda_egress_kind kind, const int *fds,
		 size_t count, struct koda_error *err)
{
	const struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
						     .kind = kind,
						     .id = member->id };

	return koda_fd_send(member->egress->control, &message, sizeof(message), fds, count, err);
}

/* Somebody wants to connect. */
static void serve(struct koda_member *member)
{
	const int fds[KODA_EGRESS_FDS] = { member->listener, member->policy, member->ca[0],
					   member->ca[1] };
	size_t count = member->ca[0] < 0 ? 2 : member->ca[1] < 0 ? 3 : 4;

	if (start_proxy(member->egress, NULL) == KODA_OK &&
	    order(member, KODA_EGRESS_ADD, fds, count, NULL) == KODA_OK) {
		member->is_served = true;
		member->is_removed = false;
		return;
	}
	/* A proxy that died meanwhile is noticed and tried again; one that never starts is not. */
	if (member->egress->starts >= STARTS_MAX)
		koda_fd_close(&member->listener);
	lose_proxy(member->egress);
}

static void enqueue(struct koda_member *member, const struct koda_egress_message *message)
{
	struct queued *entry;

	if (member->queued == QUEUE_MAX)
		return; /* whoever does not read hears less */
	entry = malloc(sizeof(*entry));
	if (!entry)
		return;
	*entry = (struct queued){ .message = *message };
	*member->last = entry;
	member->last = &entry->next;
	member->queued++;
	wake(member);
}

static struct koda_member *find(const struct koda_egress *egress, uint32_t id)
{
	struct koda_member *m = egress->members;

	while (m && m->id != id)
		m = m->next;
	return m;
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

/* Takes everything that the proxy has said and gives it to whom it concerns. */
static void listen_to_proxy(struct koda_egress *egress)
{
	while (egress->control >= 0) {
		struct koda_egress_message message;
		struct koda_member *member;
		ssize_t n = recv(egress->control, &message, sizeof(message), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n != (ssize_t)sizeof(message) || message.magic != KODA_EGRESS_MAGIC) {
			lose_proxy(egress);
			return;
		}
		bound(&message);
		if (message.kind == KODA_EGRESS_READY)
			egress->starts = 0;
		member = find(egress, message.id);
		if (!member)
			continue;
		if (message.kind == KODA_EGRESS_GONE)
			member->is_removed = true;
		if (message.kind == KODA_EGRESS_REFUSED)
			koda_fd_close(&member->listener); /* its policy or CA cannot be used */
		enqueue(member, &message);
	}
}

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
	listen_to_proxy(member->egress);
	if (!member->is_served && is_ready(member->listener))
		serve(member);
	(void)pthread_mutex_unlock(&member->egress->lock);
	tell_all(member);
}

static int open_ca(struct koda_member *member, const struct koda_policy *policy,
		   struct koda_error *err)
{
	struct koda_span path = koda_policy_ca_bundle(policy);
	koda_auto_free char *key = NULL;

	if (!path.ptr)
		return KODA_OK;
	if (asprintf(&key, "%s.key", path.ptr) < 0) {
		key = NULL;
		return koda_fail_nomem(err);
	}
	/* The key lies in the same file or beside it; the proxy says if it is in neither. */
	member->ca[1] = open(key, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return koda_fd_open_regular(path.ptr, &member->ca[0], err);
}

static int fill(struct koda_member *member, const struct koda_policy *policy,
		struct koda_error *err)
{
	koda_auto_free char *text = NULL;
	int r = koda_policy_emit(policy, &text, err);

	if (r == KODA_OK)
		r = koda_fd_sealed("koda-policy", text, strlen(text), &member->policy, err);
	if (r == KODA_OK)
		r = open_ca(member, policy, err);
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

int koda_member_add(struct koda_egress *egress, const struct koda_policy *policy, int listener,
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
					.policy = -1,
					.ca = { -1, -1 },
					.wake = -1,
					.told = told,
					.ctx = ctx };
	member->last = &member->first;
	r = fill(member, policy, err);
	if (r < 0) {
		free_member(member);
		return r;
	}
	(void)pthread_mutex_lock(&egress->lock);
	member->id = ++egress->next_id;
	member->next = egress->members;
	egress->members = member;
	(void)pthread_mutex_unlock(&egress->lock);
	*ret_member = member;
	return KODA_OK;
}

/* Until the proxy has said its last word about this member. */
static void await_removal(struct koda_member *member, uint64_t deadline_ns)
{
	struct pollfd polled[KODA_MEMBER_POLLED];

	while (!member->is_removed && koda_clock_now() < deadline_ns) {
		size_t count = koda_member_wants(member, polled);

		if (poll(polled, count, 10) > 0)
			koda_member_step(member);
	}
}

void koda_member_remove(struct koda_member *member, uint64_t deadline_ns)
{
	struct koda_member **at;

	if (!member)
		return;
	(void)pthread_mutex_lock(&member->egress->lock);
	koda_fd_close(&member->listener);
	if (member->is_served && order(member, KODA_EGRESS_REMOVE, NULL, 0, NULL) < 0)
		member->is_removed = true;
	(void)pthread_mutex_unlock(&member->egress->lock);
	if (member->is_served)
		await_removal(member, deadline_ns);
	tell_all(member);
	(void)pthread_mutex_lock(&member->egress->lock);
	for (at = &member->egress->members; *at != member; at = &(*at)->next)
		;
	*at = member->next;
	(void)pthread_mutex_unlock(&member->egress->lock);
	free_member(member);
}
