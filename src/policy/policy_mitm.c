/* SPDX-License-Identifier: MIT */
/* The "mitm" object of a policy: a CA bundle, and domains that go to a Unix-socket proxy. */
#include "policy/policy.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/hostrule.h"

struct koda_span koda_policy_ca_bundle(const struct koda_policy *policy)
{
	if (!policy->ca_bundle)
		return (struct koda_span){ NULL, 0 };
	return koda_span_of(policy->ca_bundle);
}

/* Returns the normal form of path as an owned string. */
static int normal_path(struct koda_span path, char **ret_path, struct koda_error *err)
{
	koda_auto_buf struct koda_buf normal = KODA_BUF_INIT(KODA_PATH_MAX);
	int r = koda_path_normalise(path, &normal, err);

	if (r < 0)
		return r;
	r = koda_buf_take(&normal, ret_path);
	return r < 0 ? koda_fail_nomem(err) : KODA_OK;
}

int koda_policy_set_ca_bundle(struct koda_policy *policy, const char *path, size_t len,
			      struct koda_error *err)
{
	char *normal;
	int r = normal_path((struct koda_span){ path, len }, &normal, err);

	if (r < 0)
		return r;
	free(policy->ca_bundle);
	policy->ca_bundle = normal;
	return KODA_OK;
}

/* Appends one pair; both parts are canonical. A domain that is mapped already is an error: two
 * sockets for one domain have no meaning. */
static int add_pair(struct koda_policy *policy, struct koda_span domain, const char *socket_path,
		    struct koda_error *err)
{
	size_t count = policy->map_domains.count;
	koda_auto_free char *copy = strdup(socket_path);
	char **sockets;
	int r;

	if (koda_set_find(&policy->map_domains, domain) != KODA_SET_NONE)
		return koda_fail(err, KODA_E_POLICY, 0, "the domain is mapped twice");
	sockets = reallocarray(policy->map_sockets, count + 1, sizeof(*sockets));
	if (!copy || !sockets) {
		policy->map_sockets = sockets ? sockets : policy->map_sockets;
		return koda_fail_nomem(err);
	}
	policy->map_sockets = sockets;
	r = koda_set_add(&policy->map_domains, domain, NULL);
	if (r < 0)
		return koda_fail_room(err, r, "socket_map");
	sockets[count] = KODA_TAKE(copy);
	return KODA_OK;
}

int koda_policy_map_socket(struct koda_policy *policy, struct koda_span domain,
			   struct koda_span socket_path, struct koda_error *err)
{
	koda_auto_buf struct koda_buf canonical = KODA_BUF_INIT(KODA_PATH_MAX);
	koda_auto_free char *normal = NULL;
	struct koda_hostrule rule;
	int r;

	if (!policy->ca_bundle)
		return koda_fail(err, KODA_E_INVALID, 0, "socket_map needs a ca_bundle");
	r = koda_hostrule_parse(domain, &rule, err);
	if (r == KODA_OK)
		r = koda_hostrule_check_allow(&rule, err);
	if (r == KODA_OK)
		r = koda_hostrule_format(&rule, &canonical, err);
	if (r == KODA_OK)
		r = normal_path(socket_path, &normal, err);
	if (r < 0 || !normal)
		return r;
	return add_pair(policy, koda_buf_span(&canonical), normal, err);
}

int koda_policy_add_socket_map(struct koda_policy *policy, const char *domain,
			       const char *socket_path, struct koda_error *err)
{
	return koda_policy_map_socket(policy, koda_span_of(domain), koda_span_of(socket_path), err);
}

size_t koda_policy_socket_map_count(const struct koda_policy *policy)
{
	return policy->map_domains.count;
}

void koda_policy_get_socket_map(const struct koda_policy *policy, size_t i,
				struct koda_span *ret_domain, struct koda_span *ret_socket_path)
{
	bool there = i < policy->map_domains.count;

	*ret_domain = koda_set_get(&policy->map_domains, i);
	*ret_socket_path =
		there ? koda_span_of(policy->map_sockets[i]) : (struct koda_span){ NULL, 0 };
}

int koda_policy_copy_mitm(struct koda_policy *dst, const struct koda_policy *src,
			  struct koda_error *err)
{
	if (!src->ca_bundle)
		return KODA_OK;
	dst->ca_bundle = strdup(src->ca_bundle);
	if (!dst->ca_bundle)
		return koda_fail_nomem(err);
	for (size_t i = 0; i < src->map_domains.count; i++) {
		int r = add_pair(dst, koda_set_get(&src->map_domains, i), src->map_sockets[i], err);

		if (r < 0)
			return r;
	}
	return KODA_OK;
}
