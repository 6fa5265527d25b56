/* SPDX-License-Identifier: MIT */
/*
 * Experimental. Seatbelt profiles (SBPL), the sandbox language of macOS, as text. They can be
 * printed on any system; there is no backend that applies them yet.
 */
#ifndef KODA_SEATBELT_H
#define KODA_SEATBELT_H

#include <koda/error.h>
#include <koda/project.h>
#include <koda/violation.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_seatbelt_options {
	size_t size;         /* sizeof(struct koda_seatbelt_options) */
	uint16_t proxy_port; /* of an egress proxy on the loopback device, the only way to the
			      * network; 0: none */
	bool open_network;   /* every address can be reached, whatever the policy says of hosts */
	const char *tmpdir;  /* NULL, or a directory that is the command's own: writable */
	const char *tag;     /* NULL, or letters, digits and "-" that macOS logs with a denial */
};

/* Renders the project's policy as a profile. The root must exist. options NULL: no network. Owned
 * by the caller (free). Fails: DENIED for what no profile can hold, INVALID, SYS, LIMIT for a
 * profile of more than 1 MiB, NOMEM. */
KODA_API KODA_CHECK int koda_project_seatbelt(struct koda_project *project,
					      const struct koda_seatbelt_options *options,
					      char **ret_text, struct koda_error *err);

/* The most violations that koda_seatbelt_log_parse returns. */
#define KODA_SEATBELT_LOG_MAX 1000
/* A line of a log that is longer does not count. */
#define KODA_SEATBELT_LOG_LINE_MAX ((size_t)256 * 1024)

/* Finds violations in lines that "log stream --style ndjson" of macOS wrote: what the kernel's
 * Sandbox denied. A record's call is the operation, its command_id the tag of the profile that
 * denied it. tag NULL: of every profile of the machine; otherwise of that tag alone. Lines that say
 * anything else do not count, nor do lines that are logged by processes. macOS does not log every
 * denial. At most KODA_SEATBELT_LOG_MAX are returned; the list tells how many are missing. Fails:
 * NOMEM. */
KODA_API KODA_CHECK int koda_seatbelt_log_parse(const char *text, size_t len, const char *tag,
						struct koda_violation_list **ret_list,
						struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
