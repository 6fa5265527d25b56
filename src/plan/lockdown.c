/* SPDX-License-Identifier: MIT */
/*
 * T-28. Lock-down and the command itself. Landlock repeats the mount view as an independent layer:
 * a path that is read-only in the view is not writable by Landlock either. Limits come from the
 * policy, and from the trust table where the policy has no field.
 */
#include "plan/lockdown.h"

#include "base/error.h"
#include "plan/filter.h"
#include "plan/landlock_rights.h"
#include "plan/report_filter.h"
#include "policy/policy.h"

#include <koda/env.h>
#include <sys/resource.h>

#define CPU_GRACE_SECS 2
#define LOCKED_BYTES   ((uint64_t)64 << 10)

static int add_landlock(struct koda_plan *plan, const char *path, uint64_t rights,
			struct koda_error *err)
{
	struct koda_op op = { .kind = KODA_OP_LANDLOCK, .n1 = rights, .text1 = koda_span_of(path) };

	return koda_plan_add(plan, &op, NULL, err);
}

/* Adds a rule for everything that the view makes writable. The list of lines grows meanwhile. */
static int add_writable(struct koda_plan *plan, struct koda_error *err)
{
	size_t count = plan->count;
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		enum koda_op_kind kind = plan->lines[i].op.kind;

		/* A path below a writable mount needs no rule of its own. */
		if (plan->lines[i].op.flags & (KODA_OP_CLOSED | KODA_OP_NESTED))
			continue;
		if (kind == KODA_OP_WRITABLE || kind == KODA_OP_TMPFS || kind == KODA_OP_OVERLAY)
			r = add_landlock(plan, plan->lines[i].op.text1.ptr, RIGHTS_ALL, err);
	}
	return r;
}

static int plan_landlock(struct koda_plan *plan, struct koda_error *err)
{
	int r = add_landlock(plan, "/", RIGHTS_READ, err);

	if (r == KODA_OK)
		r = add_landlock(plan, "/dev", RIGHTS_DEVICE, err);
	if (r == KODA_OK)
		r = add_landlock(plan, "/proc", RIGHTS_READ | RIGHT_WRITE_FILE | RIGHT_TRUNCATE,
				 err);
	return r < 0 ? r : add_writable(plan, err);
}

static int add_limit(struct koda_plan *plan, unsigned int resource, uint64_t soft, uint64_t hard,
		     struct koda_error *err)
{
	const struct koda_op op = {
		.kind = KODA_OP_RLIMIT, .flags = resource, .n1 = soft, .n2 = hard
	};

	return koda_plan_add(plan, &op, NULL, err);
}

/* Returns whether memory is limited, and to how much: the smaller of policy and request. */
static bool memory_limit(const struct koda_plan_request *request, uint64_t *ret_value)
{
	bool stated = koda_policy_limit(request->policy, KODA_LIMIT_MEMORY, ret_value);

	if (request->memory_limit && (!stated || request->memory_limit < *ret_value)) {
		*ret_value = request->memory_limit;
		stated = true;
	}
	return stated;
}

/* Adds the limit of resident memory of the whole process tree, which init or the control group
 * enforces; RLIMIT_RSS only carries the number. Without a control group each process also gets
 * RLIMIT_DATA, if the limit is lower than the default of the machine. Not otherwise: RLIMIT_DATA
 * counts reserved memory too, such as the shadow memory of sanitizers. */
static int add_memory(struct koda_plan *plan, const struct koda_plan_request *request,
		      struct koda_error *err)
{
	uint64_t value;
	int r;

	if (!memory_limit(request, &value))
		return KODA_OK;
	r = add_limit(plan, RLIMIT_RSS, value, value, err);
	/* T-31. Page cache is not counted, because the kernel can reclaim it; so little of it may
	 * be locked. Programs that keep a key in memory need some kilobytes. */
	if (r == KODA_OK && !request->cgroup)
		r = add_limit(plan, RLIMIT_MEMLOCK, LOCKED_BYTES, LOCKED_BYTES, err);
	if (r == KODA_OK && !request->cgroup &&
	    (request->max_memory == 0 || value < request->max_memory))
		r = add_limit(plan, RLIMIT_DATA, value, value, err);
	return r;
}

int koda_plan_limits(struct koda_plan *plan, const struct koda_plan_request *request,
		     struct koda_error *err)
{
	struct koda_trust_limits table = koda_trust_limits(request->trust);
	uint64_t processes = table.max_processes;
	struct koda_op group = { .kind = KODA_OP_CGROUP };
	uint64_t value;
	int r = add_limit(plan, RLIMIT_CORE, table.max_core_bytes, table.max_core_bytes, err);

	if (request->max_processes && request->max_processes < processes)
		processes = request->max_processes;
	if (r == KODA_OK)
		r = add_limit(plan, RLIMIT_NPROC, processes, processes, err);
	if (r == KODA_OK)
		r = add_limit(plan, RLIMIT_FSIZE, table.max_file_bytes, table.max_file_bytes, err);
	if (r == KODA_OK && koda_policy_limit(request->policy, KODA_LIMIT_OPEN_FILES, &value))
		r = add_limit(plan, RLIMIT_NOFILE, value, value, err);
	if (r == KODA_OK)
		r = add_memory(plan, request, err);
	/* SIGXCPU at the soft limit, which can be handled; SIGKILL at the hard one. */
	if (r == KODA_OK && koda_policy_limit(request->policy, KODA_LIMIT_CPU_TIME, &value))
		r = add_limit(plan, RLIMIT_CPU, value, value + CPU_GRACE_SECS, err);
	/* Without a control group init counts the tree itself. The group contains init, too. */
	if (r == KODA_OK && request->cgroup && memory_limit(request, &group.n1)) {
		group.text1 = koda_span_of(request->cgroup);
		group.n2 = processes + 1;
		r = koda_plan_add(plan, &group, NULL, err);
	}
	return r;
}

static int add_text(struct koda_plan *plan, enum koda_op_kind kind, const char *text,
		    struct koda_error *err)
{
	const struct koda_op op = { .kind = kind, .text1 = koda_span_of(text) };

	return koda_plan_add(plan, &op, NULL, err);
}

/* Adds what the command's process tries before execve, and what must fail: creating a file in / and
 * opening a hidden path, if there is one. */
static int plan_canaries(struct koda_plan *plan, struct koda_error *err)
{
	size_t count = plan->count;
	int r = add_text(plan, KODA_OP_DENIED_WRITE, "/", err);

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		if (plan->lines[i].op.kind == KODA_OP_MASK &&
		    !(plan->lines[i].op.flags & (KODA_OP_FLEETING | KODA_OP_EMPTY))) {
			r = add_text(plan, KODA_OP_DENIED_READ, plan->lines[i].op.text1.ptr, err);
			break;
		}
	}
	return r;
}

int koda_plan_command(struct koda_plan *plan, const struct koda_plan_request *request,
		      struct koda_error *err)
{
	const struct koda_op net = {
		.kind = KODA_OP_NET,
		.n1 = koda_policy_has_network(request->policy) ? KODA_PROXY_PORT : 0,
		/* Without a network namespace the command would bind ports of the host. */
		.n2 = request->scratch ||
		      !koda_policy_flag(request->policy, KODA_FLAG_ALLOW_LOCAL_BINDING),
	};
	const struct koda_op terminal = {
		.kind = KODA_OP_TERMINAL,
		.text1 = { (const char *)request->terminal, sizeof(*request->terminal) },
	};
	int r = koda_plan_add(plan, &net, NULL, err);

	if (r == KODA_OK && request->terminal)
		r = koda_plan_add(plan, &terminal, NULL, err);
	for (uint32_t i = 0; request->passed_fds && i < request->passed_fds->count && r == KODA_OK;
	     i++) {
		const struct koda_op op = { .kind = KODA_OP_DESCRIPTOR,
					    .n1 = (uint64_t)request->passed_fds->numbers[i] };

		r = koda_plan_add(plan, &op, "passed by the host", err);
	}
	if (r == KODA_OK)
		r = add_text(plan, KODA_OP_CWD, request->cwd, err);
	for (const char *const *env = request->env; *env && r == KODA_OK; env++)
		r = add_text(plan, KODA_OP_ENV, *env, err);
	for (const char *const *arg = request->argv; *arg && r == KODA_OK; arg++)
		r = add_text(plan, KODA_OP_ARG, *arg, err);
	return r;
}

/* Plans the filter of reports. Reading is reported only if the policy itself hides something. */
static int plan_report_filter(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err)
{
	koda_auto_buf struct koda_buf program = KODA_BUF_INIT(65536);
	struct koda_op filter = { .kind = KODA_OP_FILTER, .flags = KODA_OP_NOTIFY };
	bool reads = request->policy->lists[KODA_LIST_DENY_READ].count > 0;
	int r = koda_report_filter_program(reads, &program);

	if (r < 0)
		return koda_fail_nomem(err);
	filter.text1 = koda_buf_span(&program);
	return koda_plan_add(plan, &filter, "reports of what is refused", err);
}

int koda_plan_lockdown(struct koda_plan *plan, const struct koda_plan_request *request,
		       struct koda_error *err)
{
	struct koda_op filter = { .kind = KODA_OP_FILTER, .text1 = koda_filter_program() };
	int r = plan_landlock(plan, err);

	if (r == KODA_OK)
		r = koda_plan_limits(plan, request, err);
	if (r == KODA_OK)
		r = koda_plan_add(plan, &filter, NULL, err);
	if (r == KODA_OK && request->report)
		r = plan_report_filter(plan, request, err);
	if (r == KODA_OK)
		r = plan_canaries(plan, err);
	if (r == KODA_OK)
		r = koda_plan_command(plan, request, err);
	return r;
}
