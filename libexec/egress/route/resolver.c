/* SPDX-License-Identifier: MIT */
#include "route/resolver.h"

#include "base/error.h"
#include "io/budget.h"
#include "policy/host.h"
#include "route/hosts_file.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

/* A name that is looked up, and the lookups that wait for it. */
struct query {
	struct egress_link link; /* in running or waiting */
	uv_work_t work;
	struct egress_resolver *resolver;
	struct egress_link lookups;
	uint32_t sandbox;
	bool relative;                     /* the search list of resolv.conf(5) applies */
	char name[KODA_HOST_NAME_MAX + 1]; /* the thread uses this and answers while it runs */
	struct egress_answers answers;
};

void egress_resolver_init(struct egress_resolver *resolver, struct egress_loop *loop)
{
	resolver->loop = loop;
	egress_link_init(&resolver->running);
	egress_link_init(&resolver->waiting);
}

static void collect(const struct addrinfo *list, struct egress_answers *answers)
{
	for (const struct addrinfo *i = list; i && answers->count < EGRESS_RESOLVER_ANSWERS;
	     i = i->ai_next) {
		struct koda_addr *addr = &answers->addrs[answers->count];
		const void *sa = i->ai_addr;

		if (i->ai_family == AF_INET) {
			addr->family = 4;
			memcpy(addr->bytes, &((const struct sockaddr_in *)sa)->sin_addr, 4);
			answers->count++;
		} else if (i->ai_family == AF_INET6 &&
			   ((const struct sockaddr_in6 *)sa)->sin6_scope_id == 0) {
			addr->family = 6;
			memcpy(addr->bytes, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
			answers->count++;
		}
	}
}

static unsigned int count_of(const struct egress_link *ring, uint32_t sandbox)
{
	unsigned int count = 0;

	for (const struct egress_link *l = ring->next; l != ring; l = l->next)
		count += EGRESS_OUTER(struct query, link, (uintptr_t)l)->sandbox == sandbox;
	return count;
}

/* T-83. Returns whether the tenant may use another thread. A few tenants cannot use all of them. */
static bool has_thread(const struct egress_resolver *resolver, uint32_t sandbox)
{
	size_t busy = 0;

	for (const struct egress_link *l = resolver->running.next; l != &resolver->running;
	     l = l->next)
		busy++;
	return count_of(&resolver->running, sandbox) <
	       egress_budget_share(EGRESS_RESOLVER_THREADS, busy, EGRESS_RESOLVER_TENANT);
}

static void tell(struct query *query, const struct egress_answers *answers)
{
	while (!egress_link_alone(&query->lookups)) {
		struct egress_lookup *lookup =
			EGRESS_OUTER(struct egress_lookup, link, query->lookups.next);

		egress_link_remove(&lookup->link);
		lookup->done(lookup, answers);
	}
}

static void ask_system(const char *name, struct egress_answers *answers)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;

	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return;
	collect(list, answers);
	freeaddrinfo(list);
}

static void read_hosts(const char *name, struct egress_answers *answers)
{
	FILE *file = fopen(EGRESS_HOSTS_PATH, "re");

	if (!file)
		return;
	answers->count =
		egress_hosts_file_find(file, name, answers->addrs, EGRESS_RESOLVER_ANSWERS);
	if (answers->count > EGRESS_RESOLVER_ANSWERS)
		answers->count = EGRESS_RESOLVER_ANSWERS;
	(void)fclose(file);
}

/* T-07. Looks up the name with a trailing dot, because the rules have allowed this name only.
 * Without the dot nss_dns and nss_resolve would try domains of the search list. With it they do not
 * consult the hosts file, so this function does. */
static void look_up_absolute(const char *name, struct egress_answers *answers)
{
	char absolute[KODA_HOST_NAME_MAX + 2];

	read_hosts(name, answers);
	if (answers->count > 0)
		return;
	(void)snprintf(absolute, sizeof(absolute), "%s.", name);
	ask_system(absolute, answers);
}

/* Runs in a thread. Not uv_getaddrinfo, which libuv restricts to half of its threads. */
static void look_up(uv_work_t *work)
{
	struct query *query = EGRESS_OUTER(struct query, work, work);

	if (query->relative)
		ask_system(query->name, &query->answers);
	else
		look_up_absolute(query->name, &query->answers);
}

static void on_answer(uv_work_t *work, int status);

static bool start(struct query *query)
{
	egress_link_append(&query->resolver->running, &query->link);
	return uv_queue_work(egress_loop_uv(query->resolver->loop), &query->work, look_up,
			     on_answer) == 0;
}

/* Starts queries whose tenant may use another thread. */
static void start_waiting(struct egress_resolver *resolver)
{
	struct egress_link *next;

	for (struct egress_link *l = resolver->waiting.next; l != &resolver->waiting; l = next) {
		struct query *query = EGRESS_OUTER(struct query, link, l);

		next = l->next;
		if (!egress_link_alone(&query->lookups) && !has_thread(resolver, query->sandbox))
			continue;
		egress_link_remove(&query->link);
		if (egress_link_alone(&query->lookups)) {
			free(query);
			continue;
		}
		if (!start(query)) {
			egress_link_remove(&query->link);
			tell(query, &(struct egress_answers){ 0 });
			free(query);
		}
	}
}

static void on_answer(uv_work_t *work, int status)
{
	struct query *query = EGRESS_OUTER(struct query, work, work);
	struct egress_resolver *resolver = query->resolver;

	(void)status; /* queries are never cancelled */
	egress_link_remove(&query->link);
	tell(query, &query->answers);
	free(query);
	start_waiting(resolver);
}

void egress_resolver_lookup_init(struct egress_lookup *lookup)
{
	egress_link_init(&lookup->link);
	lookup->relative = false;
}

static struct query *find(struct egress_link *ring, const struct egress_lookup *lookup,
			  uint32_t sandbox, const char *name)
{
	for (struct egress_link *l = ring->next; l != ring; l = l->next) {
		struct query *query = EGRESS_OUTER(struct query, link, l);

		if (query->sandbox == sandbox && query->relative == lookup->relative &&
		    strcmp(query->name, name) == 0)
			return query;
	}
	return NULL;
}

int egress_resolver_lookup(struct egress_resolver *resolver, struct egress_lookup *lookup,
			   uint32_t sandbox, const char *name,
			   void (*done)(struct egress_lookup *lookup,
					const struct egress_answers *answers))
{
	struct query *query = find(&resolver->running, lookup, sandbox, name);
	size_t len = strlen(name);

	lookup->done = done;
	if (!query)
		query = find(&resolver->waiting, lookup, sandbox, name);
	if (query) {
		egress_link_append(&query->lookups, &lookup->link);
		return KODA_OK;
	}
	if (len > KODA_HOST_NAME_MAX ||
	    count_of(&resolver->waiting, sandbox) >= EGRESS_RESOLVER_QUEUE)
		return KODA_E_LIMIT;
	query = calloc(1, sizeof(*query));
	if (!query)
		return KODA_E_NOMEM;
	query->resolver = resolver;
	query->sandbox = sandbox;
	query->relative = lookup->relative;
	memcpy(query->name, name, len + 1);
	egress_link_init(&query->lookups);
	if (!has_thread(resolver, sandbox)) {
		egress_link_append(&resolver->waiting, &query->link);
	} else if (!start(query)) {
		egress_link_remove(&query->link);
		free(query);
		return KODA_E_NOMEM;
	}
	egress_link_append(&query->lookups, &lookup->link);
	return KODA_OK;
}

void egress_resolver_cancel(struct egress_lookup *lookup)
{
	egress_link_remove(&lookup->link);
}

static void nothing(uv_work_t *work)
{
	(void)work;
}

static void forget(uv_work_t *work, int status)
{
	(void)status;
	free(work);
}

int egress_resolver_start_threads(struct egress_resolver *resolver, struct koda_error *err)
{
	uv_work_t *work = calloc(1, sizeof(*work));
	char count[8];

	if (!work)
		return koda_fail_nomem(err);
	(void)snprintf(count, sizeof(count), "%d", EGRESS_RESOLVER_THREADS);
	/* libuv starts all threads with the first work, and waits until they run. No thread reads
	 * the environment before. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (setenv("UV_THREADPOOL_SIZE", count, 1) < 0 ||
	    uv_queue_work(egress_loop_uv(resolver->loop), work, nothing, forget) < 0) {
		free(work);
		return koda_fail(err, KODA_E_SYS, 0, "cannot start threads");
	}
	return KODA_OK;
}
