/* SPDX-License-Identifier: MIT */
/* Writes replies. What fails on the way is noted, and told at the end. */
#ifndef FSCOMPAT_REPLY_H
#define FSCOMPAT_REPLY_H

#include "base/buf.h"

#include <stdint.h>

/* Codes of errors: name, as clients know it. */
#define FSCOMPAT_CODES(X)                                                                          \
	X(POLICY_DENIED, "policy_denied")                                                          \
	X(IO, "io")                                                                                \
	X(PROTOCOL, "protocol")                                                                    \
	X(INTERNAL, "internal")

enum fscompat_code {
#define FSCOMPAT_CODE_ENUM(name, text) FSCOMPAT_CODE_##name,
	FSCOMPAT_CODES(FSCOMPAT_CODE_ENUM)
#undef FSCOMPAT_CODE_ENUM
};

struct fscompat_reply {
	struct koda_buf frame; /* owned */
	int failure;           /* LIMIT: it is over 1 MiB; NOMEM */
	bool has_elements;     /* of the list that is being written */
};

void fscompat_reply_clear(struct fscompat_reply *reply);
#define fscompat_auto_reply __attribute__((cleanup(fscompat_reply_clear)))

/* Begins a reply; text is its JSON so far. */
void fscompat_reply_begin(struct fscompat_reply *reply, const char *text);
/* Appends JSON as it is. */
void fscompat_reply_add(struct fscompat_reply *reply, const char *text);
void fscompat_reply_number(struct fscompat_reply *reply, uint64_t number);
/* Appends a string. JSON has no bytes that are not UTF-8: U+FFFD stands for each of them. */
void fscompat_reply_string(struct fscompat_reply *reply, struct koda_span text);
/* Appends a comma, unless the next element is the first one of its list. */
void fscompat_reply_element(struct fscompat_reply *reply);
/* Makes it an error: path, if there is one, then what happened. */
void fscompat_reply_error(struct fscompat_reply *reply, enum fscompat_code code,
			  struct koda_span path, const char *message);
/* Completes the frame; a reply that is too large becomes an error. Fails: NOMEM. */
KODA_CHECK int fscompat_reply_end(struct fscompat_reply *reply, struct koda_error *err);

#endif
