/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox policy check: one access, one verdict.
 *
 * A path is judged as written and as it resolves. The kernel acts on what it resolves to, so that
 * decides; a rule that denies the path as written denies it too. Only the absence of a rule for
 * the written form does not: a link from elsewhere into the project leads to a writable file.
 */
#include "options.h"

#include "base/diag.h"
#include "base/path.h"
#include "base/show.h"
#include "policy/host.h"
#include "run/survey.h"

#include <koda/rules.h>

#define DEFAULT_PORT 443

enum access {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_CONNECT,
	ACCESS_COUNT
};

static const char *const access_names[] = { "read", "write", "connect", NULL };

struct question {
	enum access access;
	const char *target; /* borrowed from argv */
	bool json;
};

struct answer {
	enum access access;
	char *target;          /* owned; absolute path or host */
	char *resolved;        /* owned; NULL for a host */
	struct koda_host host; /* of connect, if it is one */
	bool is_host;
	uint16_t port;
	struct koda_rules *rules; /* owned; the verdict borrows from it */
	struct koda_verdict verdict;
};

static void clear_answer(struct answer *answer)
{
	free(KODA_TAKE(answer->target));
	free(KODA_TAKE(answer->resolved));
	koda_rules_free(KODA_TAKE(answer->rules));
}

/* --- the question --- */

static int parse_access(const struct cli_call *call, const char *word, enum access *ret_access,
			struct koda_error *err)
{

	for (int i = 0; i < ACCESS_COUNT; i++) {
		if (strcmp(word, access_names[i]) == 0) {
			*ret_access = (enum access)i;
			return KODA_OK;
		}
	}
	return koda_cli_unknown(call, "access", word, access_names, err);
}

/* The host, without the brackets if they hold an IPv6 address, and the port. */
static int find_host(const struct question *question, struct answer *answer, struct koda_error *err)
{
	struct koda_span host;
	int r = koda_host_split(koda_span_of(question->target), &host, &answer->port, err);

	if (r < 0)
		return r;
	if (answer->port == 0)
		answer->port = DEFAULT_PORT;
	if (host.len == 0 || koda_span_is(host, "[]"))
		return koda_fail(err, KODA_E_INVALID, 0, "there is no host in it");
	answer->is_host = koda_host_parse(host, &answer->host, NULL) == KODA_OK;
	if (answer->is_host && host.ptr[0] == '[')
		host = (struct koda_span){ host.ptr + 1, host.len - 2 };
	answer->target = strndup(host.ptr, host.len);
	return answer->target ? KODA_OK : koda_fail_nomem(err);
}

static int read_question(const struct cli_call *call, struct cli_shape *shape,
			 struct question *question, struct koda_error *err)
{
	enum {
		OPT_JSON = CLI_OPT_OWN
	};
	static const struct option longs[] = {
		CLI_SHAPE_OPTIONS, { "json", no_argument, NULL, OPT_JSON }, CLI_HELP_OPTION, { 0 }
	};
	static const struct cli_syntax syntax = { ":h", longs };
	int option;
	int r;

	koda_cli_start_options();
	while ((r = koda_cli_next_option(call, &syntax, &option, err)) > 0) {
		if (option == 'h')
			return koda_cli_help(call->name, err);
		if (option == OPT_JSON) {
			question->json = true;
			continue;
		}
		r = koda_cli_shape_take(shape, option, optarg, err);
		if (r < 0)
			return r;
	}
	if (r == KODA_OK)
		r = koda_cli_need_operands(call, 2, "read, write or connect, and a TARGET", err);
	if (r == KODA_OK)
		r = parse_access(call, call->argv[optind], &question->access, err);
	if (r < 0)
		return r;
	question->target = call->argv[optind + 1];
	if (!question->target[0])
		return koda_cli_usage(call, err, "TARGET must not be empty");
	r = koda_cli_shape_one_source(shape, call, err);
	return r < 0 ? r : 1;
}

/* --- the answer --- */

static int make_rules(struct cli_setup *setup, struct answer *answer, struct koda_error *err)
{
	int r = koda_survey_names(&setup->site, setup->policy, err);

	return r < 0 ? r
		     : koda_survey_rules(&setup->site, setup->policy, koda_rules_new, NULL,
					 &answer->rules, err);
}

static struct koda_verdict judge_path(const struct answer *answer)
{
	struct koda_verdict (*ask)(const struct koda_rules *rules, const char *path, size_t len) =
		answer->access == ACCESS_READ ? koda_rules_read : koda_rules_write;
	struct koda_verdict written = ask(answer->rules, answer->target, strlen(answer->target));
	struct koda_verdict real = ask(answer->rules, answer->resolved, strlen(answer->resolved));

	if (real.answer == KODA_ALLOW && written.answer == KODA_DENY &&
	    written.why != KODA_WHY_DEFAULT)
		return written;
	return real;
}

/* The target as written and where the kernel would find it; a relative one starts at --cwd. */
static int find_path(const struct question *question, const struct cli_shape *shape,
		     struct cli_setup *setup, struct answer *answer, struct koda_error *err)
{
	koda_auto_free char *joined = NULL;
	const char *path = question->target;
	int r = KODA_OK;

	if (path[0] != '/' && shape->cwd) {
		r = koda_path_join(setup->cwd, path, &joined, err);
		path = joined;
	}
	if (r < 0)
		return r;
	return koda_site_see(&setup->site, path, &answer->target, &answer->resolved, err);
}

static int find_answer(const struct question *question, const struct cli_shape *shape,
		       struct cli_setup *setup, struct answer *answer, struct koda_error *err)
{
	int r;

	answer->access = question->access;
	if (question->access == ACCESS_CONNECT)
		r = find_host(question, answer, err);
	else
		r = find_path(question, shape, setup, answer, err);
	if (r < 0) {
		koda_cli_blame(err, "%.80s", question->target);
		return r;
	}
	r = make_rules(setup, answer, err);
	if (r < 0)
		return r;
	if (question->access == ACCESS_CONNECT)
		answer->verdict = koda_rules_connect(answer->rules, answer->target,
						     strlen(answer->target), answer->port);
	else
		answer->verdict = judge_path(answer);
	return KODA_OK;
}

/* --- printing it --- */

/* Why nothing but the default decided, in words. */
static const char *default_reason(const struct answer *answer)
{
	bool allowed = answer->verdict.answer == KODA_ALLOW;

	switch (answer->access) {
	case ACCESS_READ:
		return allowed ? "not below fs.deny_read" : "no rule";
	case ACCESS_WRITE:
		return "outside fs.allow_write";
	case ACCESS_CONNECT:
		return allowed ? "net.allowed_domains is empty" : "not in net.allowed_domains";
	case ACCESS_COUNT:
		break;
	}
	return "no rule";
}

static struct koda_span reason(const struct answer *answer)
{
	if (answer->verdict.rule.len > 0)
		return answer->verdict.rule;
	if (answer->verdict.why == KODA_WHY_DEFAULT)
		return koda_span_of(default_reason(answer));
	if (answer->verdict.why == KODA_WHY_INVALID)
		return koda_span_of(answer->access == ACCESS_CONNECT ? "not a host" : "not a path");
	return (struct koda_span){ "", 0 };
}

static const char *answer_name(const struct answer *answer)
{
	return answer->verdict.answer == KODA_ALLOW ? "allow" : "deny";
}

/* The one spelling of the host that rules are about; out is large enough for either kind. */
static void format_host(const struct answer *answer, char out[static KODA_HOST_NAME_MAX + 1])
{
	if (answer->host.is_addr)
		koda_addr_format(&answer->host.addr, out);
	else
		memcpy(out, answer->host.name, answer->host.len + 1);
}

static int add_host(struct koda_buf *out, const char *host, unsigned int port)
{
	bool brackets = host[0] != '[' && strchr(host, ':');
	int r = koda_buf_addf(out, brackets ? "[" : "");

	if (r == KODA_OK)
		r = koda_cli_add_escaped(out, koda_span_of(host));
	return r < 0 ? r : koda_buf_addf(out, "%s:%u", brackets ? "]" : "", port);
}

static int add_hosts(struct koda_buf *out, const struct answer *answer)
{
	char canonical[KODA_HOST_NAME_MAX + 1];
	int r = add_host(out, answer->target, answer->port);

	if (r < 0 || !answer->is_host)
		return r;
	format_host(answer, canonical);
	if (strcmp(answer->target, canonical) == 0)
		return r;
	r = koda_buf_addf(out, " -> ");
	return r < 0 ? r : add_host(out, canonical, answer->port);
}

static int add_paths(struct koda_buf *out, const struct answer *answer)
{
	int r = koda_cli_add_escaped(out, koda_span_of(answer->target));

	if (r < 0 || strcmp(answer->target, answer->resolved) == 0)
		return r;
	r = koda_buf_addf(out, " -> ");
	return r < 0 ? r : koda_cli_add_escaped(out, koda_span_of(answer->resolved));
}

/* A name that is allowed is not the last word. */
static const char *reservation(const struct answer *answer)
{
	bool name = answer->is_host && !answer->host.is_addr;

	return name && answer->verdict.answer == KODA_ALLOW
		       ? "; its addresses are checked when connecting"
		       : "";
}

static int add_line(struct koda_buf *out, const struct answer *answer)
{
	struct koda_span why = reason(answer);
	int r = koda_buf_addf(out, "%s %s ", answer_name(answer), access_names[answer->access]);

	if (r == KODA_OK)
		r = answer->resolved ? add_paths(out, answer) : add_hosts(out, answer);
	if (r == KODA_OK)
		r = koda_buf_addf(out, " (%s%s", koda_why_name(answer->verdict.why),
				  why.len ? ": " : "");
	if (r == KODA_OK)
		r = koda_cli_add_escaped(out, why);
	return r < 0 ? r : koda_buf_addf(out, ")%s\n", reservation(answer));
}

static int add_canonical(struct koda_buf *out, const struct answer *answer)
{
	char canonical[KODA_HOST_NAME_MAX + 1];

	if (!answer->is_host)
		return koda_buf_addf(out, "null");
	format_host(answer, canonical);
	return koda_show_json_string(out, koda_span_of(canonical));
}

static int add_object(struct koda_buf *out, const struct answer *answer)
{
	int r = koda_buf_addf(out, "{\"verdict\":\"%s\",\"access\":\"%s\",\"target\":",
			      answer_name(answer), access_names[answer->access]);

	if (r == KODA_OK)
		r = koda_show_json_string(out, koda_span_of(answer->target));
	if (r == KODA_OK)
		r = koda_buf_addf(out, answer->resolved ? ",\"resolved\":" : ",\"canonical\":");
	if (r == KODA_OK)
		r = answer->resolved ? koda_show_json_string(out, koda_span_of(answer->resolved))
				     : add_canonical(out, answer);
	if (r == KODA_OK && !answer->resolved)
		r = koda_buf_addf(out, ",\"port\":%u", (unsigned int)answer->port);
	if (r == KODA_OK)
		r = koda_buf_addf(out,
				  ",\"why\":\"%s\",\"rule\":", koda_why_name(answer->verdict.why));
	if (r == KODA_OK)
		r = answer->verdict.rule.len ? koda_show_json_string(out, answer->verdict.rule)
					     : koda_buf_addf(out, "null");
	return r < 0 ? r : koda_buf_addf(out, "}\n");
}

static int print_answer(const struct answer *answer, bool json, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	int r = json ? add_object(&text, answer) : add_line(&text, answer);

	if (r < 0)
		return koda_fail_nomem(err);
	r = koda_cli_print(text.ptr, text.len, err);
	if (r < 0)
		return r;
	return answer->verdict.answer == KODA_ALLOW ? CLI_EXIT_OK : CLI_EXIT_DENIED;
}

int koda_cli_policy_check(const struct cli_call *call, struct koda_error *err)
{
	koda_auto_shape struct cli_shape shape = CLI_SHAPE_INIT;
	koda_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct question question = { .target = "" };
	struct answer answer = { 0 };
	int r = read_question(call, &shape, &question, err);

	if (r <= 0)
		return r;
	r = koda_cli_shape_apply(&shape, call->env, &setup, err);
	if (r == KODA_OK)
		r = find_answer(&question, &shape, &setup, &answer, err);
	if (r == KODA_OK)
		r = print_answer(&answer, question.json, err);
	clear_answer(&answer);
	return r;
}
