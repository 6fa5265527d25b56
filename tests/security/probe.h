/* SPDX-License-Identifier: MIT */
/* The multi-call probe: acts, what they take, and where they live. */
#ifndef KODA_SECURITY_PROBE_H
#define KODA_SECURITY_PROBE_H

#include <stddef.h>

/* Tries once. 0: it worked; otherwise the errno that refused it. arg has as many items as the
 * table asks for, then NULL. */
typedef int probe_act(char **arg);

struct probe_entry {
	const char *name;
	int args; /* at least */
	probe_act *act;
};

/* Files and names (probe_file.c), system calls and sockets (probe_call.c), the network
 * (probe_net.c), looking around (probe_look.c), other processes (probe_trace.c), memory
 * (probe_memory.c). Each ends with a NULL name. */
extern const struct probe_entry probe_file_acts[];
extern const struct probe_entry probe_call_acts[];
extern const struct probe_entry probe_net_acts[];
extern const struct probe_entry probe_look_acts[];
extern const struct probe_entry probe_trace_acts[];
extern const struct probe_entry probe_memory_acts[];

/* A decimal argument; ends the probe if it is none. */
long probe_number(const char *text);

#endif
