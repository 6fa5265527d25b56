/* SPDX-License-Identifier: MIT */
/* koda-sandbox doctor: what this machine can enforce, clause by clause, and how to get more. */
#include "runner.h"

#include "base/error.h"
#include "base/escape.h"

#include <koda/doctor.h>

/* The first failure sticks, so that callers need to look only once. */
struct writer {
	struct koda_buf text;
	int failed;
};

static void put(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(&w->text, text, strlen(text));
}

static void put_padded(struct writer *w, int width, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_addf(&w->text, "%-*s", width, text);
}

static void put_escaped(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = cli_output_escape(&w->text, koda_span_of(text));
}

/* ,"key":"text" */
static void put_member(struct writer *w, const char *key, const char *text)
{
	put(w, ",\"");
	put(w, key);
	put(w, "\":");
	if (w->failed == KODA_OK)
		w->failed = koda_escape_json_string(&w->text, koda_span_of(text));
}

/* "place: message", as main prints errors. */
static void put_error(struct writer *w, const struct koda_error *err)
{
	put_escaped(w, err->field);
	put(w, err->field[0] ? ": " : "");
	put_escaped(w, err->message);
}

/* --- for people --- */

static void put_clause(struct writer *w, enum koda_clause clause,
		       const struct koda_finding *finding, bool explained)
{
	put(w, "  ");
	put_padded(w, 17, koda_clause_name(clause));
	put_padded(w, finding->reason[0] && !explained ? 10 : 0,
		   koda_enforcement_name(finding->enforcement));
	put(w, explained ? "" : finding->reason);
	put(w, "\n");
	if (finding->remedy[0] && !explained) {
		put(w, "                   remedy: ");
		put(w, finding->remedy);
		put(w, "\n");
	}
}

/* Tells why a backend does not work once, and not for each clause. */
static void put_backend(struct writer *w, const struct koda_backend_state *state)
{
	const struct koda_finding *first = &state->findings.clause[0];

	put(w, "\n");
	put(w, state->name);
	if (!state->usable && strcmp(first->reason, state->error.message) == 0) {
		put(w, ": not in this release\n"); /* known by name only, nothing was tried */
		return;
	}
	put(w, state->usable ? ": works\n" : ": does not work: ");
	if (!state->usable) {
		put_error(w, &state->error);
		put(w, "\n");
		put(w, "  reason: ");
		put(w, first->reason);
		put(w, first->remedy[0] ? "\n  remedy: " : "");
		put(w, first->remedy);
		put(w, "\n");
	}
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		put_clause(w, (enum koda_clause)i, &state->findings.clause[i], !state->usable);
}

static void put_line(struct writer *w, const char *label, const char *text)
{
	if (!text[0])
		return;
	put(w, label);
	put(w, text);
	put(w, "\n");
}

/* Tells of the container around this process. Restrictions that do not matter are one line each. */
static void put_surroundings(struct writer *w, const struct koda_diagnosis *diagnosis)
{
	if (!diagnosis->container[0] && !diagnosis->ci[0] && diagnosis->restriction_count == 0)
		return;
	put(w, "\n");
	put_line(w, "container: ", diagnosis->container);
	put_line(w, "continuous integration: ", diagnosis->ci);
	for (size_t i = 0; i < diagnosis->restriction_count; i++) {
		const struct koda_restriction *restriction = &diagnosis->restrictions[i];

		put(w, "  ");
		put_padded(w, 19, restriction->name);
		put_padded(w, 10, restriction->matters ? "matters" : "harmless");
		put_line(w, "", restriction->effect);
		put_line(w, "                     for native: ", restriction->remedy);
		put_line(w, "                     cost: ", restriction->cost);
	}
}

static void put_text(struct writer *w, const struct koda_diagnosis *diagnosis)
{
	put(w, CLI_PROGRAM " ");
	put(w, koda_version());
	put(w, ", Linux ");
	put_escaped(w, diagnosis->kernel);
	put(w, "\n");
	put_surroundings(w, diagnosis);
	for (size_t i = 0; i < diagnosis->count; i++)
		put_backend(w, &diagnosis->backends[i]);
	put(w, koda_diagnosis_is_sound(diagnosis)
		       ? "\nThe kernel enforces every containment clause; trust mode auto can run "
			 "here.\n"
		       : "\nNot every clause of containment is enforced on this machine.\n");
}

/* --- for programs --- */

static void put_backend_json(struct writer *w, const struct koda_backend_state *state)
{
	put(w, "{\"name\":\"");
	put(w, state->name);
	put(w, state->usable ? "\",\"usable\":true" : "\",\"usable\":false");
	put_member(w, "place", state->error.field);
	put_member(w, "why", state->error.message);
	put(w, ",\"clauses\":{");
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		const struct koda_finding *finding = &state->findings.clause[i];

		put(w, i ? ",\n\"" : "\n\"");
		put(w, koda_clause_name((enum koda_clause)i));
		put(w, "\":{\"grip\":\"");
		put(w, koda_enforcement_name(finding->enforcement));
		put(w, "\"");
		put_member(w, "why", finding->reason);
		put_member(w, "remedy", finding->remedy);
		put(w, "}");
	}
	put(w, "}}");
}

static void put_restriction_json(struct writer *w, const struct koda_restriction *restriction)
{
	put(w, restriction->matters ? "{\"matters\":true" : "{\"matters\":false");
	put_member(w, "name", restriction->name);
	put_member(w, "why", restriction->effect);
	put_member(w, "remedy", restriction->remedy);
	put_member(w, "cost", restriction->cost);
	put(w, "}");
}

static void put_json(struct writer *w, const struct koda_diagnosis *diagnosis)
{
	put(w, "{\"version\":\"");
	put(w, koda_version());
	put(w, "\"");
	put_member(w, "kernel", diagnosis->kernel);
	put_member(w, "container", diagnosis->container);
	put_member(w, "ci", diagnosis->ci);
	put(w, ",\"restrictions\":[");
	for (size_t i = 0; i < diagnosis->restriction_count; i++) {
		put(w, i ? ",\n" : "");
		put_restriction_json(w, &diagnosis->restrictions[i]);
	}
	put(w, "]");
	put(w, ",\"backends\":[");
	for (size_t i = 0; i < diagnosis->count; i++) {
		put(w, i ? ",\n" : "\n");
		put_backend_json(w, &diagnosis->backends[i]);
	}
	put(w, "]}\n");
}

/* --- the command --- */

static int take_option(const struct cli_call *call, void *ctx, int option, struct koda_error *err)
{
	bool *json = ctx;

	(void)call;
	(void)option; /* --json is the only one */
	(void)err;
	*json = true;
	return KODA_OK;
}

static int read_options(const struct cli_call *call, bool *ret_json, struct koda_error *err)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
					       CLI_HELP_OPTION,
					       { 0 } };
	static const struct cli_syntax syntax = { ":h", longs };
	int r = cli_args_read(call, &syntax, take_option, ret_json, err);

	if (r <= 0)
		return r;
	r = cli_args_need_operands(call, 0, "no arguments", err);
	return r < 0 ? r : 1;
}

int cli_cmd_doctor(const struct cli_call *call, struct koda_error *err)
{
	struct koda_diagnosis diagnosis = { .size = sizeof(diagnosis) };
	struct writer w = { .text = KODA_BUF_INIT((size_t)1 << 20) };
	bool json = false;
	int r = read_options(call, &json, err);

	if (r <= 0)
		return r;
	/* T-99. Commands are tried here, and none of them is left to another process. */
	cli_signals_hold();
	cli_orphans_adopt();
	r = koda_diagnose(call->env, &diagnosis, err);
	cli_orphans_reap();
	cli_signals_end();
	if (r < 0)
		return r;
	if (json)
		put_json(&w, &diagnosis);
	else
		put_text(&w, &diagnosis);
	r = w.failed < 0 ? koda_fail_nomem(err) : cli_output_print(w.text.ptr, w.text.len, err);
	koda_buf_clear(&w.text);
	if (r < 0)
		return r;
	return koda_diagnosis_is_sound(&diagnosis) ? CLI_EXIT_OK : CLI_EXIT_DENIED;
}
