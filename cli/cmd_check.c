/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox policy check: one access, one verdict.
 *
 * A path is judged as it is written and as it resolves. The kernel acts on the resolved path, so
 * that one decides. A rule that denies the path as it is written denies it too. The default does
 * not: a link from elsewhere into the project leads to a writable file.
 */
#include "setup.h"

#include "base/error.h"
#include "base/escape.h"
#include "base/path.h"

#include <koda/host.h>

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
	struct koda_host host; /* of connect */
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
	return cli_args_fail_unknown(call, "access", word, access_names, err);
}

/* Finds the host, without the brackets of an IPv6 address, and the port. */
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
	r = koda_host_parse(host, &answer->host, err);
	if (r < 0)
		return r;
	if (host.ptr[0] == '[')
		host = (struct koda_span){ host.ptr + 1, host.len - 2 };
	answer->target = strndup(host.ptr, host.len);
	return answer->target ? KODA_OK : koda_fail_nomem(err);
}

enum {
	OPT_JSON = CLI_OPT_OWN
};

struct check_options {
	struct cli_policy_options *policy;
	struct question *question;
};

static int take_option(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	const struct check_options *options = ctx;

	(void)call;
	if (option != OPT_JSON)
		return cli_policy_options_take(options->policy, option, optarg, err);
	options->question->json = true;
	return KODA_OK;
}

static int read_question(const struct cli_call *call, struct cli_policy_options *options,
			 struct question *question, struct koda_error *err)
{
	static const struct option longs[] = {
		CLI_POLICY_OPTIONS, { "json", no_argument, NULL, OPT_JSON }, CLI_HELP_OPTION, { 0 }
	};
	static const struct cli_syntax syntax = { ":h", longs };
	int r = cli_args_read(call, &syntax, take_option,
			      &(struct check_options){ options, question }, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 2, "read, write or connect, and a TARGET", err);
	if (r == KODA_OK)
		r = parse_access(call, call->argv[optind], &question->access, err);
	if (r < 0)
		return r;
	question->target = call->argv[optind + 1];
	if (!question->target[0])
		return cli_args_fail(call, err, "TARGET must not be empty");
	r = cli_policy_options_check_source(options, call, err);
	return r < 0 ? r : 1;
}

/* --- the answer --- */

static struct koda_verdict judge_path(const struct answer *answer)
{
	struct koda_verdict (*ask)(const struct koda_rules *rules, const char *path, size_t len) =
		answer->access == ACCESS_READ ? koda_rules_read : koda_rules_write;
	struct koda_verdict written = ask(answer->rules, answer->target, strlen(answer->target));
	struct koda_verdict real = ask(answer->rules, answer->resolved, strlen(answer->resolved));

	if (real.answer == KODA_ALLOW && written.answer == KODA_DENY &&
	    written.reason != KODA_REASON_DEFAULT)
		return written;
	return real;
}

/* Finds the target's absolute and resolved path; a relative target starts at --cwd. */
static int find_path(const struct question *question, const struct cli_policy_options *options,
		     struct cli_setup *setup, struct answer *answer, struct koda_error *err)
{
	koda_auto_free char *joined = NULL;
	const char *path = question->target;
	int r = KODA_OK;

	if (path[0] != '/' && options->cwd) {
		r = koda_path_join(setup->cwd, path, &joined, err);
		path = joined;
	}
	if (r < 0)
		return r;
	return koda_project_locate(setup->project, path, &answer->target, &answer->resolved, err);
}

static int find_answer(const struct question *question, const struct cli_policy_options *options,
		       struct cli_setup *setup, struct answer *answer, struct koda_error *err)
{
	int r;

	answer->access = question->access;
	if (question->access == ACCESS_CONNECT)
		r = find_host(question, answer, err);
	else
		r = find_path(question, options, setup, answer, err);
	if (r < 0) {
		cli_error_place(err, "%.80s", question->target);
		return r;
	}
	r = koda_project_rules(setup->project, &answer->rules, err);
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

/* Returns the reason in words if no rule decided. */
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
	if (answer->verdict.reason == KODA_REASON_DEFAULT)
		return koda_span_of(default_reason(answer));
	if (answer->verdict.reason == KODA_REASON_INVALID)
		return koda_span_of("not a path");
	return (struct koda_span){ "", 0 };
}

static const char *answer_name(const struct answer *answer)
{
	return answer->verdict.answer == KODA_ALLOW ? "allow" : "deny";
}

static int add_host(struct koda_buf *out, const char *host, unsigned int port)
{
	bool brackets = host[0] != '[' && strchr(host, ':');
	int r = koda_buf_addf(out, brackets ? "[" : "");

	if (r == KODA_OK)
		r = cli_output_escape(out, koda_span_of(host));
	return r < 0 ? r : koda_buf_addf(out, "%s:%u", brackets ? "]" : "", port);
}

static int add_hosts(struct koda_buf *out, const struct answer *answer)
{
	char canonical[KODA_HOST_NAME_MAX + 1];
	int r = add_host(out, answer->target, answer->port);

	if (r < 0)
		return r;
	koda_host_format(&answer->host, canonical);
	if (strcmp(answer->target, canonical) == 0)
		return r;
	r = koda_buf_addf(out, " -> ");
	return r < 0 ? r : add_host(out, canonical, answer->port);
}

static int add_paths(struct koda_buf *out, const struct answer *answer)
{
	int r = cli_output_escape(out, koda_span_of(answer->target));

	if (r < 0 || strcmp(answer->target, answer->resolved) == 0)
		return r;
	r = koda_buf_addf(out, " -> ");
	return r < 0 ? r : cli_output_escape(out, koda_span_of(answer->resolved));
}

/* Returns the remark for a name that is allowed: its addresses are not known yet. */
static const char *reservation(const struct answer *answer)
{
	bool name = answer->access == ACCESS_CONNECT && !answer->host.is_addr;

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
		r = koda_buf_addf(out, " (%s%s", koda_reason_name(answer->verdict.reason),
				  why.len ? ": " : "");
	if (r == KODA_OK)
		r = cli_output_escape(out, why);
	return r < 0 ? r : koda_buf_addf(out, ")%s\n", reservation(answer));
}

static int add_canonical(struct koda_buf *out, const struct answer *answer)
{
	char canonical[KODA_HOST_NAME_MAX + 1];

	koda_host_format(&answer->host, canonical);
	return koda_escape_json_string(out, koda_span_of(canonical));
}

static int add_object(struct koda_buf *out, const struct answer *answer)
{
	int r = koda_buf_addf(out, "{\"verdict\":\"%s\",\"access\":\"%s\",\"target\":",
			      answer_name(answer), access_names[answer->access]);

	if (r == KODA_OK)
		r = koda_escape_json_string(out, koda_span_of(answer->target));
	if (r == KODA_OK)
		r = koda_buf_addf(out, answer->resolved ? ",\"resolved\":" : ",\"canonical\":");
	if (r == KODA_OK)
		r = answer->resolved ? koda_escape_json_string(out, koda_span_of(answer->resolved))
				     : add_canonical(out, answer);
	if (r == KODA_OK && !answer->resolved)
		r = koda_buf_addf(out, ",\"port\":%u", (unsigned int)answer->port);
	if (r == KODA_OK)
		r = koda_buf_addf(
			out, ",\"why\":\"%s\",\"rule\":", koda_reason_name(answer->verdict.reason));
	if (r == KODA_OK)
		r = answer->verdict.rule.len ? koda_escape_json_string(out, answer->verdict.rule)
					     : koda_buf_addf(out, "null");
	return r < 0 ? r : koda_buf_addf(out, "}\n");
}

static int print_answer(const struct answer *answer, bool json, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	int r = json ? add_object(&text, answer) : add_line(&text, answer);

	if (r < 0)
		return koda_fail_nomem(err);
	r = cli_output_print(text.ptr, text.len, err);
	if (r < 0)
		return r;
	return answer->verdict.answer == KODA_ALLOW ? CLI_EXIT_OK : CLI_EXIT_DENIED;
}

int cli_cmd_policy_check(const struct cli_call *call, struct koda_error *err)
{
	cli_auto_policy_options struct cli_policy_options options = CLI_POLICY_OPTIONS_INIT;
	cli_auto_setup struct cli_setup setup = CLI_SETUP_INIT;
	struct question question = { .target = "" };
	struct answer answer = { 0 };
	int r = read_question(call, &options, &question, err);

	if (r <= 0)
		return r;
	r = cli_setup_make(&options, call->env, &setup, err);
	if (r == KODA_OK)
		r = find_answer(&question, &options, &setup, &answer, err);
	if (r == KODA_OK)
		r = print_answer(&answer, question.json, err);
	clear_answer(&answer);
	return r;
}
