/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "base/diag.h"
#include "policy/host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <uv.h>

/* One name on its way, and those who wait for it. */
struct query {
	struct koda_link link; /* running or waiting */
	uv_getaddrinfo_t request;
	struct koda_resolver *resolver;
	struct koda_link lookups;
	uint32_t sandbox;
	char name[KODA_HOST_NAME_MAX + 1];
};

void koda_resolver_init(struct koda_resolver *resolver, struct koda_loop *loop)
{
	resolver->loop = loop;
	koda_link_init(&resolver->running);
	koda_link_init(&resolver->waiting);
}

static void collect(const struct addrinfo *list, struct koda_answers *answers)
{
	for (const struct addrinfo *i = list; i && answers->count < KODA_RESOLVE_ANSWERS;
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

static unsigned int count_of(const struct koda_link *ring, uint32_t sandbox)
{
	unsigned int count = 0;

	for (const struct koda_link *l = ring->next; l != ring; l = l->next)
		count += KODA_OUTER(struct query, link, (uintptr_t)l)->sandbox == sandbox;
	return count;
}

static void tell(struct query *query, const struct koda_answers *answers)
{
	while (!koda_link_alone(&query->lookups)) {
		struct koda_lookup *lookup =
			KODA_OUTER(struct koda_lookup, link, query->lookups.next);

		koda_link_remove(&lookup->link);
		lookup->done(lookup, answers);
	}
}

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *list);

static bool start(struct query *query)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

	koda_link_append(&query->resolver->running, &query->link);
	return uv_getaddrinfo(koda_loop_uv(query->resolver->loop), &query->request, on_answer,
			      query->name, NULL, &hints) == 0;
}

/* Starts those whose sandbox has a thread left. */
static void start_waiting(struct koda_resolver *resolver)
{
	struct koda_link *next;

	for (struct koda_link *l = resolver->waiting.next; l != &resolver->waiting; l = next) {
		struct query *query = KODA_OUTER(struct query, link, l);

		next = l->next;
		if (count_of(&resolver->running, query->sandbox) >= KODA_RESOLVE_SHARE)
			continue;
		koda_link_remove(&query->link);
		if (koda_link_alone(&query->lookups)) {
			free(query);
			continue;
		}
		if (!start(query)) {
			koda_link_remove(&query->link);
			tell(query, &(struct koda_answers){ 0 });
			free(query);
		}
	}
}

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct query *query = KODA_OUTER(struct query, request, request);
	struct koda_resolver *resolver = query->resolver;
	struct koda_answers answers = { 0 };

	koda_link_remove(&query->link);
	if (status == 0)
		collect(list, &answers);
	uv_freeaddrinfo(list);
	tell(query, &answers);
	free(query);
	start_waiting(resolver);
}

void koda_lookup_init(struct koda_lookup *lookup)
{
	koda_link_init(&lookup->link);
}

static struct query *find(struct koda_link *ring, uint32_t sandbox, const char *name)
{
	for (struct koda_link *l = ring->next; l != ring; l = l->next) {
		struct query *query = KODA_OUTER(struct query, link, l);

		if (query->sandbox == sandbox && strcmp(query->name, name) == 0)
			return query;
	}
	return NULL;
}

int koda_lookup_start(struct koda_resolver *resolver, struct koda_lookup *lookup, uint32_t sandbox,
		      const char *name,
		      void (*done)(struct koda_lookup *lookup, const struct koda_answers *answers))
{
	struct query *query = find(&resolver->running, sandbox, name);
	size_t len = strlen(name);

	lookup->done = done;
	if (!query)
		query = find(&resolver->waiting, sandbox, name);
	if (query) {
		koda_link_append(&query->lookups, &lookup->link);
		return KODA_OK;
	}
	if (len > KODA_HOST_NAME_MAX || count_of(&resolver->waiting, sandbox) >= KODA_RESOLVE_QUEUE)
		return KODA_E_LIMIT;
	query = calloc(1, sizeof(*query));
	if (!query)
		return KODA_E_NOMEM;
	query->resolver = resolver;
	query->sandbox = sandbox;
	memcpy(query->name, name, len + 1);
	koda_link_init(&query->lookups);
	if (count_of(&resolver->running, sandbox) >= KODA_RESOLVE_SHARE) {
		koda_link_append(&resolver->waiting, &query->link);
	} else if (!start(query)) {
		koda_link_remove(&query->link);
		free(query);
		return KODA_E_NOMEM;
	}
	koda_link_append(&query->lookups, &lookup->link);
	return KODA_OK;
}

void koda_lookup_cancel(struct koda_lookup *lookup)
{
	koda_link_remove(&lookup->link);
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

int koda_resolver_start_threads(struct koda_resolver *resolver, struct koda_error *err)
{
	uv_work_t *work = calloc(1, sizeof(*work));
	char count[8];

	if (!work)
		return koda_fail_nomem(err);
	(void)snprintf(count, sizeof(count), "%d", KODA_RESOLVE_THREADS);
	/* libuv makes all of them when it first has work, and returns when they run; until then
	 * nobody else reads the environment.
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (setenv("UV_THREADPOOL_SIZE", count, 1) < 0 ||
	    uv_queue_work(koda_loop_uv(resolver->loop), work, nothing, forget) < 0) {
		free(work);
		return koda_fail(err, KODA_E_SYS, 0, "cannot start threads");
	}
	return KODA_OK;
}
