/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox-stage2, the launcher. Three processes run this program:
 *
 *   guardian  outside; starts init at once, holds the lifeline, makes and removes placeholders
 *   init      pid 1 of the new namespaces; builds the mount view, reaps, forwards signals, starts
 *   command   locks itself down, checks that it is locked down, becomes the command
 *
 * Nothing here returns an error: an op that fails is reported and ends everything (main.c).
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

/* There are no namespaces (fence.c). */
extern bool koda_fenced;
/* Something has failed. All processes of the launcher see that, but for those that bubblewrap has
 * started, which tell the guardian. */
extern bool *koda_failed;

/* Reports "op path: errno" to the runner and exits with KODA_STAGE2_FAILED. */
__attribute__((noreturn)) void koda_stage2_fail(const char *op, const char *path, int sys_errno);
/* The same without a report: another process has sent one, or nobody would want it. */
__attribute__((noreturn)) void koda_stage2_leave(void);

/* Messages to the runner (report.c); kind is an enum koda_report_kind. False if nobody takes it. */
bool koda_report_send(uint32_t kind, int status, int sys_errno, const char *step, const char *path);
/* Hands a descriptor out; path is part of the message. */
bool koda_report_give(uint32_t kind, int fd, const char *path);
/* The same in general. */
bool koda_report_pass(int socket, void *bytes, size_t len, const int *fds, size_t count);
#define KODA_PASSED_MAX 4
/* From now on by a descriptor of this number or a higher one. */
void koda_report_move(int least);

/* Placeholders (hold.c). Undoing removes only what nobody else holds and nothing was put into. */
void koda_hold_all(const struct plan *plan);
void koda_hold_undo(void);

/* Maps the plan, which must be sealed and sound, and closes its descriptor. */
struct plan koda_plan_load(int fd);

/* The guardian's watch (main.c): each signal of the runner goes through pass, until that says no,
 * or the lifeline or the process of pidfd ends; that is dead or dying afterwards. */
void koda_guard_watch(int pidfd, int bond, bool (*pass)(int pidfd, int bond, unsigned char number));
/* Waits until the process of pidfd has ended, which was told to (await.c). If that takes longer,
 * the calling process ends, and another one returns when it has come: false, and no process is its
 * child, so that numbers of processes mean nothing any more. */
#define KODA_GUARD_PATIENCE_MS 3000 /* the runner waits for five seconds */
bool koda_guard_await(int pidfd, int patience_ms);
/* To init, where that is ours. */
bool koda_guard_pass(int pidfd, int bond, unsigned char number);

/* Without namespaces: the guardian from init to the end of everything (fence.c), init
 * (fence_init.c), what ends a tree of processes (family.c), the command's temporary directory
 * (scratch.c). */
void koda_fence_guard(void);
_Noreturn void koda_fence_init(int guardian_fd);
/* The guardian and init end each other's children. From here on everything below this process can
 * be ended at once, if Landlock knows signals, and else one by one. */
void koda_family_begin(bool abstract);
/* Ends and reaps everything below this process; false if something would not go. ended is called
 * for each child with what wait gave; it may be NULL. */
bool koda_family_end(void (*ended)(pid_t pid, int status));
void koda_family_kill(void);
/* A signal to everything below this process, if that is possible at once. */
void koda_family_signal(int number);
/* Adds up what count says of everything below this process, until that is more than enough. */
uint64_t koda_family_sum(uint64_t (*count)(const char *pid), uint64_t enough);
/* How many processes of this user there are besides the calling one, which becomes the command; the
 * kernel counts them with the command's. */
void koda_family_count_others(void);
uint64_t koda_family_others(void);
void koda_scratch_make(const struct plan *plan);
/* From now on this process removes it. */
void koda_scratch_adopt(const struct plan *plan);
/* If there is one. */
void koda_scratch_remove(void);

/* Removing what commands made (remove.c). A directory, opened even if its mode would not let its
 * owner; -1 if it is none. */
int koda_remove_open(int at, const char *name);
/* Everything in it, as far as it goes by then (UINT64_MAX: in any time); closes fd. */
void koda_remove_below(int fd, uint64_t until_ms);
uint64_t koda_remove_now(void);

/* What others left behind (sweep.c). The guardian says which plan tells where to look, starts it
 * when a command has taken so many milliseconds, and ends it. */
#define KODA_SWEEP_AFTER_MS 250
void koda_sweep_for(const struct plan *plan);
void koda_sweep_start(void);
void koda_sweep_stop(void);

/* What the guardian has made of the plan on the host, for init to go on with. */
#define KODA_SLOTS_MAX  16
#define KODA_NAMESPACES 7
struct namespace_name {
	char text[32]; /* "mnt:[4026531841]" */
};
struct go {
	struct namespace_name outside[KODA_NAMESPACES]; /* the guardian's own (check.c) */
	bool cgroup;                 /* there is a control group, and init is in it */
	int8_t slot[KODA_SLOTS_MAX]; /* of each cache, in the plan's order; -1: none */
};

/* Slots for copies of caches (cache.c), held until the guardian ends. */
void koda_cache_hold(const struct plan *plan, struct go *ret_go);
/* Takes away, or opens, what the kernel leaves in a slot: a directory that not even its owner can
 * look into, and so could not remove. */
void koda_cache_undo(void);

/* The command's control group (cgroup.c), made by the guardian, which moves init there. False if
 * the plan has none or it cannot be made. */
bool koda_cgroup_open(const struct plan *plan, pid_t init);
/* Moves another process there. */
void koda_cgroup_add(pid_t pid);
/* Tells the runner which of its limits was reached; true if the kernel ended everything for it. */
bool koda_cgroup_report(void);
void koda_cgroup_close(void);

/* The guardian's clone of itself becomes init (init.c). It does what no plan can change; a byte on
 * guardian_fd says that there is a plan, a struct go that the guardian has done its part of it. */
_Noreturn void koda_init_main(int guardian_fd, uid_t user, gid_t group);

/* From a finished view on (init.c): terminal, privileges, the command, and whatever happens until
 * it has ended. way_out: from koda_net_listen; group: there is a control group, and nothing needs
 * to be watched. */
_Noreturn void koda_init_run(const struct plan *plan, int way_out, uid_t user, bool group);

/* Where bubblewrap makes the namespaces (bwrap.c, inside.c): the guardian's part after the plan has
 * come, and the first process inside. open_view: nobody inside can be expected to mount; made:
 * bubblewrap has made the view, too. */
bool koda_guardian_wait_for_plan(void);
void koda_bwrap_guard(bool open_view);
/* Waits for bubblewrap itself, if there is one left. */
void koda_bwrap_wait(void);
_Noreturn void koda_inside_main(bool made);
/* A view that somebody else has made must be the one that the plan describes (inspect.c). */
void koda_inspect_view(const struct plan *plan);
/* Its /proc alone: of our own processes, and no others. */
void koda_inspect_proc(void);

/* User namespaces (user.c): the same user and group inside as outside, and nobody else; a copy of
 * the view in which every mount is locked to what it covers. */
void koda_user_map(uid_t uid, gid_t gid);
void koda_user_seclude(uid_t uid, gid_t gid);
/* The same, but false if this process may not; and all capabilities can still be had. */
bool koda_user_try_seclude(uid_t uid, gid_t gid);

/* The network namespace (net.c), with nothing but a loopback device. */
void koda_net_make(void);
/* The same by a process of its own, from begin to join; until then no descriptor may be closed that
 * is not one's own. */
void koda_net_begin(void);
void koda_net_join(void);
/* Where the command looks for the way out; 0: there is none. */
uint16_t koda_net_port(const struct plan *plan);
/* Listens on the loopback device, at *port or, if that is 0, at one that the kernel chooses. */
int koda_net_listen_at(uint16_t *port);
/* The socket on which the way out begins; -1: there is none. */
int koda_net_listen(const struct plan *plan);

/* The command's own terminal, if the plan has one (terminal.c): init makes it and puts it in the
 * place of its streams, the command takes control of it. */
void koda_terminal_open(const struct plan *plan);
void koda_terminal_control(const struct plan *plan);
/* A signal of the runner's for the command; it may be meant to stop. */
void koda_terminal_pass(pid_t command, int number);
/* Where there is such a terminal nobody would continue a command that stops itself, as editors and
 * shells do when they are told to, and nothing that is typed would end it: so init does. True if it
 * has ended instead. */
bool koda_terminal_continue(pid_t command, int *ret_status);

/* Limits that init watches (watch.c): root's processes, which the kernel does not count, and the
 * memory of the tree. */
void koda_watch_start(const struct plan *plan, bool root, bool memory);
/* How long until the next look, in milliseconds; -1: there is nothing to watch. */
int koda_watch_ms(void);
/* Looks if it is time to. Above a limit the runner is told, and everything but init ends. */
void koda_watch_look(void);

/* Mounts (view.c): what is the same for every plan; what needs the plan alone; the rest. has_proc:
 * there is a /proc of these processes already, and no right to mount another. */
void koda_view_prepare(bool has_proc);
void koda_view_begin(const struct plan *plan);
void koda_view_build(const struct plan *plan, const struct go *go);

/* Lock-down and self-check of the calling process (lock.c, check.c). */
void koda_lock_limits(const struct plan *plan);
/* Init does this once for itself and the command, which inherits it. */
void koda_lock_bounding_set(void);
void koda_lock_privileges(void);
/* Landlock: a ruleset with the plan's rules, then those of a temporary directory and terminal,
 * which are there later, and then the domain. Whoever has the process's privileges can make the
 * ruleset. */
int koda_lock_rules(const struct plan *plan);
void koda_lock_late_rules(const struct plan *plan, int ruleset);
void koda_lock_enter(int ruleset);
/* From now on no socket is to be made in a tree of the host. */
void koda_lock_no_sockets(void);
void koda_lock_filter(const struct plan *plan);
/* The second filter; the descriptor on which calls wait to be answered. */
int koda_lock_asked(const struct plan *plan);
/* Are these the filters of the plan? */
bool koda_lock_same_filters(const struct plan *plan, const struct plan *filters);
/* Signals, and abstract sockets, only to what this process starts from now on. */
void koda_lock_scope(bool abstract);
/* Landlock's version; less than 1 without it. */
long koda_lock_abi(void);
void koda_check_locked(const struct plan *plan);
/* The same without namespaces. */
void koda_check_fenced(const struct plan *plan, bool bounded);
/* The namespaces of the guardian, to be compared with later; told by it, taken by whoever starts
 * the command. */
void koda_check_tell_outside(struct namespace_name ret_names[KODA_NAMESPACES]);
void koda_check_take_outside(const struct namespace_name names[KODA_NAMESPACES]);
/* The view cannot be locked: that no socket can be made in it is checked instead. */
void koda_check_open_view(void);
/* Remembers those in which the view was built: the command must not be in them either. */
void koda_check_remember_view(void);

/* Descriptors that the host hands over (handed.c): whoever starts the command takes them, the
 * command gives each its number, and then nobody else has them any more. */
void koda_handed_take(const struct plan *plan);
void koda_handed_give(void);
void koda_handed_drop(void);

/* Becomes the command (command.c): what no plan changes, what the plan says, the last part. */
void koda_command_begin(void);
void koda_command_settle(const struct plan *plan);
_Noreturn void koda_command_become(const struct plan *plan);
/* Starts the process that does all of it, and returns when it has become the command, or has not.
 */
pid_t koda_command_start(const struct plan *plan);
/* Can be read from once it has ended. */
int koda_command_hold(pid_t command);

#endif
