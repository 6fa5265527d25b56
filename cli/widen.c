/* SPDX-License-Identifier: MIT */
#include "widen.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <koda/host.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#define DEFAULT_PORT 443

void cli_widen_clear(struct cli_widen *widen)
{
	koda_strv_clear(&widen->domains);
	koda_strv_clear(&widen->reads);
	koda_strv_clear(&widen->writes);
}

int cli_widen_take(struct cli_widen *widen, int option, const char *arg, struct koda_error *err)
{
	if (!arg[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	return koda_strv_add(option == CLI_OPT_ALLOW_DOMAIN ? &widen->domains
			     : option == CLI_OPT_ALLOW_READ ? &widen->reads
							    : &widen->writes,
			     arg, err);
}

/* A kind of access: its option and its list. */
struct kind {
	const char *option;
	enum koda_list list;
	const char *already; /* the note if it is allowed without the option */
};

static const struct kind read_kind = { "--allow-read", KODA_LIST_ALLOW_READ_WITHIN_DENY,
				       "can be read already; it is for what fs.deny_read hides" };
static const struct kind write_kind = { "--allow-write", KODA_LIST_ALLOW_WRITE,
					"can be written already" };
static const struct kind domain_kind = { "--allow-domain", KODA_LIST_ALLOWED_DOMAINS, "" };

/* Writes one line to standard error. */
static void note(const struct kind *kind, const char *arg, const char *format, ...)
	KODA_PRINTF(3, 4);
static void note(const struct kind *kind, const char *arg, const char *format, ...)
{
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT((size_t)64 << 10);
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len >= 0 && koda_buf_addf(&line, CLI_PROGRAM ": %s ", kind->option) == KODA_OK &&
	    cli_output_escape(&line, koda_span_of(arg)) == KODA_OK &&
	    koda_buf_addf(&line, ": ") == KODA_OK &&
	    cli_output_escape(&line, koda_span_of(text)) == KODA_OK &&
	    koda_buf_add(&line, "\n", 1) == KODA_OK)
		cli_output_warn(line.ptr, line.len);
}

/* Asks about a host that the pattern matches. Returns false for a net, which no host stands for. */
static bool ask_domain(const struct koda_rules *rules, const char *pattern,
		       struct koda_verdict *ret_verdict)
{
	char host[KODA_HOST_NAME_MAX + 8];
	struct koda_span name;
	uint16_t port = 0;

	if (strchr(pattern, '/') ||
	    koda_host_split(koda_span_of(pattern), &name, &port, NULL) < 0 ||
	    name.len >= KODA_HOST_NAME_MAX)
		return false;
	(void)snprintf(host, sizeof(host), "%s%.*s", name.ptr[0] == '*' ? "any" : "",
		       (int)name.len - (name.ptr[0] == '*'), name.ptr + (name.ptr[0] == '*'));
	*ret_verdict = koda_rules_connect(rules, host, strlen(host), port ? port : DEFAULT_PORT);
	return true;
}

/* Asks about the resolved path. */
static int ask_path(const struct koda_rules *rules, const struct kind *kind, const char *path,
		    struct koda_verdict *ret_verdict, struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	int r = koda_path_resolve(path, &resolved, err);

	if (r == KODA_OK)
		*ret_verdict = kind == &read_kind
				       ? koda_rules_read(rules, resolved, strlen(resolved))
				       : koda_rules_write(rules, resolved, strlen(resolved));
	return r;
}

/* Adds a host, but not to an empty list, which allows every host: it would then allow only one. */
static int add_domain(const char *pattern, struct koda_policy *policy, struct koda_error *err)
{
	if (koda_policy_count(policy, KODA_LIST_ALLOWED_DOMAINS) > 0 ||
	    !koda_policy_has_network(policy))
		return koda_policy_add(policy, KODA_LIST_ALLOWED_DOMAINS, pattern, strlen(pattern),
				       err);
	note(&domain_kind, pattern,
	     "left out: net.allowed_domains is empty, which allows every public host");
	return KODA_OK;
}

static int add_path(const struct kind *kind, const char *path, const struct koda_rules *rules,
		    struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_free char *absolute = NULL;
	struct koda_verdict verdict;
	int r = ask_path(rules, kind, path, &verdict, err);

	/* Writes to a package cache go to a copy; the person means the host's directory. */
	if (r == KODA_OK && verdict.answer == KODA_ALLOW && verdict.reason != KODA_REASON_CACHE) {
		note(kind, path, "%s", kind->already);
		return KODA_OK;
	}
	if (r == KODA_OK)
		r = koda_path_absolute(path, &absolute, err);
	if (r == KODA_OK && absolute)
		r = koda_policy_add(policy, kind->list, absolute, strlen(absolute), err);
	return r;
}

static int widen_one(const struct kind *kind, const char *arg, const struct koda_rules *rules,
		     struct koda_policy *policy, struct koda_error *err)
{
	int r = kind == &domain_kind ? add_domain(arg, policy, err)
				     : add_path(kind, arg, rules, policy, err);

	if (r < 0)
		cli_error_place(err, "%s %.80s", kind->option, arg);
	return r;
}

typedef int act_on(const struct kind *kind, const char *arg, const struct koda_rules *rules,
		   struct koda_policy *policy, struct koda_error *err);

/* Calls act for every option, with the rules of policy now. */
static int each(const struct cli_widen *widen, struct koda_project *project,
		const struct koda_policy *now, act_on *act, struct koda_policy *policy,
		struct koda_error *err)
{
	const struct {
		const struct kind *kind;
		const struct koda_strv *args;
	} rows[] = { { &domain_kind, &widen->domains },
		     { &read_kind, &widen->reads },
		     { &write_kind, &widen->writes } };
	struct koda_place place = { .size = sizeof(place) };
	struct koda_rules *rules = NULL;
	int r;

	if (widen->domains.len + widen->reads.len + widen->writes.len == 0)
		return KODA_OK;
	r = koda_project_place(project, &place, err);
	if (r == KODA_OK)
		r = koda_rules_new(now, &place, &rules, err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++)
		for (size_t at = 0; at < rows[i].args->len && r == KODA_OK; at++)
			r = act(rows[i].kind, rows[i].args->items[at], rules, policy, err);
	koda_rules_free(rules);
	return r;
}

int cli_widen_apply(const struct cli_widen *widen, struct koda_project *project,
		    struct koda_policy *policy, struct koda_error *err)
{
	return each(widen, project, policy, widen_one, policy, err);
}

/* Returns whether the rule names path itself, and not a directory above it. */
static bool is_own_rule(const struct koda_verdict *verdict, const char *path)
{
	koda_auto_free char *resolved = NULL;

	return koda_path_resolve(path, &resolved, NULL) == KODA_OK &&
	       koda_span_is(verdict->rule, resolved);
}

static int tell_one(const struct kind *kind, const char *arg, const struct koda_rules *rules,
		    struct koda_policy *policy, struct koda_error *err)
{
	struct koda_verdict verdict = { .answer = KODA_ALLOW };
	struct stat st;
	int r = KODA_OK;

	(void)policy;
	if (kind == &domain_kind)
		(void)ask_domain(rules, arg, &verdict);
	else
		r = ask_path(rules, kind, arg, &verdict, err);
	if (r == KODA_OK && verdict.answer == KODA_DENY)
		note(kind, arg, "still denied (%s%s%.*s)", koda_reason_name(verdict.reason),
		     verdict.rule.len ? ": " : "", (int)verdict.rule.len,
		     verdict.rule.len ? verdict.rule.ptr : "");
	else if (r == KODA_OK && kind == &write_kind && is_own_rule(&verdict, arg) &&
		 stat(arg, &st) < 0 && errno == ENOENT)
		note(kind, arg, "does not exist, and commands cannot make it; make it first");
	return r;
}

int cli_widen_tell(const struct cli_widen *widen, struct koda_project *project,
		   struct koda_error *err)
{
	return each(widen, project, koda_project_policy(project), tell_one, NULL, err);
}
