/* SPDX-License-Identifier: MIT */
/* The nine requests of the older protocol, decoded from JSON. */
#ifndef FSCOMPAT_REQUEST_H
#define FSCOMPAT_REQUEST_H

#include "base/buf.h"

#include <koda/fs.h>

struct koda_json;

/* Texts are borrowed from the request and from the text that it was decoded from. */
struct fscompat_request {
	enum koda_fs_op op;
	struct koda_span path;  /* GLOB, GREP: where the search begins */
	struct koda_span text;  /* EDIT: the old text; GLOB, GREP: the pattern */
	struct koda_span text2; /* EDIT: the new text; GREP: the names of files, or empty */
	struct koda_buf bytes;  /* owned; WRITE: the content; GETENV: names, NUL behind each */
	bool has_max;
	uint64_t max; /* READ */
	/* private: */
	struct koda_json *document; /* owned */
	unsigned int accepted;      /* fields of op */
	unsigned int seen;
};

#define FSCOMPAT_REQUEST_INIT                                                                      \
	{                                                                                          \
		.document = NULL                                                                   \
	}
void fscompat_request_clear(struct fscompat_request *request);
#define fscompat_auto_request __attribute__((cleanup(fscompat_request_clear)))

/* Decodes the JSON of a frame. Fields that the request does not have are passed over, as the
 * older worker does. request must be FSCOMPAT_REQUEST_INIT. Fails: POLICY for what is no such JSON,
 * LIMIT, NOMEM. */
KODA_CHECK int fscompat_request_read(struct koda_span text, struct fscompat_request *request,
				     struct koda_error *err);

#endif
