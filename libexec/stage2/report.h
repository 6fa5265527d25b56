/* SPDX-License-Identifier: MIT */
/* Messages to the runner on the status socket (wire/report.h). */
#ifndef KODA_STAGE2_REPORT_H
#define KODA_STAGE2_REPORT_H

#include "wire/launch_step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends a report; kind is an enum koda_report_kind. Returns false if it could not be sent. A runner
 * that is gone is noticed by the lifeline. */
bool stage2_report_send(uint32_t kind, int status);
/* Sends a record that is no struct koda_report; without wait, only if enough room is left for all
 * other reports. */
bool stage2_report_send_record(const void *record, size_t len, bool wait);
/* Sends a report of a failure: of a step (KODA_REPORT_SETUP_FAILED), or of execve
 * (KODA_LAUNCH_NONE, KODA_REPORT_EXEC_FAILED). */
bool stage2_report_fail(uint32_t kind, enum koda_launch_step step, const char *path, int sys_errno);
/* Sends a report with a descriptor (SCM_RIGHTS). Returns false if it could not be sent. */
bool stage2_report_send_fd(uint32_t kind, int fd, const char *path);
/* Sends bytes with up to STAGE2_PASSED_MAX descriptors on any Unix socket. */
bool stage2_report_pass_fds(int socket, void *bytes, size_t len, const int *fds, size_t count);
#define STAGE2_PASSED_MAX 4
/* Receives a byte with one descriptor. Returns -1 with errno, which is 0 if the other side is gone
 * or has sent none. */
int stage2_report_receive_fd(int socket);
/* Moves the status socket to a descriptor number of at least least. Returns false with errno. */
bool stage2_report_move(int least);

#endif
