/* SPDX-License-Identifier: MIT */
/* The last phase: sends bytes, and closes when the client has read them. */
#ifndef KODA_EGRESS_CONN_FINAL_ANSWER_H
#define KODA_EGRESS_CONN_FINAL_ANSWER_H

#include "conn/conn.h"

/* Enters the phase; conn->down may still hold bytes, which go first. */
void egress_final_answer_begin(struct egress_conn *conn, struct koda_span bytes);

#endif
