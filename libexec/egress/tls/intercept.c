/* SPDX-License-Identifier: MIT */
#include "tls/intercept.h"

#include "base/error.h"

struct egress_intercept {
	bool terminates;
	struct koda_hostindex index;  /* tag: index in sockets */
	struct koda_hostindex except; /* hosts whose TLS is not terminated */
	char **sockets;               /* owned */
	size_t count;
};

static int add_pair(struct egress_intercept *intercept, struct koda_span domain,
		    struct koda_span socket_path, struct koda_error *err)
{
	struct koda_hostrule rule;
	int r = koda_hostrule_parse(domain, &rule, err);

	if (r == KODA_OK)
		r = koda_hostindex_add(&intercept->index, &rule, (uint32_t)intercept->count, err);
	if (r < 0)
		return r;
	intercept->sockets[intercept->count] = strndup(socket_path.ptr, socket_path.len);
	return intercept->sockets[intercept->count++] ? KODA_OK : koda_fail_nomem(err);
}

static int add_excepted(struct egress_intercept *intercept, struct koda_span except,
			struct koda_error *err)
{
	int r = KODA_OK;

	while (except.len > 0 && r == KODA_OK) {
		struct koda_span rest = koda_span_skip(except, 1);
		const char *end = memchr(rest.ptr, '\0', rest.len);
		struct koda_span one = { rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len };
		struct koda_hostrule rule;

		r = koda_hostrule_parse(one, &rule, err);
		if (r == KODA_OK)
			r = koda_hostindex_add(&intercept->except, &rule, 0, err);
		except = koda_span_skip(rest, one.len);
	}
	return r;
}

int egress_intercept_new(const struct koda_policy *policy, bool terminates, struct koda_span except,
			 struct egress_intercept **ret_intercept, struct koda_error *err)
{
	size_t count = koda_policy_socket_map_count(policy);
	struct egress_intercept *intercept = calloc(1, sizeof(*intercept));
	int r;

	if (!intercept)
		return koda_fail_nomem(err);
	intercept->index = (struct koda_hostindex)KODA_HOSTINDEX_INIT;
	intercept->except = (struct koda_hostindex)KODA_HOSTINDEX_INIT;
	intercept->terminates = terminates;
	intercept->sockets = calloc(count + 1, sizeof(*intercept->sockets));
	if (!intercept->sockets) {
		free(intercept);
		return koda_fail_nomem(err);
	}
	r = add_excepted(intercept, except, err);
	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		struct koda_span domain, socket_path;

		koda_policy_get_socket_map(policy, i, &domain, &socket_path);
		r = add_pair(intercept, domain, socket_path, err);
	}
	if (r < 0) {
		egress_intercept_free(intercept);
		return r;
	}
	*ret_intercept = intercept;
	return KODA_OK;
}

void egress_intercept_free(struct egress_intercept *intercept)
{
	if (!intercept)
		return;
	for (size_t i = 0; i < intercept->count; i++)
		free(intercept->sockets[i]);
	free(intercept->sockets);
	koda_hostindex_clear(&intercept->index);
	koda_hostindex_clear(&intercept->except);
	free(intercept);
}

/* Entries come in order of precision, so the last one decides. */
static bool see(void *ctx, const struct koda_hostmark *mark)
{
	uint32_t *found = ctx;

	*found = mark->tag;
	return false;
}

enum egress_intercept_action egress_intercept_host(const struct egress_intercept *intercept,
						   const struct koda_host *host, uint16_t port,
						   const char **ret_socket)
{
	const struct koda_hostquery query = {
		.kind = host->is_addr ? KODA_HOSTRULE_NET : KODA_HOSTRULE_NAME,
		.prefix = host->is_addr ? koda_addr_bits(&host->addr) : 0,
		.port = port,
		.host = host,
	};
	uint32_t found = UINT32_MAX;

	(void)koda_hostindex_covering(&intercept->index, &query, see, &found);
	if (found < intercept->count) {
		*ret_socket = intercept->sockets[found];
		return EGRESS_INTERCEPT_SOCKET;
	}
	found = UINT32_MAX;
	(void)koda_hostindex_covering(&intercept->except, &query, see, &found);
	return intercept->terminates && found == UINT32_MAX ? EGRESS_INTERCEPT_TERMINATE
							    : EGRESS_INTERCEPT_NOT;
}
