/* SPDX-License-Identifier: MIT */
/* A hint as a struct: its text, its effect on a policy, and several of them as one. */
#ifndef KODA_POLICY_HINT_H
#define KODA_POLICY_HINT_H

#include "base/buf.h"
#include "policy/json.h"
#include "policy/policy.h"

#include <koda/hint.h>

#define KODA_HINT_FLOOR_MAX 64

struct koda_hint {
	struct koda_policy *add;         /* owned: what it states is added */
	struct koda_policy *remove;      /* owned: entries of its lists are taken away */
	char floor[KODA_HINT_FLOOR_MAX]; /* if not "", no policy allows it */
};

/* Makes a hint that changes nothing; koda_hint_clear releases it. Fails: NOMEM. */
KODA_CHECK int koda_hint_init(struct koda_hint *hint, struct koda_error *err);
/* A hint that is all zero is fine. */
void koda_hint_clear(struct koda_hint *hint);

/* Reads a hint out of a document. Fails: as koda_hint_parse. */
KODA_CHECK int koda_hint_read(const struct koda_json *value, struct koda_hint *ret_hint,
			      struct koda_error *err);
/* Reads a hint, with strict rules as for a policy. ret_hint is zero, or as koda_hint_init leaves
 * it. Fails: POLICY, LIMIT, NOMEM. */
KODA_CHECK int koda_hint_parse(struct koda_span text, struct koda_hint *ret_hint,
			       struct koda_error *err);
/* Appends the JSON of a hint; nothing for one that changes nothing. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_hint_emit(const struct koda_hint *hint, struct koda_buf *out);
/* Adds the changes of other to hint; the larger of two limits. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_hint_merge(struct koda_hint *hint, const struct koda_hint *other,
			       struct koda_error *err);
/* Makes the changed copy of a policy. Fails: DENIED for a floor, LIMIT, NOMEM. */
KODA_CHECK int koda_hint_change(const struct koda_hint *hint, const struct koda_policy *policy,
				struct koda_policy **ret_policy, struct koda_error *err);

#define koda_auto_hint __attribute__((cleanup(koda_hint_clear)))

#endif
