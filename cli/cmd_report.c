/* SPDX-License-Identifier: MIT */
/* koda-sandbox report: event files as a page of HTML. */
#include "event_files.h"
#include "report.h"

#include "base/error.h"

int cli_cmd_report(const struct cli_call *call, struct koda_error *err)
{
	static const struct option longs[] = { CLI_HELP_OPTION, { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	struct cli_report *report;
	int r = cli_args_read(call, &syntax, NULL, NULL, err);

	if (r <= 0)
		return r;
	report = calloc(1, sizeof(*report));
	if (!report)
		return koda_fail_nomem(err);
	r = cli_event_files_read(call, cli_report_take_event, report, err);
	if (r == KODA_OK)
		r = report->failed ? koda_fail_nomem(err) : cli_report_print(report, err);
	cli_report_clear(report);
	free(report);
	return r;
}
