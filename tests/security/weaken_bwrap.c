/* SPDX-License-Identifier: MIT */
/*
 * T-49. Does the launcher notice when bubblewrap does not do what it was told? The plan stays what
 * it is; of bubblewrap's arguments one option is taken out, or one is made weaker, and the launcher
 * is started with what is left. It must refuse, whatever it was.
 *
 *   bend ROOT HOME         every option in turn; prints what nobody noticed
 *   bend ROOT HOME open    the same where the launcher may not mount, and bubblewrap makes the
 * view, which hides nothing in ROOT
 *
 * KODA_STAGE2 is the launcher. What changes nothing about the view is exempt.
 */
#include "../unit/koda_test.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "plan/bwrap.h"
#include "policy/policy.h"
#include "run/sandbox.h"
#include "wire/bwrap.h"
#include "wire/launch_step.h"
#include "wire/report.h"

#include <fcntl.h>
#include <unistd.h>

#define LIMIT_NS 20000000000ULL
#define ARGS_MAX 4096

/* An option with its values, as words of the arguments. */
struct option_group {
	size_t first;
	size_t count;
};

static struct {
	struct koda_plan plan;
	struct koda_plan divided;
	const char *part;      /* of the launcher */
	bool open;             /* those for where the launcher may not mount are bent */
	struct koda_buf start; /* what bubblewrap begins with */
	struct koda_buf view;  /* what it is told then */
	const char *words[ARGS_MAX];
	size_t word_count;
	struct option_group groups[ARGS_MAX];
	size_t group_count;
} bench = { .start = { .max = KODA_BWRAP_ARGS_MAX }, .view = { .max = KODA_BWRAP_ARGS_MAX } };

static _Noreturn void give_up(const char *what, const struct koda_error *err)
{
	(void)fprintf(stderr, "bend: %s: %s %s\n", what, err->field, err->message);
	exit(2);
}

/* What may not be there yet is the runner's to leave out: it becomes a rule that grants nothing. */
static void leave_out_fleeting(void)
{
	for (size_t i = 0; i < bench.plan.count; i++) {
		struct koda_op *op = &bench.plan.lines[i].op;

		if (op->kind != KODA_OP_MASK || !(op->flags & KODA_OP_FLEETING))
			continue;
		op->kind = KODA_OP_LANDLOCK;
		op->flags = KODA_OP_EXACT;
		op->n1 = op->n2 = 0;
	}
}

static void make_plan(const char *root, const char *home)
{
	char home_entry[4200];
	const char *const env[] = { home_entry, "PATH=/usr/bin:/bin", NULL };
	const char *const argv[] = { "/bin/true", NULL };
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.root = root,
						.host_env = env,
						.backend = KODA_BACKEND_BWRAP };
	const struct koda_command_options command = { .size = sizeof(command), .argv = argv };
	static const struct {
		enum koda_list list;
		const char *below;
	} rules[] = {
		{ KODA_LIST_DENY_READ, "secret" },
		{ KODA_LIST_DENY_READ, "hidden" },
		{ KODA_LIST_DENY_READ, "veiled" },
		{ KODA_LIST_ALLOW_READ_WITHIN_DENY, "veiled/a/hole" },
		{ KODA_LIST_DENY_WRITE_WITHIN_ALLOW, "closed" },
	};
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	(void)snprintf(home_entry, sizeof(home_entry), "HOME=%s", home);
	if (koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, &err) < 0)
		give_up("the policy", &err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(rules); i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%s",
			       bench.open && rules[i].list != KODA_LIST_DENY_WRITE_WITHIN_ALLOW
				       ? home
				       : root,
			       rules[i].below);
		if (koda_policy_add(policy, rules[i].list, path, strlen(path), &err) < 0)
			give_up("the policy", &err);
	}
	options.policy = policy;
	if (koda_sandbox_open(&options, &sandbox, &err) < 0 ||
	    koda_sandbox_make_plan(sandbox, &command, &bench.plan, &err) < 0)
		give_up("the plan", &err);
	leave_out_fleeting();
	if (koda_bwrap_divide(&bench.plan, &bench.divided, &err) < 0 ||
	    koda_bwrap_start(&bench.start, &err) < 0 ||
	    koda_bwrap_args(&bench.divided, &bench.view, &err) < 0)
		give_up("the arguments", &err);
	koda_sandbox_close(sandbox);
}

/* A size or a mode belongs to the option that follows. */
static bool is_prefix(const char *word)
{
	return strcmp(word, "--size") == 0 || strcmp(word, "--perms") == 0;
}

static void split_args(const struct koda_buf *bent)
{
	bool open = false;

	for (size_t at = 0; at < bent->len && bench.word_count < ARGS_MAX;) {
		const char *word = bent->ptr + at;

		bench.words[bench.word_count] = word;
		if (strncmp(word, "--", 2) == 0 && !open)
			bench.groups[bench.group_count++].first = bench.word_count;
		if (strncmp(word, "--", 2) == 0)
			open = is_prefix(word);
		bench.groups[bench.group_count - 1].count++;
		bench.word_count++;
		at += strlen(word) + 1;
	}
}

static int seal(const char *name, const struct koda_buf *bytes)
{
	struct koda_error err = { 0 };
	int fd = -1;

	if (koda_fd_sealed(name, bytes->ptr, bytes->len, &fd, &err) < 0)
		give_up("seal", &err);
	return fd;
}

/* The arguments without a group, or with another word in place of one, as a sealed file. */
static int seal_args(const struct option_group *without, size_t at, const char *instead)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_BWRAP_ARGS_MAX);
	struct koda_error err = { 0 };

	for (size_t i = 0; i < bench.word_count; i++) {
		const char *word = instead && i == at ? instead : bench.words[i];

		if (without && i >= without->first && i < without->first + without->count)
			continue;
		if (koda_buf_add(&bytes, word, strlen(word) + 1) < 0)
			give_up("out of memory", &err);
	}
	return seal("args", &bytes);
}

static int seal_plan(void)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	struct koda_error err = { 0 };

	if (koda_plan_encode(&bench.divided, &bytes, &err) < 0)
		give_up("the plan", &err);
	return seal("plan", &bytes);
}

static void launch(int args, int status_end, int life_end)
{
	static char name[] = "koda-sandbox-stage2";
	char *const argv[] = { name, (char *)(uintptr_t)bench.part, NULL };
	char *const envp[] = { NULL };
	koda_auto_fd int plan = seal_plan();
	koda_auto_fd int others = seal("others", bench.open ? &bench.start : &bench.view);
	koda_auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	koda_auto_fd int program = koda_machine_open_bubblewrap(NULL);
	const struct koda_fdmap give[] = {
		{ null, 0 },
		{ null, 1 },
		{ null, 2 },
		{ plan, KODA_STAGE2_PLAN_FD },
		{ status_end, KODA_STAGE2_STATUS_FD },
		{ life_end, KODA_STAGE2_LIFE_FD },
		{ program, KODA_BWRAP_PROGRAM_FD },
		{ bench.open ? others : args, KODA_BWRAP_START_FD },
		{ bench.open ? args : others, KODA_BWRAP_ARGS_FD },
	};
	koda_auto_proc struct koda_proc guardian = KODA_PROC_INIT;
	struct koda_exit how;
	struct koda_error err = { 0 };

	if (koda_proc_spawn(&guardian, getenv("KODA_STAGE2"), argv, envp, give,
			    KODA_ARRAY_LEN(give), &err) < 0 ||
	    koda_proc_wait(&guardian, koda_clock_now() + LIMIT_NS, &how, &err) < 0)
		give_up("the launcher", &err);
}

/* The last report that tells how it ended. */
static struct koda_report run(int args)
{
	koda_auto_fd int status = -1;
	koda_auto_fd int status_end = -1;
	koda_auto_fd int life = -1;
	koda_auto_fd int life_end = -1;
	struct koda_report report = { 0 };
	struct koda_error err = { 0 };
	const struct koda_life_plan go = { KODA_LIFE_PLAN, KODA_LIFE_FOREVER };

	if (koda_fd_socketpair(&status, &status_end, &err) < 0 ||
	    koda_fd_socketpair(&life, &life_end, &err) < 0 ||
	    write(life, &go, sizeof(go)) != (ssize_t)sizeof(go))
		give_up("make channels", &err);
	launch(args, status_end, life_end);
	koda_fd_close(&status_end);
	while (read(status, &report, sizeof(report)) == (ssize_t)sizeof(report))
		if (report.kind == KODA_REPORT_SETUP_FAILED || report.kind == KODA_REPORT_EXITED)
			return report;
	return (struct koda_report){ 0 };
}

/* Says nothing about what can be reached. That a veil's way can be listed says only names that the
 * policy shows anyway. */
static bool is_exempt(const char *option, const char *path)
{
	/* bubblewrap covers two directories of /proc by itself; and a user namespace of our own
	 * comes later for whoever needs none of bubblewrap's. */
	static const char *const exempt[] = { "--hostname", "--chdir", "--die-with-parent",
					      "--as-pid-1", "--dir",   "--unshare-user" };

	for (size_t i = 0; i < KODA_ARRAY_LEN(exempt); i++)
		if (strcmp(option, exempt[i]) == 0)
			return true;
	return strcmp(path, "/proc/irq") == 0 || strcmp(path, "/proc/bus") == 0;
}

static const char *option_of(const struct option_group *group)
{
	size_t i = group->first;

	while (is_prefix(bench.words[i]))
		i += 2;
	return bench.words[i];
}

/* What allows more and takes as many values. */
static const char *weaker(const char *word)
{
	return strcmp(word, "--ro-bind") == 0        ? "--bind"
	       : strcmp(word, "0000") == 0           ? "0755"
	       : strcmp(word, "0111") == 0           ? "0755"
	       : strcmp(word, "--ro-bind-data") == 0 ? "--bind-data"
						     : NULL;
}

static bool expect_refusal(int args, const char *what, const struct option_group *group)
{
	struct koda_report report = run(args);

	(void)close(args);
	if (report.kind == KODA_REPORT_SETUP_FAILED)
		return true;
	(void)printf("nobody noticed: %s", what);
	for (size_t i = 0; i < group->count; i++)
		(void)printf(" %s", bench.words[group->first + i]);
	(void)printf("\n");
	return false;
}

/* Nothing is left out: it works, and also if the runner guessed wrong about who makes the view. */
static bool works_whole(void)
{
	static const char *const parts[] = { KODA_STAGE2_OPEN, KODA_STAGE2_BWRAP };

	KODA_EACH(part, parts) {
		koda_auto_fd int args = seal_args(NULL, 0, NULL);
		struct koda_report whole;

		bench.part = *part;
		whole = run(args);
		if (whole.kind == KODA_REPORT_EXITED && whole.status == 0)
			continue;
		(void)fprintf(stderr, "bend: the whole plan fails: %s %s\n",
			      koda_launch_step_text(whole.step), whole.path);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	unsigned int tried = 0;
	unsigned int survivors = 0;

	if (argc < 3 || argc > 4 || !getenv("KODA_STAGE2"))
		return 2;
	bench.open = argc == 4;
	make_plan(argv[1], argv[2]);
	split_args(bench.open ? &bench.view : &bench.start);
	if (!works_whole())
		return 2;
	for (size_t i = 0; i < bench.group_count; i++) {
		const struct option_group *group = &bench.groups[i];

		if (is_exempt(option_of(group), bench.words[group->first + group->count - 1]))
			continue;
		tried++;
		survivors += !expect_refusal(seal_args(group, 0, NULL), "left out:", group);
		for (size_t k = group->first; k < group->first + group->count; k++) {
			const char *instead = weaker(bench.words[k]);

			if (!instead)
				continue;
			tried++;
			survivors +=
				!expect_refusal(seal_args(NULL, k, instead), "made weaker:", group);
		}
	}
	(void)printf("%u changes of the arguments, %u not noticed\n", tried, survivors);
	koda_buf_clear(&bench.start);
	koda_buf_clear(&bench.view);
	free(bench.divided.lines);
	koda_plan_clear(&bench.plan);
	return survivors ? 1 : 0;
}
