/* SPDX-License-Identifier: MIT */
/* GETENV: variables of the worker's own environment, as far as the client's set-up lists them. */
#include "ops.h"
#include "records.h"

/* Takes a name off a list of names that each end with NUL. */
static struct koda_span take_name(struct koda_span *names)
{
	struct koda_span name = { names->ptr, strnlen(names->ptr, names->len) };

	*names = koda_span_skip(*names, name.len + 1);
	return name;
}

static bool may_tell(const struct fsworker *worker, struct koda_span name)
{
	struct koda_span names = worker->env_names;

	if (names.len == 0)
		return true;
	while (names.len > 0)
		if (koda_span_eq(take_name(&names), name))
			return true;
	return false;
}

/* Returns the value of a variable, or NULL. */
static const char *value_of(const struct fsworker *worker, struct koda_span name)
{
	if (!may_tell(worker, name))
		return NULL;
	for (char *const *entry = worker->environment; *entry; entry++)
		if (strncmp(*entry, name.ptr, name.len) == 0 && (*entry)[name.len] == '=')
			return *entry + name.len + 1;
	return NULL;
}

void fsworker_getenv(struct fsworker_task *task)
{
	struct fsworker_records records = { .task = task };
	struct koda_span names = task->request.text[0];
	bool ok = true;

	if (names.len > 0 && names.ptr[names.len - 1] != '\0') {
		(void)fsworker_task_fail(task, KODA_FS_STATUS_INVALID, "a name is cut off");
		return;
	}
	while (names.len > 0 && ok) {
		const char *value = value_of(task->worker, take_name(&names));

		ok = fsworker_records_add(&records, value ? "1" : "0", 1) &&
		     fsworker_records_add(&records, value ? value : "",
					  value ? strlen(value) + 1 : 1);
		records.count++;
	}
	fsworker_records_end(&records);
	task->reply.n[0] = records.count;
}
