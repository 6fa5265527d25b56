/* SPDX-License-Identifier: MIT */
/* T-105. The page of koda-sandbox report. What comes from events is printed by cli_html_text. */
#include "cli.h"
#include "html.h"
#include "report.h"
#include "report_style.h"

#include "base/error.h"

#include <string.h>

/* The most that a page takes: each byte of each text may become a reference of six. */
#define PAGE_MAX ((size_t)512 << 20)

/* The time line is so many units wide, and no command is narrower than this. */
#define LINE_WIDTH 1000.0
#define BAR_LEAST  4.0

static const char *const limit_names[] = {
#define LIMIT_NAME(name, text) [KODA_LIMIT_##name] = (text),
	KODA_LIMITS(LIMIT_NAME)
#undef LIMIT_NAME
};

static void put_code(struct cli_html *html, const char *text)
{
	if (!text)
		return;
	cli_html_raw(html, "<code>");
	cli_html_text(html, text);
	cli_html_raw(html, "</code>");
}

static void put_card(struct cli_html *html, const char *what, uint64_t number)
{
	cli_html_rawf(html, "<div class=\"card\"><b>%llu</b><span class=\"soft\">%s</span></div>\n",
		      (unsigned long long)number, what);
}

static void put_bytes_card(struct cli_html *html, const char *what, uint64_t bytes)
{
	cli_html_raw(html, "<div class=\"card\"><b>");
	cli_html_bytes(html, bytes);
	cli_html_rawf(html, "</b><span class=\"soft\">%s</span></div>\n", what);
}

static bool has_failed(const struct cli_report_command *command)
{
	return command->ended && (command->how != KODA_END_EXITED || command->code != 0);
}

static void put_head(struct cli_html *html, const struct cli_report *report)
{
	uint64_t failed = 0;

	for (size_t i = 0; i < report->command_count; i++)
		failed += has_failed(&report->commands[i]);
	cli_html_raw(html, cli_report_head);
	cli_html_raw(html, "<h1>koda-sandbox report</h1>\n<p class=\"soft\">");
	if (report->first > 0) {
		cli_html_date(html, report->first);
		cli_html_raw(html, " to ");
		cli_html_date(html, report->last);
	} else {
		cli_html_raw(html, "no events");
	}
	cli_html_raw(html, "</p>\n<div class=\"cards\">\n");
	put_card(html, "commands", report->command_count);
	put_card(html, "of them failed", failed);
	put_card(html, "denials", report->all_denials);
	put_card(html, "connections refused", report->all_refusals);
	put_bytes_card(html, "sent", report->up);
	put_bytes_card(html, "received", report->down);
	cli_html_raw(html, "</div>\n");
}

/* Begins a table below a heading. */
static void begin_table(struct cli_html *html, const char *title, const char *id,
			const char *columns)
{
	cli_html_rawf(html, "<h2>%s</h2>\n<div class=\"table\"><table id=\"%s\">\n<thead><tr>",
		      title, id);
	cli_html_raw(html, columns);
	cli_html_raw(html, "</tr></thead>\n<tbody>\n");
}

static void end_table(struct cli_html *html)
{
	cli_html_raw(html, "</tbody></table></div>\n");
}

/* Returns the class of a command's colour. */
static const char *class_of(const struct cli_report_command *command)
{
	if (!command->ended || (!has_failed(command) && !command->limits))
		return "ok";
	return command->how == KODA_END_REFUSED || command->how == KODA_END_SETUP ||
			       command->denials > 0
		       ? "denied"
		       : "failed";
}

static void put_outcome(struct cli_html *html, const struct cli_report_command *command)
{
	cli_html_rawf(html, "<span class=\"badge %s\">", class_of(command));
	if (!command->ended)
		cli_html_raw(html, "no end told");
	else if (command->how == KODA_END_SIGNAL)
		cli_html_rawf(html, "signal %d", command->signal);
	else if (command->how == KODA_END_WALL_TIME)
		cli_html_raw(html, "wall time");
	else if (command->how == KODA_END_REFUSED)
		cli_html_raw(html, "refused");
	else if (command->how == KODA_END_SETUP)
		cli_html_raw(html, "not set up");
	else
		cli_html_rawf(html, "exit %d", command->code);
	cli_html_raw(html, "</span>");
}

/* Draws when the command ran, between the first and the last event of all. */
static void put_bar(struct cli_html *html, const struct cli_report *report,
		    const struct cli_report_command *command)
{
	const double all = report->last - report->first;
	const double end = command->ended ? command->end : report->last;
	double x = all > 0 ? (command->start - report->first) / all * LINE_WIDTH : 0;
	double width = all > 0 ? (end - command->start) / all * LINE_WIDTH : LINE_WIDTH;

	if (!(width > BAR_LEAST))
		width = BAR_LEAST;
	if (!(width < LINE_WIDTH))
		width = LINE_WIDTH;
	if (!(x > 0))
		x = 0;
	if (x > LINE_WIDTH - width)
		x = LINE_WIDTH - width;
	cli_html_rawf(html,
		      "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
		      "aria-hidden=\"true\"><rect class=\"%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" "
		      "height=\"10\"/></svg>",
		      class_of(command), x, width);
}

static void put_command(struct cli_html *html, const struct cli_report *report, size_t i)
{
	const struct cli_report_command *command = &report->commands[i];

	cli_html_rawf(html, "<tr id=\"c%zu\"><td class=\"number soft\">%zu</td><td>", i + 1, i + 1);
	put_code(html, command->text ? command->text : command->message ? "" : "(not told)");
	if (command->message) {
		cli_html_raw(html, "<p class=\"soft\">");
		cli_html_text(html, command->message);
		cli_html_raw(html, "</p>");
	}
	cli_html_raw(html, "<p class=\"soft\">");
	cli_html_text(html, command->backend);
	cli_html_raw(html, command->backend && command->trust ? ", " : "");
	cli_html_text(html, command->trust);
	if (command->denials > 0)
		cli_html_rawf(html, "%s<span class=\"denied\">%llu denied</span>",
			      command->backend ? " &middot; " : "",
			      (unsigned long long)command->denials);
	for (unsigned int limit = 0; limit < KODA_LIMIT_COUNT; limit++)
		if (command->limits & 1U << limit)
			cli_html_rawf(html, " &middot; <span class=\"failed\">limit %s</span>",
				      limit_names[limit]);
	cli_html_raw(html, "</p></td><td class=\"number\">");
	cli_html_clock(html, command->start);
	cli_html_raw(html, "</td><td>");
	put_bar(html, report, command);
	cli_html_raw(html, "</td><td class=\"number\">");
	if (command->ended)
		cli_html_duration(html, command->wall_ms);
	cli_html_raw(html, "</td><td>");
	put_outcome(html, command);
	cli_html_raw(html, "</td></tr>\n");
}

static void put_commands(struct cli_html *html, const struct cli_report *report)
{
	if (report->command_count == 0)
		return;
	begin_table(html, "Time line", "commands",
		    "<th></th><th>Command</th><th class=\"number\">Start (UTC)</th><th>When</th>"
		    "<th class=\"number\">Duration</th><th>Outcome</th>");
	for (size_t i = 0; i < report->command_count; i++)
		put_command(html, report, i);
	end_table(html);
}

/* Links to a command's row. */
static void put_link(struct cli_html *html, size_t command)
{
	if (command < CLI_REPORT_COMMANDS_MAX)
		cli_html_rawf(html, "<a href=\"#c%zu\">%zu</a>", command + 1, command + 1);
}

static void put_hint(struct cli_html *html, const char *hint)
{
	if (hint && strncmp(hint, "{\"floor\"", 8) == 0)
		cli_html_raw(html, "<span class=\"soft\">no policy</span> ");
	put_code(html, hint);
}

static void put_denials(struct cli_html *html, const struct cli_report *report)
{
	static const char *const kinds[] = {
		[KODA_VIOLATION_FILE_READ] = "read",  [KODA_VIOLATION_FILE_WRITE] = "write",
		[KODA_VIOLATION_NETWORK] = "connect", [KODA_VIOLATION_EXEC] = "execute",
		[KODA_VIOLATION_OTHER] = "other",
	};

	if (report->denial_count == 0)
		return;
	begin_table(html, "Files denied", "denials",
		    "<th class=\"number\">Times</th><th>Act</th><th>Target</th><th>Rule</th>"
		    "<th class=\"number\">Command</th><th>What would allow it</th>");
	for (size_t i = 0; i < report->denial_count; i++) {
		const struct cli_report_denial *denial = &report->denials[i];

		cli_html_rawf(html, "<tr><td class=\"number\">%llu</td><td>%s</td><td>",
			      (unsigned long long)denial->count, kinds[denial->kind]);
		put_code(html, denial->target);
		if (denial->process || denial->call) {
			cli_html_raw(html, "<p class=\"soft\">");
			cli_html_text(html, denial->process);
			cli_html_raw(html, denial->process && denial->call ? ", " : "");
			cli_html_text(html, denial->call);
			cli_html_raw(html, "</p>");
		}
		cli_html_raw(html, "</td><td>");
		cli_html_text(html, denial->rule);
		cli_html_raw(html, "</td><td class=\"number\">");
		put_link(html, denial->command);
		cli_html_raw(html, "</td><td>");
		put_hint(html, denial->hint);
		cli_html_raw(html, "</td></tr>\n");
	}
	end_table(html);
}

static void put_hosts(struct cli_html *html, const struct cli_report *report)
{
	if (report->host_count == 0)
		return;
	begin_table(
		html, "Hosts", "hosts",
		"<th>Host</th><th class=\"number\">Reached</th><th class=\"number\">Refused</th>"
		"<th class=\"number\">Sent</th><th class=\"number\">Received</th><th>Reason</th>");
	for (size_t i = 0; i < report->host_count; i++) {
		const struct cli_report_host *host = &report->hosts[i];

		cli_html_raw(html, "<tr><td><code>");
		cli_html_text(html, host->name[0] ? host->name : "(none)");
		cli_html_rawf(html,
			      ":%u</code></td><td class=\"number\">%llu</td>"
			      "<td class=\"number%s\">%llu</td><td class=\"number\">",
			      host->port, (unsigned long long)host->allowed,
			      host->refused ? " denied" : "", (unsigned long long)host->refused);
		cli_html_bytes(html, host->up);
		cli_html_raw(html, "</td><td class=\"number\">");
		cli_html_bytes(html, host->down);
		cli_html_raw(html, "</td><td>");
		cli_html_text(html, host->reason);
		cli_html_raw(html, "</td></tr>\n");
	}
	end_table(html);
}

static void put_limits(struct cli_html *html, const struct cli_report *report)
{
	if (report->limit_count == 0)
		return;
	begin_table(html, "Limits reached", "limits",
		    "<th>Limit</th><th class=\"number\">Value</th><th class=\"number\">Command</th>"
		    "<th>What would allow more</th>");
	for (size_t i = 0; i < report->limit_count; i++) {
		const struct cli_report_limit *limit = &report->limits[i];

		cli_html_rawf(html, "<tr><td>%s</td><td class=\"number\">%llu</td>",
			      limit_names[limit->which], (unsigned long long)limit->value);
		cli_html_raw(html, "<td class=\"number\">");
		put_link(html, limit->command);
		cli_html_raw(html, "</td><td>");
		put_hint(html, limit->hint);
		cli_html_raw(html, "</td></tr>\n");
	}
	end_table(html);
}

static void put_left(struct cli_html *html, const struct cli_report *report)
{
	if (report->left_count == 0)
		return;
	begin_table(html, "Left behind, and obeyed by tools of the host", "left",
		    "<th>Path</th><th class=\"number\">Command</th>");
	for (size_t i = 0; i < report->left_count; i++) {
		cli_html_raw(html, "<tr><td>");
		put_code(html, report->left[i].path);
		cli_html_raw(html, "</td><td class=\"number\">");
		put_link(html, report->left[i].command);
		cli_html_raw(html, "</td></tr>\n");
	}
	end_table(html);
}

int cli_report_print(const struct cli_report *report, struct koda_error *err)
{
	struct cli_html html = { .out = KODA_BUF_INIT(PAGE_MAX) };
	int r;

	put_head(&html, report);
	put_commands(&html, report);
	put_denials(&html, report);
	put_hosts(&html, report);
	put_limits(&html, report);
	put_left(&html, report);
	if (report->untold + report->unshown > 0)
		cli_html_rawf(&html,
			      "<p class=\"soft\" id=\"missing\">%llu events were lost, and %llu "
			      "are not shown because there are too many.</p>\n",
			      (unsigned long long)report->untold,
			      (unsigned long long)report->unshown);
	cli_html_raw(&html, "</main>\n</body>\n</html>\n");
	r = html.failed < 0 ? koda_fail_nomem(err)
			    : cli_output_print(html.out.ptr, html.out.len, err);
	koda_buf_clear(&html.out);
	return r;
}
