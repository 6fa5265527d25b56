/* SPDX-License-Identifier: MIT */
/*
 * The steps of a launch. A launcher that fails reports the number of the step, and the runner takes
 * text and meaning from this table. Launcher and library are always of one build, so numbers may
 * change with every release.
 */
#ifndef KODA_WIRE_LAUNCH_STEP_H
#define KODA_WIRE_LAUNCH_STEP_H

#include <stdint.h>

/* What the failure of a step says about this machine. */
enum koda_launch_meaning {
	KODA_LAUNCH_MEANS_UNRELATED,    /* nothing about namespaces */
	KODA_LAUNCH_MEANS_IF_DENIED,    /* EPERM, EACCES and ENOSYS mean: no rights in namespaces */
	KODA_LAUNCH_MEANS_NO_NAMESPACES /* any errno means: no namespaces, but for a shortage */
};

/* X(enumerator, text, meaning). The text goes before path and errno in a message. */
/* clang-format off */
#define KODA_LAUNCH_STEPS(X) \
	/* The runner, the plan and the launcher's own processes. */ \
	X(CREATE_NAMESPACES, "create namespaces", NO_NAMESPACES) \
	X(MAP_USER, "write", IF_DENIED) \
	X(PLAN_UNSEALED, "the plan is not sealed", UNRELATED) \
	X(PLAN_SIZE, "the plan has an impossible size", UNRELATED) \
	X(PLAN_MAP, "map the plan", UNRELATED) \
	X(PLAN_MALFORMED, "the plan is malformed", UNRELATED) \
	X(PLAN_BACKEND, "the plan is for another backend", UNRELATED) \
	X(PLAN_COMMAND, "the plan names no command", UNRELATED) \
	X(PLAN_TERMINAL, "the plan has no such terminal", UNRELATED) \
	X(PLAN_FILTER, "the plan has no system-call filter", UNRELATED) \
	X(PLAN_NOTIFY_FILTER, "the plan has no filter for a supervisor", UNRELATED) \
	X(PLAN_OTHER_FILTERS, "the plan has other filters than were installed", UNRELATED) \
	X(PLAN_NESTED, "the plan has a nested mount outside of its trees", UNRELATED) \
	X(MEMORY, "out of memory", UNRELATED) \
	X(SHARE_MEMORY, "share memory", UNRELATED) \
	X(CLOSE_FDS, "close descriptors", UNRELATED) \
	X(KEEP_FD, "keep a descriptor", UNRELATED) \
	X(PLACE_FD, "place a descriptor", UNRELATED) \
	X(BLOCK_SIGNALS, "block signals", UNRELATED) \
	X(WATCH_SIGNALS, "watch signals", UNRELATED) \
	X(UNDUMPABLE, "become undumpable", UNRELATED) \
	X(DUMPABLE, "become dumpable", UNRELATED) \
	X(SET_NAME, "set the name of the process", UNRELATED) \
	X(SUBREAPER, "become the reaper of orphans", UNRELATED) \
	X(RUNNER_GONE, "the runner is gone", UNRELATED) \
	X(RUNNER_PEER, "find the process of the runner", UNRELATED) \
	X(RUNNER_PIDFD, "open a pidfd of the runner", UNRELATED) \
	X(INIT_GONE, "init is gone", UNRELATED) \
	X(INIT_START, "start init", UNRELATED) \
	X(INIT_PIDFD, "open a pidfd of init", UNRELATED) \
	X(INIT_PIPE, "make a pipe", UNRELATED) \
	X(INIT_SOCKET, "make a socket", UNRELATED) \
	X(INIT_PDEATHSIG, "tie init to the guardian", UNRELATED) \
	/* Placeholders. */ \
	X(PARENT_OPEN, "open the directory of a protected name", UNRELATED) \
	X(PARENT_LOCK, "lock the directory of a protected name", UNRELATED) \
	X(PARENT_LOCKED, "another process keeps the directory locked", UNRELATED) \
	X(RESERVE, "reserve a protected name", UNRELATED) \
	X(RESERVE_APPEARED, "a protected name appeared meanwhile", UNRELATED) \
	X(STORE_OPEN, "open the store of placeholders", UNRELATED) \
	X(STORE_REPLACED, "the store of placeholders was replaced", UNRELATED) \
	/* Control groups. */ \
	X(CGROUP_LIMIT, "set a limit of the control group", UNRELATED) \
	X(CGROUP_LIMIT_LOST, "a limit of the control group did not take", UNRELATED) \
	X(CGROUP_OOM_GROUP, "set memory.oom.group", UNRELATED) \
	X(CGROUP_MOVE, "move the command into its control group", UNRELATED) \
	/* Bubblewrap. */ \
	X(BWRAP_SOCKET, "make a channel to bubblewrap", UNRELATED) \
	X(BWRAP_MEMFD, "make a file in memory", UNRELATED) \
	X(BWRAP_FILE, "keep the contents of a file", UNRELATED) \
	X(BWRAP_START, "start bubblewrap", UNRELATED) \
	X(BWRAP_PIDFD, "open a pidfd of bubblewrap", UNRELATED) \
	X(BWRAP_EXECUTE, "execute bubblewrap", UNRELATED) \
	X(BWRAP_WAIT, "wait for bubblewrap", UNRELATED) \
	X(BWRAP_FAILED, "bubblewrap cannot make the sandbox", UNRELATED) \
	X(BWRAP_MASK, "bubblewrap cannot safely hide a file in a writable tree", UNRELATED) \
	X(INSIDE_PID, "find the first process inside", UNRELATED) \
	X(INSIDE_PIDFD, "open a pidfd of the first process inside", UNRELATED) \
	X(INSIDE_STREAMS, "take the command's streams", UNRELATED) \
	X(INSIDE_VIEW, "the view cannot be made", UNRELATED) \
	/* The view. */ \
	X(PRIVATE_MOUNTS, "make the mounts private", UNRELATED) \
	X(CHANGE_VIEW, "change the view as a whole", IF_DENIED) \
	X(LOCK_VIEW, "lock the view in namespaces of its own", UNRELATED) \
	X(OPEN, "open", UNRELATED) \
	X(CLONE_TREE, "clone the tree at", UNRELATED) \
	X(PATH_CHANGED, "a path changed while the sandbox was being made", UNRELATED) \
	X(PATH_BECAME_LINK, "a path became a link while the sandbox was being made", UNRELATED) \
	X(NESTED_TREES, "too many trees with many mounts", UNRELATED) \
	X(NESTED_DETACH, "detach a copy of", UNRELATED) \
	X(FS_OPEN, "make a file system", IF_DENIED) \
	X(FS_CONFIGURE, "configure a file system for", UNRELATED) \
	X(FS_CREATE, "create a file system for", IF_DENIED) \
	X(FS_MOUNT, "mount a file system for", IF_DENIED) \
	X(FS_COUNT, "too many file systems", UNRELATED) \
	X(MOUNT_POINT, "open the mount point", UNRELATED) \
	X(MOUNT, "mount on", UNRELATED) \
	X(MOUNT_STAT, "examine the file to be mounted", UNRELATED) \
	X(MOUNT_READ_ONLY, "make a mount read-only", IF_DENIED) \
	X(PIN_LINK, "pin the link", UNRELATED) \
	X(FILE_MAKE, "make the file", UNRELATED) \
	X(FILE_WRITE, "write the file", UNRELATED) \
	X(FILE_MODE, "give the file its mode", UNRELATED) \
	X(MASK_MAKE, "make a mask", UNRELATED) \
	X(MASK_OPEN, "open a mask", UNRELATED) \
	X(MASK_CLONE, "clone a mask for", UNRELATED) \
	X(HIDE_OPEN, "open the file to be hidden", UNRELATED) \
	X(HIDE_CLOSED, "a directory above the file to be hidden is closed", UNRELATED) \
	X(HIDE, "hide", UNRELATED) \
	X(HIDE_REPLACED, "hide a file that is replaced again and again", UNRELATED) \
	X(DEVICE_CLONE, "clone a device", IF_DENIED) \
	X(DEVICE_NONE, "not a device", UNRELATED) \
	X(DEVICE_NODE, "make room for a device", UNRELATED) \
	X(DEV_LINK, "make a link in /dev", UNRELATED) \
	X(DEV_DIRECTORY, "make a directory in /dev", UNRELATED) \
	X(DEV_MOUNT, "mount in /dev", UNRELATED) \
	X(HOST_NAME, "set the host name", IF_DENIED) \
	/* The network. */ \
	X(NET_CREATE, "create a network namespace", NO_NAMESPACES) \
	X(NET_LOOPBACK, "bring the loopback up", IF_DENIED) \
	X(NET_LISTEN, "listen for the proxy", UNRELATED) \
	X(NET_START, "start a process for the network", UNRELATED) \
	X(NET_SEND, "pass the network namespace", UNRELATED) \
	X(NET_WAIT, "wait for the network", UNRELATED) \
	X(NET_ENTER, "enter the network namespace", UNRELATED) \
	X(NET_SEND_LISTENER, "pass the listening socket to the runner", UNRELATED) \
	/* The terminal. */ \
	X(TERMINAL_MAKE, "make a terminal", UNRELATED) \
	X(TERMINAL_OPEN, "open the terminal", UNRELATED) \
	X(TERMINAL_STATE, "look at the terminal", UNRELATED) \
	X(TERMINAL_SET, "set up the terminal", UNRELATED) \
	X(TERMINAL_SEND, "pass the terminal to the runner", UNRELATED) \
	X(TERMINAL_TAKE, "take the terminal", UNRELATED) \
	X(TERMINAL_CONTROL, "take control of the terminal", UNRELATED) \
	/* The command and its lock-down. */ \
	X(COMMAND_START, "start the command's process", UNRELATED) \
	X(COMMAND_PIDFD, "open a pidfd of the command", UNRELATED) \
	X(COMMAND_SESSION, "start a session", UNRELATED) \
	X(COMMAND_CWD, "enter", UNRELATED) \
	X(FDS_RECEIVE, "receive the descriptors that the host passes", UNRELATED) \
	X(FDS_OTHERS, "the host passes other descriptors than planned", UNRELATED) \
	X(FDS_REFUSED, "a descriptor cannot be passed", UNRELATED) \
	X(FDS_PLACE, "place a descriptor below the limit of open files", UNRELATED) \
	X(RLIMIT_GET, "look at a resource limit", UNRELATED) \
	X(RLIMIT_SET, "set a resource limit", UNRELATED) \
	X(RLIMIT_LOST, "a resource limit did not take", UNRELATED) \
	X(CAPBSET_DROP, "drop a capability", UNRELATED) \
	X(CAPABILITIES_DROP, "drop capabilities", UNRELATED) \
	X(NO_NEW_PRIVS, "no_new_privs did not take", UNRELATED) \
	X(KEYRING, "leave the session keyring", UNRELATED) \
	X(FILTER_INSTALL, "install the system-call filter", UNRELATED) \
	X(NOTIFY_FILTER_INSTALL, "supervise connections and files", UNRELATED) \
	X(LANDLOCK_MISSING, "Landlock is not available", UNRELATED) \
	X(LANDLOCK_CREATE, "create a Landlock ruleset", UNRELATED) \
	X(LANDLOCK_OPEN, "open for Landlock", UNRELATED) \
	X(LANDLOCK_STAT, "look at", UNRELATED) \
	X(LANDLOCK_STAT_EXACT, "examine the file that Landlock is to grant", UNRELATED) \
	X(LANDLOCK_RULE, "add a Landlock rule for", UNRELATED) \
	X(LANDLOCK_ENTER, "enter the Landlock domain", UNRELATED) \
	X(LANDLOCK_SCOPE, "keep signals within the sandbox", UNRELATED) \
	/* The landlock backend. */ \
	X(SCRATCH_MAKE, "make a temporary directory", UNRELATED) \
	X(SCRATCH_LOCK, "lock the temporary directory", UNRELATED) \
	X(SCRATCH_FILL, "fill the temporary directory", UNRELATED) \
	X(PROCTREE_LIST, "list child processes by", UNRELATED) \
	X(PROCTREE_HIDDEN, "a process hides from being counted, and all were ended", UNRELATED) \
	X(TOKEN_MAKE, "make a token", UNRELATED) \
	X(LISTENER_SEND, "pass the notify filter", UNRELATED) \
	X(LISTENER_RECEIVE, "receive the notify filter", UNRELATED) \
	X(COMMAND_NEEDS_SEND, "pass descriptors to the command", UNRELATED) \
	X(COMMAND_NEEDS_RECEIVE, "receive the descriptors of the command", UNRELATED) \
	X(COMMAND_STREAMS, "take the streams", UNRELATED) \
	X(COMMAND_PID_SEND, "pass the command's pid to the guardian", UNRELATED) \
	X(BROKER_START, "supervise system calls", UNRELATED) \
	X(BROKER_CONNECT_START, "supervise connections", UNRELATED) \
	X(REPORTER_START, "watch for calls that are refused", UNRELATED) \
	/* The self-check. */ \
	X(NAMESPACES_READ, "look at namespaces", UNRELATED) \
	X(NAMESPACE_READ, "look at a namespace", UNRELATED) \
	X(CHECK_HOST_NAMESPACE, "self-check: still in the host's namespace", UNRELATED) \
	X(CHECK_VIEW_NAMESPACE, "self-check: still where the view was built", UNRELATED) \
	X(CHECK_STATE, "self-check: a process attribute differs", UNRELATED) \
	X(CHECK_CAPABILITIES, "self-check: look at capabilities", UNRELATED) \
	X(CHECK_FILTER, "self-check: the system-call filter does not answer", UNRELATED) \
	X(CHECK_RANDOM, "self-check: no random bytes", UNRELATED) \
	X(CHECK_WRITABLE, "self-check: writing is possible in", UNRELATED) \
	X(CHECK_WRITE, "self-check: cannot try to write in", UNRELATED) \
	X(CHECK_READABLE, "self-check: reading is possible at", UNRELATED) \
	X(CHECK_READ, "self-check: cannot try to read", UNRELATED) \
	X(CHECK_SOCKET_MADE, "self-check: a socket can be made in", UNRELATED) \
	X(CHECK_SOCKET, "self-check: cannot try to make a socket in", UNRELATED) \
	X(CHECK_FAMILY_FOUND, "self-check: there are sockets of the kind", UNRELATED) \
	X(CHECK_FAMILY, "self-check: cannot try sockets of the kind", UNRELATED) \
	X(CHECK_LANDLOCK, "self-check: Landlock is gone", UNRELATED) \
	X(CHECK_SIGNALS, "self-check: signals leave the sandbox", UNRELATED) \
	X(CHECK_VIEW, "self-check: the view is not as planned at", UNRELATED) \
	X(CHECK_STAT, "self-check: look at", UNRELATED) \
	X(CHECK_OPEN, "self-check: open", UNRELATED) \
	X(CHECK_READ_FILE, "self-check: read", UNRELATED) \
	X(CHECK_MOUNT_TABLE, "self-check: read the table of mounts", UNRELATED) \
	X(CHECK_MOUNT_ID, "self-check: which mount is at", UNRELATED)
/* clang-format on */

enum koda_launch_step {
	KODA_LAUNCH_NONE, /* the report is about no step */
#define KODA_LAUNCH_ENUMERATOR(name, text, meaning) KODA_LAUNCH_##name,
	KODA_LAUNCH_STEPS(KODA_LAUNCH_ENUMERATOR)
#undef KODA_LAUNCH_ENUMERATOR
	KODA_LAUNCH_STEP_COUNT
};

/* Returns the text of a step; "" for KODA_LAUNCH_NONE and numbers that are no step. */
const char *koda_launch_step_text(uint32_t step);
/* Returns the meaning of a step; KODA_LAUNCH_MEANS_UNRELATED for numbers that are no step. */
enum koda_launch_meaning koda_launch_step_meaning(uint32_t step);

#endif
