/* SPDX-License-Identifier: MIT */
/*
 * koda-egress: the proxy through which sandboxes reach the network. A host process starts it with a
 * control socket on descriptor 3. It takes no options and reads no configuration; its environment
 * only names the proxy and the trusted CAs that the host uses. It ends when the host closes the
 * control socket.
 */
#include "accept.h"
#include "base/error.h"
#include "conn/conn.h"
#include "conn/reach.h"
#include "control.h"
#include "io/bounds.h"
#include "io/lock.h"
#include "tls/tls_client.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that neither connections nor pipes use. */
#define RESERVED_FDS 64
/* Limit of pipes. Each needs two descriptors, and few flows are busy at a time. */
#define PIPES_MAX 256
/* Allocations of this size and more use mmap(2). Only rare, large heads are that large; buffers for
 * bodies are smaller. */
#define LARGE (48 * 1024)

static void on_conn_late(struct egress_deadline *deadline)
{
	struct egress_conn *conn = EGRESS_OUTER(struct egress_conn, deadline, deadline);

	conn->phase->late(conn);
}

static void set_queues(struct egress_proxy *proxy)
{
	struct egress_queues *queues = &proxy->queues;
	struct egress_loop *loop = proxy->loop;

	egress_queue_add(loop, &queues->head, egress_bounds.head, on_conn_late);
	egress_queue_add(loop, &queues->idle, egress_bounds.idle, on_conn_late);
	egress_queue_add(loop, &queues->tunnel, egress_bounds.tunnel, on_conn_late);
	egress_queue_add(loop, &queues->linger, egress_bounds.linger, on_conn_late);
	egress_queue_add(loop, &queues->connect, egress_bounds.connect, egress_reach_late);
	egress_queue_add(loop, &queues->ask, egress_bounds.ask, egress_reach_late);
	egress_queue_add(loop, &queues->attempt, egress_bounds.attempt, egress_reach_attempt_late);
	egress_queue_add(loop, &queues->retry, egress_bounds.retry, egress_accept_retry);
}

/* Derives the limits of connections, pipes and memory from the number of descriptors. */
static int set_limits(struct egress_proxy *proxy, size_t files, struct koda_error *err)
{
	size_t pipes = files / 16 < PIPES_MAX ? files / 16 : PIPES_MAX;
	size_t conns;

	if (files < (size_t)4 * RESERVED_FDS)
		return koda_fail(err, KODA_E_LIMIT, 0, "%zu descriptors are too few", files);
	conns = (files - RESERVED_FDS - 2 * pipes) / 2;
	proxy->limits.tenants = egress_bounds.tenants;
	proxy->limits.tenant_memory = egress_bounds.tenant_memory;
	proxy->budget.most = egress_bounds.memory;
	proxy->limits.conns = conns < egress_bounds.conns ? conns : egress_bounds.conns;
	proxy->limits.tenant_conns = proxy->limits.conns / 2 < egress_bounds.tenant_conns
					     ? proxy->limits.conns / 2
					     : egress_bounds.tenant_conns;
	return egress_relay_init(&proxy->relay, (unsigned int)pipes, err);
}

/* Memory of a connection that its budget does not count: the struct, ordinary buffers for both
 * directions, and one for an upstream proxy. */
#define CONN_MEMORY ((size_t)24 << 10)
/* Memory for the rules of a tenant, on average. */
#define TENANT_MEMORY ((size_t)64 << 10)
/* Memory of the program itself, CAs, cached certificates and the resolver. */
#define OWN_MEMORY ((size_t)128 << 20)
#define STACK_MAX  ((size_t)8 << 20)

/* Returns the limit for RLIMIT_DATA: 1.5 times the sum of all limits, and stacks for the
 * resolver's threads. A failed allocation ends a connection, so none should fail while the other
 * limits hold. */
static size_t memory_max(const struct egress_proxy *proxy)
{
	struct rlimit stack;
	size_t each = STACK_MAX;
	size_t sum = OWN_MEMORY + proxy->limits.conns * CONN_MEMORY + egress_bounds.memory +
		     proxy->limits.tenants * TENANT_MEMORY;

	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY &&
	    stack.rlim_cur > each)
		each = stack.rlim_cur;
	return sum + sum / 2 + EGRESS_RESOLVER_THREADS * each;
}

/* Returns the value of SSL_CERT_FILE, or NULL. */
static const char *trust_file(char **envp)
{
	static const char name[] = "SSL_CERT_FILE=";

	for (; *envp; envp++)
		if (strncmp(*envp, name, sizeof(name) - 1) == 0)
			return *envp + sizeof(name) - 1;
	return NULL;
}

/* Does what the locks forbid later, then applies the locks, the most general one first. */
static int set_up(struct egress_proxy *proxy, char **envp, struct koda_error *err)
{
	size_t files = 0;
	int r = egress_upstream_read(&proxy->upstream, envp, err);

	if (r == KODA_OK)
		r = egress_lock_descriptors(err);
	/* Without trusted CAs, only policies that terminate TLS are refused. */
	if (r == KODA_OK && egress_tls_open_trust(trust_file(envp), &proxy->trust, NULL) < 0)
		proxy->trust = -1;
	if (r == KODA_OK)
		r = egress_lock_process(&files, err);
	if (r == KODA_OK)
		r = set_limits(proxy, files, err);
	if (r == KODA_OK)
		r = egress_lock_memory(memory_max(proxy), err);
	if (r == KODA_OK)
		r = egress_loop_new(&proxy->loop, err);
	if (r == KODA_OK)
		r = egress_host_addrs_open(&proxy->host_addrs, err);
	if (r < 0)
		return r;
	proxy->phases = egress_phases;
	proxy->on_conn_ended = egress_accept_again;
	egress_link_init(&proxy->tenants);
	set_queues(proxy);
	egress_turns_init(&proxy->turns);
	egress_resolver_init(&proxy->resolver, proxy->loop);
	proxy->reserve = fcntl(KODA_EGRESS_CONTROL_FD, F_DUPFD_CLOEXEC, 0);
	r = egress_resolver_start_threads(&proxy->resolver, err);
	if (r == KODA_OK)
		r = egress_syscall_filter_install(err);
	if (r == KODA_OK)
		r = egress_control_start(proxy, err);
	return r;
}

/* Ignores signals of the terminal, which are for the command and the host. The proxy ends with its
 * control socket. */
static int set_signals(struct koda_error *err)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGXFSZ };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < KODA_ARRAY_LEN(ignored); i++)
		if (sigaction(ignored[i], &ignore, NULL) < 0)
			return koda_fail(err, KODA_E_SYS, 0, "cannot ignore a signal");
	return KODA_OK;
}

/* Reports to the host that the proxy cannot start. */
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
	static struct egress_proxy proxy = { .host_addrs = EGRESS_HOST_ADDRS_INIT,
					     .trust = -1,
					     .reserve = -1 };
	struct koda_egress_message ready = { .kind = KODA_EGRESS_READY };
	struct koda_error err = { 0 };
	int r;

	(void)argv;
	if (argc > 1 || !egress_control_is_open()) {
		(void)fputs("koda-egress: koda-sandbox starts this program; it does nothing by "
			    "itself\n",
			    stderr);
		return KODA_EGRESS_FAILED;
	}
	/* One arena: by default each of the resolver's threads would get its own. */
	(void)mallopt(M_ARENA_MAX, 1); /* NOLINT(concurrency-mt-unsafe): no threads yet */
	/* Large blocks return to the kernel when they are freed. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE); /* NOLINT(concurrency-mt-unsafe) */
	r = set_signals(&err);
	if (r == KODA_OK)
		r = set_up(&proxy, envp, &err);
	if (r < 0) {
		give_up(&err);
		return KODA_EGRESS_FAILED;
	}
	(void)malloc_trim(0);
	(void)egress_report(&proxy.reports, &ready);
	egress_loop_run(proxy.loop);
	/* Skips destructors: the kernel closes all sockets, and nothing is left to report. */
	_exit(0);
}
