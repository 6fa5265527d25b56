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
	uv_work_t work;
	struct koda_resolver *resolver;
	struct koda_link lookups;
	uint32_t sandbox;
	char name[KODA_HOST_NAME_MAX + 1]; /* this and answers: the thread's while it runs */
	struct koda_answers answers;
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

/* T-83 no sandbox has more threads than it leaves free: the first one to want many gets half of
 * them, the next one half of the rest, and whoever has none yet finds one. */
static bool has_thread(const struct koda_resolver *resolver, uint32_t sandbox)
{
	unsigned int own = count_of(&resolver->running, sandbox);
	unsigned int busy = 0;

	for (const struct koda_link *l = resolver->running.next; l != &resolver->running;
	     l = l->next)
		busy++;
	return own + busy < KODA_RESOLVE_THREADS;
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

/* In a thread. libuv's own look-up is not used: it counts as slow work, to which libuv gives half
 * of its threads whoever asks. */
static void look_up(uv_work_t *work)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct query *query = KODA_OUTER(struct query, work, work);
	struct addrinfo *list = NULL;

	if (getaddrinfo(query->name, NULL, &hints, &list) != 0)
		return;
	collect(list, &query->answers);
	freeaddrinfo(list);
}

static void on_answer(uv_work_t *work, int status);

static bool start(struct query *query)
{
	koda_link_append(&query->resolver->running, &query->link);
	return uv_queue_work(koda_loop_uv(query->resolver->loop), &query->work, look_up,
			     on_answer) == 0;
}

/* Starts those whose sandbox has a thread left. */
static void start_waiting(struct koda_resolver *resolver)
{
	struct koda_link *next;

	for (struct koda_link *l = resolver->waiting.next; l != &resolver->waiting; l = next) {
		struct query *query = KODA_OUTER(struct query, link, l);

		next = l->next;
		if (!koda_link_alone(&query->lookups) && !has_thread(resolver, query->sandbox))
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

static void on_answer(uv_work_t *work, int status)
{
	struct query *query = KODA_OUTER(struct query, work, work);
	struct koda_resolver *resolver = query->resolver;

	(void)status; /* nothing is ever cancelled */
	koda_link_remove(&query->link);
	tell(query, &query->answers);
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
	if (!has_thread(resolver, sandbox)) {
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
