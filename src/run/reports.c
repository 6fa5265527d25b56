/* SPDX-License-Identifier: MIT */
/*
 * T-105. The launcher reports calls that the view refuses, and the rules say which of them is the
 * reason. Records are made of what a command wrote: nothing but their lengths is relied on.
 */
#include "run/reports.h"

#include "base/path.h"
#include "policy/rules.h"
#include "run/command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Records that are taken at a time, so that streams are carried in between. */
#define BATCH 64

const char *koda_reports_obstacle(const struct koda_sandbox *sandbox,
				  const struct koda_command_options *options)
{
	if (!options->report)
		return "not asked for";
	if (!sandbox->backend->reports)
		return "not with this backend";
	return koda_machine_notify_obstacle();
}

/* Returns the path in normal form, owned by the caller; NULL if the record is malformed. */
static char *take_path(const struct koda_report_denied *record, size_t len)
{
	koda_auto_free char *text = NULL;
	char *path = NULL;

	if (record->path_len == 0 ||
	    record->path_len != len - offsetof(struct koda_report_denied, path) ||
	    memchr(record->path, '\0', record->path_len))
		return NULL;
	text = strndup(record->path, record->path_len);
	if (!text || text[0] != '/' || koda_path_absolute(text, &path, NULL) < 0)
		return NULL;
	return path;
}

/* Asks the rules. Sets the kind of the denial. The path is cut to the name that is denied: a
 * placeholder can be in the way of names that the rules would allow. */
static struct koda_verdict ask(const struct koda_rules *rules, enum koda_denied act, bool closed,
			       char *path, enum koda_violation *ret_kind)
{
	const size_t len = strlen(path);
	const struct koda_verdict hidden = koda_rules_read(rules, path, len);
	struct koda_verdict verdict;

	*ret_kind = act == KODA_DENIED_EXEC   ? KODA_VIOLATION_EXEC
		    : act == KODA_DENIED_READ ? KODA_VIOLATION_FILE_READ
					      : KODA_VIOLATION_FILE_WRITE;
	/* A directory can also be closed by its mode, which the rules know nothing of, and a file
	 * that the view does not show can be missing. */
	if (closed || act == KODA_DENIED_EXEC || act == KODA_DENIED_READ ||
	    act == KODA_DENIED_HIDDEN)
		return hidden;
	if (act == KODA_DENIED_REPLACE)
		return koda_rules_replace(rules, path, len);
	verdict = koda_rules_write(rules, path, len);
	if (act != KODA_DENIED_WITHIN || verdict.answer == KODA_DENY || strrchr(path, '/') == path)
		return verdict;
	*strrchr(path, '/') = '\0';
	return koda_rules_replace(rules, path, strlen(path));
}

static void take(struct koda_command *command, const struct koda_report_denied *record, size_t len)
{
	struct koda_denial denial = { .source = KODA_SOURCE_KERNEL };
	koda_auto_free char *path = NULL;
	struct koda_verdict verdict;
	char call[sizeof(record->call) + 1];
	char process[sizeof(record->process) + 1];
	char rule[KODA_PATH_MAX + 64];

	if (len < offsetof(struct koda_report_denied, path) || record->act >= KODA_DENIED_COUNT)
		return;
	command->violations_untold += record->dropped;
	path = take_path(record, len);
	if (!path)
		return;
	verdict = ask(command->rules, (enum koda_denied)record->act, record->closed, path,
		      &denial.kind);
	if (verdict.answer != KODA_DENY)
		return;
	(void)snprintf(rule, sizeof(rule), "%s%s%.*s", koda_reason_name(verdict.reason),
		       verdict.rule.len ? " " : "", (int)verdict.rule.len,
		       verdict.rule.len ? verdict.rule.ptr : "");
	(void)snprintf(call, sizeof(call), "%.*s", (int)sizeof(record->call), record->call);
	(void)snprintf(process, sizeof(process), "%.*s", (int)sizeof(record->process),
		       record->process);
	denial.target = path;
	denial.rule = rule;
	denial.call = call;
	denial.process = process;
	koda_command_add_violation(command, &denial);
}

/* Returns true if a call that reads the channel would not wait: for a report, its end or an error
 * that stays. */
static bool is_ready(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 0) != 0;
}

bool koda_reports_drain(struct koda_command *command)
{
	const int fd = command->launcher.channels.status[0];
	struct koda_report_denied record;
	ssize_t n;

	for (int i = 0; i < BATCH; i++) {
		record.kind = KODA_REPORT_DENIED;
		n = recv(fd, &record, sizeof(record.kind), MSG_PEEK | MSG_DONTWAIT);
		if (n < 0)
			return errno != EAGAIN && errno != EINTR && is_ready(fd);
		if (n == 0 || record.kind != KODA_REPORT_DENIED)
			return true;
		n = recv(fd, &record, sizeof(record), MSG_DONTWAIT);
		if (n > 0)
			take(command, &record, (size_t)n);
	}
	return false;
}
