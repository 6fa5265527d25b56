/* SPDX-License-Identifier: MIT */
/*
 * T-33. Several threads may wait for commands whose connections one proxy serves. Whoever reads the
 * control channel finds messages of others as well; these are queued for them, and they are woken.
 */
#include "run/egress.h"

#include "base/diag.h"
#include "base/fd.h"
#include "run/event.h"
#include "run/member.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROXY      "koda-egress"
#define QUEUE_MAX  256
#define STARTS_MAX 5 /* in a row, without becoming ready */

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

int koda_egress_order(struct koda_member *member, enum koda_egress_kind kind, const int *fds,
		      size_t count, struct koda_error *err)
{
	struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
					       .kind = kind,
					       .id = member->id };

	if (kind == KODA_EGRESS_ADD && member->token[0]) {
		message.flags |= KODA_EGRESS_TOKEN;
		memcpy(message.text, member->token, sizeof(member->token));
	}
	return koda_fd_send(member->egress->control, &message, sizeof(message), fds, count, err);
}

/* Somebody wants to connect. */
void koda_egress_serve(struct koda_member *member)
{
	const int fds[KODA_EGRESS_FDS] = { member->listener, member->policy, member->ca[0],
					   member->ca[1] };
	size_t count = member->ca[0] < 0 ? 2 : member->ca[1] < 0 ? 3 : 4;

	if (start_proxy(member->egress, NULL) == KODA_OK &&
	    koda_egress_order(member, KODA_EGRESS_ADD, fds, count, NULL) == KODA_OK) {
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
void koda_egress_listen(struct koda_egress *egress)
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
		if (message.kind == KODA_EGRESS_ADDED)
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
