/* SPDX-License-Identifier: MIT */
/*
 * koda-egress: the proxy through which sandboxes reach the network. A host process starts it with
 * a control socket on descriptor 3; it takes no options, reads no configuration, and its
 * environment says only which proxy the host itself has to use. It ends when the host does.
 */
#include "base/diag.h"
#include "bounds.h"
#include "conn.h"
#include "control.h"
#include "lock.h"
#include "reach.h"
#include "tls_client.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* A pipe is two descriptors, and few directions are busy at a time. */
#define PIPES_MAX 256
/* Heads of this size are rare, and buffers for bodies are smaller. */
#define LARGE (48 * 1024)

static void on_conn_late(struct koda_deadline *deadline)
{
	struct koda_conn *conn = KODA_OUTER(struct koda_conn, deadline, deadline);

	conn->phase->late(conn);
}

static void set_queues(struct koda_proxy *proxy)
{
	struct koda_queues *queues = &proxy->queues;
	struct koda_loop *loop = proxy->loop;

	koda_queue_add(loop, &queues->head, koda_bounds.head, on_conn_late);
	koda_queue_add(loop, &queues->idle, koda_bounds.idle, on_conn_late);
	koda_queue_add(loop, &queues->linger, koda_bounds.linger, on_conn_late);
	koda_queue_add(loop, &queues->connect, koda_bounds.connect, koda_reach_late);
	koda_queue_add(loop, &queues->ask, koda_bounds.ask, koda_reach_late);
	koda_queue_add(loop, &queues->attempt, koda_bounds.attempt, koda_reach_attempt_late);
	koda_queue_add(loop, &queues->retry, koda_bounds.retry, koda_accept_retry);
}

/* How many of what there may be, so that the descriptors are enough for all of it. */
static int set_ceilings(struct koda_proxy *proxy, size_t files, struct koda_error *err)
{
	size_t pipes = files / 16 < PIPES_MAX ? files / 16 : PIPES_MAX;
	size_t conns;

	if (files < (size_t)4 * KODA_DESCRIPTORS_OWN)
		return koda_fail(err, KODA_E_LIMIT, 0, "%zu descriptors are too few", files);
	conns = (files - KODA_DESCRIPTORS_OWN - 2 * pipes) / 2;
	proxy->tenant_max = koda_bounds.tenants;
	proxy->tenant_memory_max = koda_bounds.tenant_memory;
	proxy->budget.left = (ptrdiff_t)koda_bounds.memory;
	proxy->conn_max = conns < koda_bounds.conns ? conns : koda_bounds.conns;
	proxy->tenant_conn_max = proxy->conn_max / 2 < koda_bounds.tenant_conns
					 ? proxy->conn_max / 2
					 : koda_bounds.tenant_conns;
	return koda_relay_init(&proxy->relay, (unsigned int)pipes, err);
}

/* Of a connection, besides what its budget counts: itself, and ordinary buffers for both directions
 * and for an upstream proxy. */
#define CONN_MEMORY ((size_t)24 << 10)
/* Rules of a sandbox; a host that has more of them gets fewer sandboxes. */
#define TENANT_MEMORY ((size_t)64 << 10)
/* The program itself, authorities, certificates that are kept, what the resolver needs. */
#define OWN_MEMORY ((size_t)128 << 20)
#define STACK_MAX  ((size_t)8 << 20)

/* What all ceilings together come to, and half of that again: an allocation that fails is the end
 * of one connection, so none should fail because of this as long as the ceilings hold. */
static size_t memory_max(const struct koda_proxy *proxy)
{
	struct rlimit stack;
	size_t each = STACK_MAX;
	size_t sum = OWN_MEMORY + proxy->conn_max * CONN_MEMORY + koda_bounds.memory +
		     proxy->tenant_max * TENANT_MEMORY;

	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY &&
	    stack.rlim_cur > each)
		each = stack.rlim_cur;
	return sum + sum / 2 + KODA_RESOLVE_THREADS * each;
}

/* The host's own choice of trusted authorities, as its other programs know it. */
static const char *trust_file(char **envp)
{
	static const char name[] = "SSL_CERT_FILE=";

	for (; *envp; envp++)
		if (strncmp(*envp, name, sizeof(name) - 1) == 0)
			return *envp + sizeof(name) - 1;
	return NULL;
}

/* Everything that is not allowed any more afterwards, then the locks, outermost first. */
static int set_up(struct koda_proxy *proxy, char **envp, struct koda_error *err)
{
	size_t files = 0;
	int r = egress_upstream_read(&proxy->upstream, envp, err);

	if (r == KODA_OK)
		r = koda_lock_descriptors(err);
	/* Without it only a policy that terminates TLS is refused. */
	if (r == KODA_OK && koda_tls_open_trust(trust_file(envp), &proxy->trust, NULL) < 0)
		proxy->trust = -1;
	if (r == KODA_OK)
		r = koda_lock_process(&files, err);
	if (r == KODA_OK)
		r = set_ceilings(proxy, files, err);
	if (r == KODA_OK)
		r = koda_lock_memory(memory_max(proxy), err);
	if (r == KODA_OK)
		r = koda_loop_new(&proxy->loop, err);
	if (r == KODA_OK)
		r = koda_own_open(&proxy->own, err);
	if (r < 0)
		return r;
	koda_link_init(&proxy->tenants);
	set_queues(proxy);
	koda_resolver_init(&proxy->resolver, proxy->loop);
	proxy->reserve = fcntl(KODA_EGRESS_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
	r = koda_resolver_start_threads(&proxy->resolver, err);
	if (r == KODA_OK)
		r = koda_lock_calls(err);
	if (r == KODA_OK)
		r = koda_control_start(proxy, err);
	return r;
}

/* The terminal's signals are for the command and the host; our life is the control socket's. */
static int set_signals(struct koda_error *err)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGXFSZ };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < KODA_ARRAY_LEN(ignored); i++)
		if (sigaction(ignored[i], &ignore, NULL) < 0)
			return koda_fail(err, KODA_E_SYS, 0, "cannot ignore a signal");
	return KODA_OK;
}

/* Nobody can be served; the host tells whoever waits. */
static void give_up(const struct koda_error *err)
{
	struct koda_egress_message why = { .magic = KODA_EGRESS_MAGIC,
					   .kind = KODA_EGRESS_REFUSED };

	(void)snprintf(why.text, sizeof(why.text), "%.60s%s%.90s", err->field,
		       err->field[0] ? ": " : "", err->message);
	(void)send(KODA_EGRESS_CONTROL_FD, &why, sizeof(why), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)fprintf(stderr, "koda-egress: %s\n", why.text);
}

int main(int argc, char **argv, char **envp)
{
	static struct koda_proxy proxy = { .own = KODA_OWN_INIT, .trust = -1, .reserve = -1 };
	struct koda_egress_message ready = { .kind = KODA_EGRESS_READY };
	struct koda_error err = { 0 };
	int r;

	(void)argv;
	if (argc > 1 || !koda_control_is_there()) {
		(void)fputs("koda-egress: koda-sandbox starts this program; it does nothing by "
			    "itself\n",
			    stderr);
		return KODA_EGRESS_FAILED;
	}
	/* A heap for each thread of the resolver would be most of our memory. */
	(void)mallopt(M_ARENA_MAX, 1); /* NOLINT(concurrency-mt-unsafe): no threads yet */
	/* What is large goes back to the system when it is freed. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE); /* NOLINT(concurrency-mt-unsafe) */
	r = set_signals(&err);
	if (r == KODA_OK)
		r = set_up(&proxy, envp, &err);
	if (r < 0) {
		give_up(&err);
		return KODA_EGRESS_FAILED;
	}
	(void)malloc_trim(0);
	(void)koda_report(&proxy.reports, &ready);
	koda_loop_run(proxy.loop);
	/* Whatever is open ends with us, and nobody is left to tell. */
	_exit(0);
}
