/* SPDX-License-Identifier: MIT */
/* Splits an error message into words, and tells which of them speak of writing or reading. */
#ifndef KODA_RUN_STREAM_STDERR_WORDS_H
#define KODA_RUN_STREAM_STDERR_WORDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Takes the next word off rest: text between quotes, or up to a blank, without punctuation. */
bool koda_stderr_next_word(struct koda_span *rest, struct koda_span *ret_word, bool *ret_quoted);

/* Tells whether the word is a verb of writing ("create", "removing"). */
bool koda_stderr_tells_of_write(struct koda_span word);
/* Counts the verbs of writing in a line. */
size_t koda_stderr_count_of_write(struct koda_span line);
/* Tells whether the line speaks of creating, removing or renaming a name, which changes its
 * directory. */
bool koda_stderr_tells_of_move(struct koda_span line);
/* Tells whether the line is of a program that only reads, or speaks of reading. */
bool koda_stderr_tells_of_read(struct koda_span line);

/* Tells whether a verb follows the word, and no file name: "Cannot open: Permission denied". */
bool koda_stderr_precedes_verb(struct koda_span word);
/* Tells whether the word is the source of a copy: A in "cannot copy 'A' to 'B'". rest: the line
 * behind the word. */
bool koda_stderr_is_copied(struct koda_span line, struct koda_span word, struct koda_span rest);

#endif
