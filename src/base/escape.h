/* SPDX-License-Identifier: MIT */
/*
 * T-10. Escapes foreign text. Characters that drive a terminal, forge a line, are invisible or
 * change the direction of text are valid UTF-8 and still deceive a reader. One table lists them for
 * messages, listings and JSON.
 */
#ifndef KODA_BASE_ESCAPE_H
#define KODA_BASE_ESCAPE_H

#include "base/buf.h"

/* Returns the length of the first character of text if it needs no escape, or 0 if its first byte
 * needs one. */
size_t koda_escape_plain(struct koda_span text);

/* Appends text, with \xNN for each byte that needs an escape and for each byte that is in also.
 * Fails: as koda_buf_add. */
KODA_CHECK int koda_escape_text(struct koda_buf *out, struct koda_span text, const char *also);

/* Appends text (valid UTF-8) as the inside of a JSON string, with \u escapes where needed. A
 * JSON reader gets the text back unchanged. Fails: as koda_buf_add. */
KODA_CHECK int koda_escape_json(struct koda_buf *out, struct koda_span text);
/* Appends a whole JSON string, with quotes; text that is not UTF-8 takes the "%" form of
 * koda-sandbox-policy(5). */
KODA_CHECK int koda_escape_json_string(struct koda_buf *out, struct koda_span text);

#endif
