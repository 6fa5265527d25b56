/* SPDX-License-Identifier: MIT */
/*
 * The worker's end of the socket: frames in, frames out. Output is collected, so that a client with
 * many requests outstanding is answered with few system calls. While the client does not take the
 * output, its frames are still received, as far as there is room: a CANCEL among them is seen while
 * a request runs. Memory is fixed.
 */
#ifndef FSWORKER_CONN_H
#define FSWORKER_CONN_H

#include "wire/fs_frame.h"

#include <stdbool.h>
#include <stdint.h>

struct fsworker_conn {
	int socket;     /* borrowed */
	char *in;       /* owned, as is out */
	size_t at;      /* where the next frame begins */
	size_t scanned; /* where the look-out for CANCEL goes on */
	size_t end;
	char *out;
	size_t waiting;      /* bytes of out */
	uint64_t *cancelled; /* owned: ids of CANCEL frames that are behind at */
	size_t cancelled_count;
	bool ended; /* nothing more will come in */
	bool gone;  /* nothing more can be sent */
};

/* Allocates. Fails: NOMEM. */
KODA_CHECK int fsworker_conn_init(struct fsworker_conn *conn, int socket);

void fsworker_conn_clear(struct fsworker_conn *conn);

enum fsworker_conn_found {
	FSWORKER_CONN_END = 0, /* the client has closed the connection */
	FSWORKER_CONN_FRAME,
	FSWORKER_CONN_WRONG, /* a malformed request */
	FSWORKER_CONN_LATE,  /* the deadline passed */
	FSWORKER_CONN_LOST   /* no frame: the connection cannot go on */
};

/* Waits for the next frame until an absolute deadline, and sends what is collected before it waits.
 * The frame is borrowed until the next call. */
enum fsworker_conn_found fsworker_conn_next(struct fsworker_conn *conn, uint64_t deadline_ns,
					    struct koda_fs_frame *ret_frame);

/* Collects a frame. Returns false if the client is gone. */
bool fsworker_conn_send(struct fsworker_conn *conn, const struct koda_fs_frame *frame);
/* Returns room for a DATA frame of KODA_FS_CHUNK bytes, or NULL if the client is gone. */
char *fsworker_conn_room(struct fsworker_conn *conn);
/* Collects the DATA frame whose content has been put there. Returns false if the client is gone. */
bool fsworker_conn_data(struct fsworker_conn *conn, uint64_t id, size_t len);
/* Sends what is collected. Returns false if the client is gone. */
bool fsworker_conn_flush(struct fsworker_conn *conn);

/* Receives what has come, if there is room. */
void fsworker_conn_look(struct fsworker_conn *conn);
/* Returns true if a CANCEL of that id has come. */
bool fsworker_conn_cancelled(struct fsworker_conn *conn, uint64_t id);

#endif
