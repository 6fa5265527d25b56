/* SPDX-License-Identifier: MIT */
/*
 * T-10. Foreign text on its way to a reader. Characters that can drive a terminal, forge a line,
 * hide, or turn the direction of what follows are well-formed and still deceive; one table says
 * which they are, for messages, lines and JSON alike.
 */
#ifndef KODA_BASE_SHOW_H
#define KODA_BASE_SHOW_H

#include "base/buf.h"

/* Length of the character that text begins with if it can be shown as it is; 0 if its first byte
 * has to be escaped. */
size_t koda_show_plain(struct koda_span text);

/* Appends text, with \xNN for each byte that cannot be shown as it is, and for those in also (NUL
 * not among them). Fails: as koda_buf_add. */
KODA_CHECK int koda_show_text(struct koda_buf *out, struct koda_span text, const char *also);

/* Appends text (valid UTF-8) as the inside of a JSON string, with \u escapes for what is not shown
 * as it is. A reader gets the same text back. Fails: as koda_buf_add. */
KODA_CHECK int koda_show_json(struct koda_buf *out, struct koda_span text);
/* Appends a whole JSON string, quotes included; what is not UTF-8 takes the "%" form of
 * koda-sandbox-policy(5). */
KODA_CHECK int koda_show_json_string(struct koda_buf *out, struct koda_span text);

#endif
