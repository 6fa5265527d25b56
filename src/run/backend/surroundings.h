/* SPDX-License-Identifier: MIT */
/*
 * The container around this process: its engine, its restrictions, and the settings of the engine
 * that lift them. These are marks that engines leave, so they explain, and decide nothing.
 */
#ifndef KODA_RUN_BACKEND_SURROUNDINGS_H
#define KODA_RUN_BACKEND_SURROUNDINGS_H

#include "run/backend/machine.h"

#include <koda/doctor.h>

enum koda_container {
	KODA_CONTAINER_NONE = 0,
	KODA_CONTAINER_DOCKER,
	KODA_CONTAINER_PODMAN,
	KODA_CONTAINER_KUBERNETES,
	KODA_CONTAINER_DEV, /* a dev container or a codespace: settings are in devcontainer.json */
	KODA_CONTAINER_OTHER,
	KODA_CONTAINER_COUNT
};

struct koda_surroundings {
	enum koda_container container;
	const char *name;    /* static; "" outside containers */
	const char *ci;      /* static; "" outside continuous integration */
	bool seccomp;        /* a system-call filter is in force */
	bool no_new_privs;   /* set-user-id programs gain nothing */
	bool masked_proc;    /* something is mounted below /proc */
	bool read_only_root; /* / is mounted read-only */
	bool no_temporary;   /* /tmp cannot be written */
	char apparmor[128];  /* profile of this process; "" if unconfined */
};

/* Looks at the files below root ("" for those of this machine) and at host_env. */
void koda_surroundings_look(const char *root, const char *const *host_env,
			    struct koda_surroundings *ret_surroundings);
/* Fills in what doctor tells. native_works: commands run in the native backend, so no restriction
 * matters. */
void koda_surroundings_judge(const struct koda_surroundings *surroundings, bool native_works,
			     const struct koda_machine *machine, struct koda_diagnosis *diagnosis);

#endif
