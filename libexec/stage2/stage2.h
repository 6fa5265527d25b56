/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox-stage2, the launcher. Three processes run this program:
 *
 *   guardian  outside; starts init at once, holds the lifeline, makes and removes placeholders
 *   init      pid 1 of the new namespaces; builds the mount view, reaps, forwards signals, starts
 *   command   locks itself down, checks that it is locked down, becomes the command
 *
 * Nothing here returns an error: a op that fails is reported and ends everything (main.c).
 */
#ifndef KODA_STAGE2_H
#define KODA_STAGE2_H

#include "wire/op.h"

#include <stdbool.h>
#include <sys/types.h>

struct plan {
	const char *bytes;
	size_t len;
};

/* Reports "op path: errno" to the runner and exits with KODA_STAGE2_FAILED. */
__attribute__((noreturn)) void koda_stage2_fail(const char *op, const char *path, int sys_errno);

/* Messages to the runner (report.c); kind is an enum koda_report_kind. */
void koda_report_send(uint32_t kind, int status, int sys_errno, const char *step, const char *path);
/* Hands a descriptor out. */
void koda_report_give(uint32_t kind, int fd);

/* Placeholders (hold.c). Undoing removes only what nobody else holds and nothing was put into. */
void koda_hold_all(const struct plan *plan);
void koda_hold_undo(void);

/* Maps the plan, which must be sealed and sound, and closes its descriptor. */
struct plan koda_plan_load(void);

/* The guardian's clone of itself becomes init (init.c). It does what no plan can change, and goes
 * on when guardian_fd has a byte. */
_Noreturn void koda_init_main(int guardian_fd, uid_t user, gid_t group);

/* The command's own terminal, if the plan has one (terminal.c): init makes it and puts it in the
 * place of its streams, the command takes control of it. */
void koda_terminal_open(const struct plan *plan);
void koda_terminal_control(const struct plan *plan);

/* Mounts (view.c): what is the same for every plan, then the rest. */
void koda_view_prepare(void);
void koda_view_build(const struct plan *plan);

/* Lock-down and self-check of the calling process (lock.c, check.c). */
void koda_lock_limits(const struct plan *plan);
/* Init does this once for itself and the command, which inherits it. */
void koda_lock_bounding_set(void);
void koda_lock_privileges(void);
void koda_lock_landlock(const struct plan *plan);
void koda_lock_filter(const struct plan *plan);
void koda_check_locked(const struct plan *plan);
/* Remembers the namespaces of the guardian, to be compared with later. */
void koda_check_remember_namespaces(void);

/* Becomes the command (command.c). */
_Noreturn void koda_command_main(const struct plan *plan);

#endif
