/* SPDX-License-Identifier: MIT */
/*
 * The environment a command sees, built from nothing: allow-listed names copied from the host,
 * a few extras for the tool that the command's first word names, the values that describe the
 * sandbox, and variables that a person hands through by name. No proxy setting, token or other
 * variable of the host passes.
 */
#ifndef KODA_ENV_H
#define KODA_ENV_H

#include <koda/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Port of the egress proxy on 127.0.0.1 inside the sandbox. */
#define KODA_PROXY_PORT 3128

/* Where a command inside finds the CA certificates when TLS is terminated. */
#define KODA_CA_BUNDLE_NAME   "ca-bundle.pem"
#define KODA_CA_BUNDLE_INSIDE "/run/koda/" KODA_CA_BUNDLE_NAME

struct koda_env_request {
	size_t size;             /* sizeof(struct koda_env_request) */
	const char *const *host; /* NULL-terminated NAME=VALUE, usually environ */
	const char *command;     /* shell text or program; its first word picks the extras */
	const char *cwd;         /* working directory inside */
	bool network;            /* the egress proxy is there */
	bool ca_bundle;          /* TLS is terminated with the CA bundle */
	bool no_sandbox;         /* the host's temporary directory, and nothing says "sandbox" */
	const char *scratch;     /* temporary directory, with the CA bundle in it; NULL: /tmp, and
				  * the bundle is at KODA_CA_BUNDLE_INSIDE */
	const char *const
		*add; /* NULL, or NULL-terminated NAME=VALUE that a person hands through, in
		       * the place of a variable that has this name; a later one wins */
};

/* Makes up the path of a temporary directory below the host's /tmp, as a command gets it that has
 * no /tmp of its own (KODA_BACKEND_LANDLOCK); for .scratch. The directory is not made. Owned by the
 * caller (free). Fails: SYS, NOMEM. */
KODA_API KODA_CHECK int koda_scratch_name(char **ret_path, struct koda_error *err);

/* Builds the environment. *ret_env is NULL-terminated and sorted by name, owned by the caller
 * (koda_env_free). Fails: INVALID, NOMEM. */
KODA_API KODA_CHECK int koda_env_build(const struct koda_env_request *request, char ***ret_env,
				       struct koda_error *err);
KODA_API void koda_env_free(char **env);

/* Returns whether NAME or NAME=VALUE looks like a credential: by a word of its name, such as TOKEN,
 * or by a URL with a password in its value. A guess, so that a person is asked once more. */
KODA_API bool koda_env_looks_secret(const char *variable);

#ifdef __cplusplus
}
#endif

#endif
