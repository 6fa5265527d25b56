/* SPDX-License-Identifier: MIT */
/*
 * Checks that every op of a plan is needed. One op is removed, or made weaker (a kind that allows
 * more, a flag less, a limit twice as high): the launcher must refuse, or some probe must notice.
 *
 *   mutate all ROOT HOME PROBE ACTS               every op in turn; prints what stays unnoticed
 *   mutate with KIND PATH ROOT HOME PROBE ACTS    one op more (a canary, a writable tree)
 *   mutate with unsound HOW ROOT HOME PROBE ACTS  a plan that is not sealed, or not sound
 *   mutate landlock KIND PATH ROOT HOME PROBE ACTS   one op more, on the landlock backend
 * KODA_STAGE2 is the launcher. ACTS is a file of lines for `probe each`.
 */
#include "unsound.h"

#include "../unit/koda_test.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/sandbox.h"
#include "wire/launch_step.h"
#include "wire/report.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#define NONE     SIZE_MAX
#define LIMIT_NS 20000000000ULL

struct bench {
	struct koda_plan plan;
	const char *acts;
	const char *launcher;
	bool landlock_only;
	bool early; /* the filters that go ahead of the plan are as changed as the plan's */
};

static _Noreturn void give_up(const char *what, const struct koda_error *err)
{
	(void)fprintf(stderr, "mutate: %s: %s %s\n", what, err->field, err->message);
	exit(2);
}

/* Some of everything: hidden, with a hole, closed, missing, a link, a nested repository. */
static struct koda_policy *make_policy(const char *root)
{
	static const struct {
		enum koda_list list;
		const char *below;
	} rules[] = {
		{ KODA_LIST_DENY_READ, "secret" },
		{ KODA_LIST_DENY_READ, "veiled" },
		{ KODA_LIST_ALLOW_READ_WITHIN_DENY, "veiled/hole" },
		{ KODA_LIST_DENY_WRITE_WITHIN_ALLOW, "closed" },
		{ KODA_LIST_DENY_WRITE_WITHIN_ALLOW, "later/on" },
	};
	struct koda_policy *policy = NULL;
	struct koda_error err;
	char bundle[4096];

	if (koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, &err) < 0)
		give_up("the policy", &err);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%s", root, rules[i].below);
		if (koda_policy_add(policy, rules[i].list, path, strlen(path), &err) < 0)
			give_up("the policy", &err);
	}
	(void)snprintf(bundle, sizeof(bundle), "%s/ca.pem", root);
	if (access(bundle, F_OK) == 0 &&
	    koda_policy_set_ca_bundle(policy, bundle, strlen(bundle), &err) < 0)
		give_up("the policy", &err);
	/* Binding is refused, so that the rule against it is there to be taken out. */
	koda_policy_set_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING, false);
	return policy;
}

static void make_plan(struct bench *bench, const char *root, const char *home, const char *probe)
{
	char home_entry[4200];
	const char *const env[] = { home_entry, "PATH=/usr/bin:/bin", NULL };
	const char *const argv[] = { probe, "each", NULL };
	koda_auto_policy struct koda_policy *policy = make_policy(root);
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .policy = policy,
						      .host_env = env,
						      .backend = bench->landlock_only
									 ? KODA_BACKEND_LANDLOCK
									 : KODA_BACKEND_NATIVE };
	const struct koda_command_options how = { .argv = argv };
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err;

	(void)snprintf(home_entry, sizeof(home_entry), "HOME=%s", home);
	if (koda_sandbox_open(&options, &sandbox, &err) < 0 ||
	    koda_sandbox_make_plan(sandbox, &how, &bench->plan, &err) < 0)
		give_up("the plan", &err);
	koda_sandbox_close(sandbox);
}

/* A change of a plan: line `at` has op `instead`, or is not there; at the end come `more`. */
struct change {
	size_t at;
	const struct koda_op *instead;
	const struct koda_op *more;
	size_t more_count;
	const char *unsound; /* how it is handed over; NULL: as it should be */
};

/* The plan with a change, or only its filters, as a sealed file. */
static int seal(const struct bench *bench, const struct change *change, bool filters)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	koda_auto_plan struct koda_plan changed = KODA_PLAN_INIT;
	struct koda_error err = { 0 };
	int fd = -1;
	int r = KODA_OK;

	for (size_t i = 0; i < bench->plan.count && r == KODA_OK; i++)
		if ((i != change->at || change->instead) &&
		    (!filters || bench->plan.lines[i].op.kind == KODA_OP_FILTER))
			r = koda_plan_add(&changed,
					  i == change->at ? change->instead
							  : &bench->plan.lines[i].op,
					  NULL, &err);
	for (size_t i = 0; i < change->more_count && r == KODA_OK && !filters; i++)
		r = koda_plan_add(&changed, &change->more[i], NULL, &err);
	if (r == KODA_OK)
		r = koda_plan_encode(&changed, &bytes, &err);
	if (r == KODA_OK && change->unsound)
		return unsound_plan(&bytes, change->unsound);
	if (r == KODA_OK)
		r = koda_fd_sealed("plan", bytes.ptr, bytes.len, &fd, &err);
	if (r < 0)
		give_up("seal", &err);
	return fd;
}

/* Its exit status. */
static int launch(const struct bench *bench, int plan, int filters, int out, int status_end,
		  int life_end)
{
	static char name[] = "koda-sandbox-stage2";
	static char mode[] = KODA_STAGE2_LANDLOCK;
	char *const argv[] = { name, bench->landlock_only ? mode : NULL, NULL };
	char *const envp[] = { NULL };
	koda_auto_fd int acts = open(bench->acts, O_RDONLY | O_CLOEXEC);
	koda_auto_fd int err_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct koda_fdmap give[] = {
		{ acts, 0 },
		{ out, 1 },
		{ err_fd, 2 },
		{ plan, KODA_STAGE2_PLAN_FD },
		{ status_end, KODA_STAGE2_STATUS_FD },
		{ life_end, KODA_STAGE2_LIFE_FD },
		{ filters, KODA_STAGE2_FILTERS_FD },
	};
	koda_auto_proc struct koda_proc guardian = KODA_PROC_INIT;
	struct koda_exit how;
	struct koda_error err = { 0 };

	if (acts < 0 || err_fd < 0 ||
	    koda_proc_spawn(&guardian, bench->launcher, argv, envp, give,
			    sizeof(give) / sizeof(give[0]), &err) < 0)
		give_up("start the launcher", &err);
	if (koda_proc_wait(&guardian, koda_clock_now() + LIMIT_NS, &how, &err) < 0)
		give_up("wait for the launcher", &err);
	return how.code;
}

/* How it ended; what comes before, a listener say, is of no interest here. */
static struct koda_report last_report(int status)
{
	struct koda_report report = { 0 };

	while (read(status, &report, sizeof(report)) == (ssize_t)sizeof(report))
		if (report.kind == KODA_REPORT_SETUP_FAILED ||
		    report.kind == KODA_REPORT_EXEC_FAILED || report.kind == KODA_REPORT_EXITED)
			return report;
	return (struct koda_report){ 0 };
}

/* What the probe said, or the launcher's report if it refused; owned by the caller. */
static char *run(const struct bench *bench, const struct change *change)
{
	const struct change unchanged = { .at = NONE };
	koda_auto_fd int plan = seal(bench, change, false);
	koda_auto_fd int filters = seal(bench, bench->early ? change : &unchanged, true);
	koda_auto_fd int out = memfd_create("answers", MFD_CLOEXEC);
	koda_auto_fd int status = -1;
	koda_auto_fd int status_end = -1;
	koda_auto_fd int life = -1;
	koda_auto_fd int life_end = -1;
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT((size_t)1 << 20);
	struct koda_report report;
	struct koda_error err = { 0 };
	const struct koda_life_plan go = { KODA_LIFE_PLAN, KODA_LIFE_FOREVER };
	const char *step;
	char *said = NULL;
	int code;

	if (out < 0 || koda_fd_socketpair(&status, &status_end, &err) < 0 ||
	    koda_fd_socketpair(&life, &life_end, &err) < 0)
		give_up("make pipes", &err);
	if (write(life, &go, sizeof(go)) != (ssize_t)sizeof(go))
		give_up("send the plan", &err);
	code = launch(bench, plan, filters, out, status_end, life_end);
	koda_fd_close(&status_end);
	report = last_report(status);
	step = koda_launch_step_text(report.step);
	/* Whichever of its processes has failed. */
	if (report.kind != 0 &&
	    code != (report.kind == KODA_REPORT_SETUP_FAILED ? KODA_STAGE2_FAILED : 0)) {
		(void)snprintf(err.field, sizeof(err.field), "%d %s", code, step);
		give_up("the launcher's exit status", &err);
	}
	(void)lseek(out, 0, SEEK_SET);
	if (koda_fd_read_all(out, &text, &err) < 0)
		give_up("read the answers", &err);
	if (report.kind != KODA_REPORT_EXITED &&
	    koda_buf_addf(&text, "refused: %.63s %.179s", step, report.path) < 0)
		give_up("out of memory", &err);
	if (koda_buf_add(&text, "", 0) < 0 || koda_buf_take(&text, &said) < 0)
		give_up("out of memory", &err);
	return said;
}

/* Of no consequence by themselves: the command's own words, checks, where the guardian keeps things
 * for the next run, and the placeholder of a hidden name, which another run may have made. */
static bool is_exempt(const struct koda_op *op)
{
	const uint64_t kinds = 1ULL << KODA_OP_ENV | 1ULL << KODA_OP_ARG |
			       1ULL << KODA_OP_DENIED_READ | 1ULL << KODA_OP_DENIED_WRITE |
			       1ULL << KODA_OP_JOURNAL | 1ULL << KODA_OP_STORE;

	return (kinds >> op->kind & 1) || (op->flags & KODA_OP_HIDDEN);
}

static int drop_each(const struct bench *bench, const char *all)
{
	unsigned int survivors = 0, tried = 0;

	for (size_t i = 0; i < bench->plan.count; i++) {
		const struct koda_op *op = &bench->plan.lines[i].op;
		char *said;

		if (is_exempt(op))
			continue;
		said = run(bench, &(struct change){ .at = i });
		tried++;
		if (strcmp(said, all) == 0) {
			survivors++;
			(void)printf("not missed: %s %s flags=%u\n", koda_op_name(op->kind),
				     op->kind == KODA_OP_FILTER ? "" : op->text1.ptr, op->flags);
		}
		free(said);
	}
	(void)printf("%u ops taken out, %u not missed\n", tried, survivors);
	return survivors ? 1 : 0;
}

/* Makes an op weaker in the n-th way; false if there are no more. A kind that allows more keeps
 * only the flags that it accepts, or the decoder would refuse the plan. The flag FLEETING is about
 * other programs; Landlock's rights cannot be told from outside while the view refuses as well. */
static bool weaken(struct koda_op *op, unsigned int n)
{
	static const enum koda_op_kind weaker[KODA_OP_COUNT] = {
		[KODA_OP_READONLY] = KODA_OP_WRITABLE,
		[KODA_OP_MASK] = KODA_OP_READONLY,
		[KODA_OP_VEIL] = KODA_OP_READONLY,
		[KODA_OP_HOLE] = KODA_OP_WRITABLE,
	};
	bool is_limit = op->kind == KODA_OP_RLIMIT;

	switch (n) {
	case 0:
		op->n1 = weaker[op->kind] && op->kind == KODA_OP_VEIL ? 0 : op->n1;
		op->n2 = weaker[op->kind] && op->kind == KODA_OP_VEIL ? 0 : op->n2;
		op->kind = weaker[op->kind] ? weaker[op->kind] : op->kind;
		op->flags &= koda_op_accepts(op->kind);
		return true;
	case 1:
		op->flags &= is_limit ? ~0U : ~(uint32_t)KODA_OP_LATE;
		return true;
	case 2:
		op->flags &= is_limit ? ~0U : ~(uint32_t)KODA_OP_CLOSED;
		return true;
	case 3:
		op->n1 += is_limit ? op->n1 + 1 : 0;
		op->n2 += is_limit ? op->n2 + 1 : 0;
		return true;
	case 4:
		op->n2 = op->kind == KODA_OP_NET ? 0 : op->n2;
		return true;
	default:
		return false;
	}
}

static bool is_same(const struct koda_op *a, const struct koda_op *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->n1 == b->n1 && a->n2 == b->n2;
}

static int weaken_each(const struct bench *bench, const char *all)
{
	unsigned int survivors = 0, tried = 0;

	for (size_t i = 0; i < bench->plan.count; i++) {
		const struct koda_op *op = &bench->plan.lines[i].op;
		struct koda_op weak = *op;

		for (unsigned int n = 0; weaken(&weak, n); n++, weak = *op) {
			char *said;

			if (is_same(&weak, op))
				continue;
			said = run(bench, &(struct change){ .at = i, .instead = &weak });
			tried++;
			if (strcmp(said, all) == 0) {
				survivors++;
				(void)printf(
					"nobody noticed: %s %s as %s flags=%u n1=%llu n2=%llu\n",
					koda_op_name(op->kind), op->text1.ptr,
					koda_op_name(weak.kind), weak.flags,
					(unsigned long long)weak.n1, (unsigned long long)weak.n2);
			}
			free(said);
		}
	}
	(void)printf("%u ops made weaker, %u not noticed\n", tried, survivors);
	return survivors ? 1 : 0;
}

/* One canary more, a tree that the view lets be written (and Landlock, if it is "granted", too), or
 * a filter in the place of the plan's that lets everything pass. */
static int add_one(const struct bench *bench, const char *kind, const char *path)
{
	static const struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct koda_op lax = { .kind = KODA_OP_FILTER,
				     .text1 = { (const char *)&pass, sizeof(pass) } };
	struct koda_op more[] = {
		{ .kind = KODA_OP_DENIED_READ, .text1 = koda_span_of(path) },
		{ .kind = KODA_OP_LANDLOCK, .n1 = UINT64_MAX, .text1 = koda_span_of(path) },
	};
	bool granted = strcmp(kind, "granted") == 0;
	struct change change = { .at = NONE, .more = more, .more_count = granted ? 2 : 1 };
	char *said;

	if (strcmp(kind, koda_op_name(KODA_OP_DENIED_WRITE)) == 0)
		more[0].kind = KODA_OP_DENIED_WRITE;
	if (strcmp(kind, koda_op_name(KODA_OP_WRITABLE)) == 0 || granted)
		more[0].kind = KODA_OP_WRITABLE;
	if (strcmp(kind, "unsound") == 0)
		change = (struct change){ .at = NONE, .unsound = path };
	if (strcmp(kind, koda_op_name(KODA_OP_FILTER)) == 0 || bench->early)
		change = (struct change){ .at = 0, .instead = &lax };
	while (change.instead && bench->plan.lines[change.at].op.kind != KODA_OP_FILTER)
		change.at++;
	said = run(bench, &change);
	(void)puts(said);
	free(said);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = { .plan = KODA_PLAN_INIT, .launcher = getenv("KODA_STAGE2") };
	bool all = argc == 6 && strcmp(argv[1], "all") == 0;
	bool landlock = argc == 8 && strcmp(argv[1], "landlock") == 0;
	bool with = landlock || (argc == 8 && strcmp(argv[1], "with") == 0);
	char **place = argv + (with ? 4 : 2);
	char *said;
	int status;

	if (!bench.launcher || (!all && !with))
		return 2;
	bench.acts = place[3];
	bench.landlock_only = landlock;
	make_plan(&bench, place[0], place[1], place[2]);
	said = run(&bench, &(struct change){ .at = NONE });
	if (strncmp(said, "refused:", 8) == 0 || !said[0]) {
		(void)fprintf(stderr, "mutate: the whole plan fails: %s\n", said);
		return 2;
	}
	bench.early = with && strcmp(argv[2], "early-filter") == 0;
	status = all ? drop_each(&bench, said) | weaken_each(&bench, said)
		     : add_one(&bench, argv[2], argv[3]);
	free(said);
	koda_plan_clear(&bench.plan);
	return status;
}
