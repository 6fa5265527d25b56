/* SPDX-License-Identifier: MIT */
/*
 * A plan as JSON. Every operation appears exactly once: the command (program, argv, env, cwd),
 * limits and network by name, all others in "steps", in order. Numbers without a name below appear
 * as n1 and n2 rather than not at all.
 */
#include "plan/json.h"

#include "base/error.h"
#include "base/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

/* Names of the numbers of a kind. */
static const struct naming {
	const char *n1;
	const char *n2;
} namings[KODA_OP_COUNT] = {
	[KODA_OP_WRITABLE] = { "device", "inode" }, [KODA_OP_READONLY] = { "device", "inode" },
	[KODA_OP_PIN] = { "device", "inode" },      [KODA_OP_MASK] = { "device", "inode" },
	[KODA_OP_HOLE] = { "device", "inode" },     [KODA_OP_TMPFS] = { "bytes", "mode" },
	[KODA_OP_VEIL] = { "bytes", "mode" },       [KODA_OP_LANDLOCK] = { "rights", NULL },
	[KODA_OP_FILE] = { "mode", NULL },          [KODA_OP_SOCKET] = { "device", "inode" },
	[KODA_OP_DESCRIPTOR] = { "number", NULL },
};

static const enum koda_op_text texts[][2] = {
#define TEXT_ROW(name, text, t1, t2, stage, flags)                                                 \
	[KODA_OP_##name] = { KODA_TEXT_##t1, KODA_TEXT_##t2 },
	KODA_OPS(TEXT_ROW)
#undef TEXT_ROW
};

/* Landlock's rights, from the lowest bit on, as the kernel calls them. */
static const char *const rights[] = {
	"execute",   "write_file", "read_file", "read_dir",  "remove_dir", "remove_file",
	"make_char", "make_dir",   "make_reg",  "make_sock", "make_fifo",  "make_block",
	"make_sym",  "refer",      "truncate",  "ioctl_dev",
};

static const char *const resources[] = {
	[RLIMIT_CPU] = "cpu_secs",         [RLIMIT_FSIZE] = "file_bytes",
	[RLIMIT_DATA] = "data_bytes",      [RLIMIT_STACK] = "stack_bytes",
	[RLIMIT_CORE] = "core_bytes",      [RLIMIT_RSS] = "resident_bytes",
	[RLIMIT_NPROC] = "processes",      [RLIMIT_NOFILE] = "open_files",
	[RLIMIT_MEMLOCK] = "locked_bytes", [RLIMIT_AS] = "address_bytes",
};

/* Keeps the first failure, so that callers check once. */
struct writer {
	struct koda_buf *out;
	int failed;
};

static void put(struct writer *w, const char *text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_add(w->out, text, strlen(text));
}

static void put_string(struct writer *w, struct koda_span text)
{
	if (w->failed == KODA_OK)
		w->failed = koda_escape_json_string(w->out, text);
}

static void put_number(struct writer *w, uint64_t number)
{
	if (w->failed == KODA_OK)
		w->failed = koda_buf_addf(w->out, "%" PRIu64, number);
}

/* Appends ,"key": without the comma if it is the first key of its object. */
static void put_key(struct writer *w, bool first, const char *key)
{
	put(w, first ? "\"" : ",\"");
	put(w, key);
	put(w, "\":");
}

/* Appends a set of bits as a list of names; a bit without a name as its number. */
static void put_bits(struct writer *w, uint64_t bits, const char *const *names, size_t count)
{
	bool first = true;

	put(w, "[");
	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		put(w, first ? "" : ",");
		first = false;
		if (bit < count && names[bit])
			put_string(w, koda_span_of(names[bit]));
		else
			put_number(w, (uint64_t)1 << bit);
	}
	put(w, "]");
}

static void put_value(struct writer *w, const char *key, uint64_t value)
{
	put_key(w, false, key);
	if (strcmp(key, "rights") == 0) {
		put_bits(w, value, rights, KODA_ARRAY_LEN(rights));
	} else if (strcmp(key, "mode") == 0) {
		if (w->failed == KODA_OK)
			w->failed = koda_buf_addf(w->out, "\"%04" PRIo64 "\"", value);
	} else {
		put_number(w, value);
	}
}

static void put_texts(struct writer *w, const struct koda_op *op)
{
	enum koda_op_text first = texts[op->kind][0];
	enum koda_op_text second = texts[op->kind][1];

	if (op->kind == KODA_OP_FILTER) {
		put_value(w, "instructions", op->text1.len / 8);
	} else if (first == KODA_TEXT_BYTES) {
		put_value(w, "bytes", op->text1.len);
	} else if (first != KODA_TEXT_NONE) {
		put_key(w, false, first == KODA_TEXT_PATH ? "path" : "value");
		put_string(w, op->text1);
	}
	if (op->kind == KODA_OP_FILE) {
		put_value(w, "bytes", op->text2.len);
	} else if (second != KODA_TEXT_NONE) {
		put_key(w, false, second == KODA_TEXT_PATH ? "onto" : "contents");
		put_string(w, op->text2);
	}
}

static void put_step(struct writer *w, const struct koda_plan_line *line)
{
	static const char *const flags[] = {
#define FLAG_NAME(name, bit, text) [bit] = (text),
		KODA_OP_FLAGS(FLAG_NAME)
#undef FLAG_NAME
	};
	const struct koda_op *op = &line->op;
	const struct naming *naming = &namings[op->kind];

	put(w, "{");
	put_key(w, true, "op");
	put_string(w, koda_span_of(koda_op_name(op->kind)));
	put_texts(w, op);
	if (naming->n1 || op->n1)
		put_value(w, naming->n1 ? naming->n1 : "n1", op->n1);
	if (naming->n2 || op->n2)
		put_value(w, naming->n2 ? naming->n2 : "n2", op->n2);
	if (op->flags) {
		put_key(w, false, "flags");
		put_bits(w, op->flags, flags, KODA_ARRAY_LEN(flags));
	}
	put_key(w, false, "why");
	if (line->why[0])
		put_string(w, koda_span_of(line->why));
	else
		put(w, "null");
	put(w, "}");
}

/* Returns false for kinds that appear outside "steps". */
static bool is_step(enum koda_op_kind kind)
{
	return kind != KODA_OP_RLIMIT && kind != KODA_OP_NET && kind != KODA_OP_CWD &&
	       kind != KODA_OP_ENV && kind != KODA_OP_ARG;
}

static void put_steps(struct writer *w, const struct koda_plan *plan)
{
	bool first = true;

	put(w, "[");
	for (size_t i = 0; i < plan->count; i++) {
		if (!is_step(plan->lines[i].op.kind))
			continue;
		put(w, first ? "\n" : ",\n");
		first = false;
		put_step(w, &plan->lines[i]);
	}
	put(w, "]");
}

static void put_limit(struct writer *w, bool first, const struct koda_op *op)
{
	char number[16];
	const char *name = op->flags < KODA_ARRAY_LEN(resources) ? resources[op->flags] : NULL;

	(void)snprintf(number, sizeof(number), "%u", op->flags);
	put_key(w, first, name ? name : number);
	put(w, "{");
	put_key(w, true, "soft");
	put_number(w, op->n1);
	put_key(w, false, "hard");
	put_number(w, op->n2);
	put(w, "}");
}

static void put_limits(struct writer *w, const struct koda_plan *plan)
{
	bool first = true;

	put(w, "{");
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->lines[i].op.kind != KODA_OP_RLIMIT)
			continue;
		put_limit(w, first, &plan->lines[i].op);
		first = false;
	}
	put(w, "}");
}

static void put_network(struct writer *w, const struct koda_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		if (op->kind != KODA_OP_NET)
			continue;
		put_key(w, false, "network");
		put(w, "{");
		put_key(w, true, "proxy_port");
		if (op->n1)
			put_number(w, op->n1);
		else
			put(w, "null");
		put(w, op->n2 ? ",\"bind\":false}" : ",\"bind\":true}");
	}
}

/* Appends the texts of one kind as a list, without the first skip of them. */
static void put_words(struct writer *w, const struct koda_plan *plan, enum koda_op_kind kind,
		      size_t skip)
{
	size_t seen = 0;

	put(w, "[");
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->lines[i].op.kind != kind || seen++ < skip)
			continue;
		put(w, seen > skip + 1 ? "," : "");
		put_string(w, plan->lines[i].op.text1);
	}
	put(w, "]");
}

/* Appends the text of the first operation of a kind, or null. */
static void put_first(struct writer *w, const struct koda_plan *plan, enum koda_op_kind kind)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->lines[i].op.kind == kind) {
			put_string(w, plan->lines[i].op.text1);
			return;
		}
	}
	put(w, "null");
}

int koda_plan_json(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err)
{
	struct writer w = { .out = out };

	put(&w, "{");
	put_key(&w, true, "steps");
	put_steps(&w, plan);
	put_key(&w, false, "limits");
	put_limits(&w, plan);
	put_network(&w, plan);
	put_key(&w, false, "cwd");
	put_first(&w, plan, KODA_OP_CWD);
	put_key(&w, false, "env");
	put_words(&w, plan, KODA_OP_ENV, 0);
	put_key(&w, false, "program");
	put_first(&w, plan, KODA_OP_ARG);
	put_key(&w, false, "argv");
	put_words(&w, plan, KODA_OP_ARG, 1);
	put(&w, "}\n");
	return w.failed < 0 ? koda_fail_room(err, w.failed, "the listing") : KODA_OK;
}
