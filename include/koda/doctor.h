/* SPDX-License-Identifier: MIT */
/* What this machine can enforce, found out by trying every backend. */
#ifndef KODA_DOCTOR_H
#define KODA_DOCTOR_H

#include <koda/clause.h>
#include <koda/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KODA_BACKEND_MAX     8
#define KODA_RESTRICTION_MAX 8

struct koda_backend_state {
	const char *name;        /* static */
	bool usable;             /* a command ran in it */
	struct koda_error error; /* if not: what failed */
	struct koda_findings findings;
};

/* A restriction of the container around this process. All texts are static. */
struct koda_restriction {
	const char *name; /* "seccomp", "apparmor", "masked_proc" ... */
	bool matters;     /* it keeps the native backend from working, as far as that can be seen */
	const char *effect; /* what it does to the sandbox */
	const char *remedy; /* setting of the container engine that lifts it; "" if it does not
			       matter */
	const char *cost;   /* the protection that the container loses by that setting */
};

struct koda_diagnosis {
	size_t size;     /* sizeof(struct koda_diagnosis), set by the caller */
	char kernel[65]; /* release of the kernel */
	size_t count;
	struct koda_backend_state backends[KODA_BACKEND_MAX]; /* the best first */
	const char *container; /* static: "Docker", "Kubernetes" ...; "" outside containers */
	const char *ci;        /* static: "GitHub Actions" ...; "" outside continuous integration */
	size_t restriction_count;
	struct koda_restriction restrictions[KODA_RESTRICTION_MAX];
};

/* Runs true in each backend, in an empty directory that is made for it and removed again. host_env
 * as in struct koda_sandbox_options. A backend that does not work is a result, not a failure.
 * Fails: SYS if no directory can be made, NOMEM. */
KODA_API KODA_CHECK int koda_diagnose(const char *const *host_env,
				      struct koda_diagnosis *ret_diagnosis, struct koda_error *err);
/* Returns whether the first backend that works, which KODA_BACKEND_AUTO takes, enforces every
 * containment clause. */
KODA_API bool koda_diagnosis_is_sound(const struct koda_diagnosis *diagnosis);

#ifdef __cplusplus
}
#endif

#endif
