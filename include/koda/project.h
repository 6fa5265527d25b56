/* SPDX-License-Identifier: MIT */
/*
 * A project: a directory on this machine, and the policy that applies to commands there. Hosts that
 * compose policies, ask for verdicts or explain them open one before the sandbox:
 *
 *	koda_project_open -> koda_project_set_policy -> koda_project_narrow, koda_project_deny
 *	                  -> koda_project_rules, or koda_sandbox_open with .project
 *	                  -> koda_project_close
 *
 * The paths of its policy mean files and not spellings. A denied path is kept, and the target of
 * its symbolic links is denied too. An allowed path is replaced by its target; it is dropped if a
 * symbolic link on the way lies in the project or where the policy lets commands write, because a
 * command may have made that link. Policies are compared as they are written, so each one is
 * resolved before it is composed with another.
 *
 * One thread at a time may use a project.
 */
#ifndef KODA_PROJECT_H
#define KODA_PROJECT_H

#include <koda/error.h>
#include <koda/policy.h>
#include <koda/rules.h>

#ifdef __cplusplus
extern "C" {
#endif

struct koda_project;

/* Resolves root (NULL: the working directory; it need not exist) and reads HOME, XDG_*, PATH and
 * GIT_CONFIG_GLOBAL from host_env (NULL-terminated NAME=VALUE) and the user's home from
 * /etc/passwd. Fails: DENIED for a root that would open the machine (/, $HOME, /tmp, system
 * directories), POLICY, SYS, NOMEM. */
KODA_API KODA_CHECK int koda_project_open(const char *root, const char *const *host_env,
					  struct koda_project **ret_project,
					  struct koda_error *err);
/* Frees the project. Sandboxes that were opened with it stay open. NULL is fine. */
KODA_API void koda_project_close(struct koda_project *project);

/* Returns the root without symbolic links, borrowed. */
KODA_API const char *koda_project_root(const struct koda_project *project);
/* Gives the facts that koda_rules_new needs, borrowed until the project is used again. Nothing
 * below the root has been searched for them: use koda_project_rules to decide about an access.
 * Fails: as koda_project_open. */
KODA_API KODA_CHECK int koda_project_place(struct koda_project *project,
					   struct koda_place *ret_place, struct koda_error *err);

/* Copies policy, resolves the copy's paths and makes it the project's policy. On failure the policy
 * stays as it was. Fails: DENIED if the target of a denied path cannot be found out, SYS, LIMIT,
 * NOMEM, INVALID. */
KODA_API KODA_CHECK int koda_project_set_policy(struct koda_project *project,
						const struct koda_policy *policy,
						struct koda_error *err);
/* Returns the policy that applies, borrowed until it changes; NULL before the first
 * koda_project_set_policy. */
KODA_API const struct koda_policy *koda_project_policy(const struct koda_project *project);
/* Composes the policy with a resolved copy of child (koda_policy_compose): the result allows what
 * both allow. On failure the policy stays as it was. Fails: as koda_project_set_policy. */
KODA_API KODA_CHECK int koda_project_narrow(struct koda_project *project,
					    const struct koda_policy *child,
					    struct koda_error *err);
/* Adds a path to KODA_LIST_DENY_READ or KODA_LIST_DENY_WRITE_WITHIN_ALLOW, or a host pattern to
 * KODA_LIST_DENIED_DOMAINS. A relative path starts at the working directory. Where ".." follows a
 * symbolic link, the path as it is spelt and the path as the kernel walks it are both denied.
 * Fails: as koda_project_set_policy, POLICY. */
KODA_API KODA_CHECK int koda_project_deny(struct koda_project *project, enum koda_list list,
					  const char *entry, struct koda_error *err);
/* Hides the credential stores in the user's home (~/.ssh, ~/.aws and so on), also where the policy
 * has a hole in a denied path. Fails: as koda_project_set_policy; INVALID if neither HOME nor
 * /etc/passwd names a home. */
KODA_API KODA_CHECK int koda_project_hide_credentials(struct koda_project *project,
						      struct koda_error *err);

/* Makes path absolute (against the working directory) and resolves its symbolic links as far as it
 * exists. Notes the git directories above it, so that rules made afterwards protect them. Both
 * results are owned by the caller (free). Fails: SYS, NOMEM, INVALID. */
KODA_API KODA_CHECK int koda_project_locate(struct koda_project *project, const char *path,
					    char **ret_absolute, char **ret_resolved,
					    struct koda_error *err);
/* Compiles the rules for the project's policy, with the further names of protected files: symbolic
 * links, hard links and mounts. Ask about resolved paths; koda_project_locate resolves them. Owned
 * by the caller (koda_rules_free). Fails: SYS, LIMIT, NOMEM, INVALID. */
KODA_API KODA_CHECK int koda_project_rules(struct koda_project *project,
					   struct koda_rules **ret_rules, struct koda_error *err);

#ifdef __cplusplus
}
#endif

#endif
