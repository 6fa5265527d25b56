/* SPDX-License-Identifier: MIT */
#include "policy/path_verdict.h"

#include "base/error.h"
#include "policy/floor.h"

#define MARK(why) (1U << KODA_REASON_##why)

static const struct koda_verdict invalid = { KODA_DENY, KODA_REASON_INVALID, { "", 0 } };

static struct koda_verdict verdict(enum koda_answer answer, enum koda_reason reason,
				   struct koda_span rule)
{
	return (struct koda_verdict){ .answer = answer, .reason = reason, .rule = rule };
}

/* The state of a walk towards a path. */
struct reading {
	struct koda_verdict now;
	bool decided; /* deeper marks do not matter */
};

static const struct reading reading_begun = {
	.now = { KODA_ALLOW, KODA_REASON_DEFAULT, { "", 0 } }
};

/* Returns the reason to report, of several reasons to hide a path. */
static enum koda_reason hiding_reason(uint32_t marks)
{
	if (marks & MARK(OWN_STATE))
		return KODA_REASON_OWN_STATE;
	return marks & MARK(KERNEL_HIDDEN) ? KODA_REASON_KERNEL_HIDDEN : KODA_REASON_HIDDEN_NAME;
}

static void read_step(struct reading *reading, const struct koda_pathwalk *walk)
{
	if (walk->marks & KODA_FLOOR_HIDDEN) {
		reading->now = verdict(KODA_DENY, hiding_reason(walk->marks), walk->rule);
		reading->decided = true;
	} else if (walk->marks & MARK(DENY_READ)) {
		reading->now = verdict(KODA_DENY, KODA_REASON_DENY_READ, walk->rule);
	} else if ((walk->marks & MARK(READ_HOLE)) && reading->now.answer == KODA_DENY) {
		reading->now = verdict(KODA_ALLOW, KODA_REASON_READ_HOLE, walk->rule);
	}
}

struct koda_verdict koda_path_verdict_read(const struct koda_pathindex *index,
					   struct koda_span path)
{
	struct reading reading = reading_begun;
	struct koda_pathwalk walk;

	if (!koda_pathwalk_is_sound(path))
		return invalid;
	walk = koda_pathwalk_start(index, path);
	while (!reading.decided && koda_pathwalk_next(&walk))
		read_step(&reading, &walk);
	return reading.now;
}

/* Returns the reason to report, of several reasons to refuse a write: the floor, then the write
 * rule. */
static enum koda_reason write_refusal(uint32_t marks)
{
	static const enum koda_reason order[] = {
		KODA_REASON_OWN_STATE,  KODA_REASON_CREDENTIALS,   KODA_REASON_PROJECT_NAME,
		KODA_REASON_GIT,        KODA_REASON_EXEC_DIR,      KODA_REASON_KERNEL,
		KODA_REASON_OWN_POLICY, KODA_REASON_KERNEL_HIDDEN, KODA_REASON_HIDDEN_NAME,
		KODA_REASON_OTHER_NAME, KODA_REASON_DENY_WRITE,    KODA_REASON_DENY_READ,
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(order); i++)
		if (marks & (1U << order[i]))
			return order[i];
	return KODA_REASON_DEFAULT;
}

struct writing {
	struct koda_verdict now;
	struct koda_verdict refused;
	struct koda_verdict floor;
	bool decided;
};

static const struct writing writing_begun = {
	.now = { KODA_DENY, KODA_REASON_DEFAULT, { "", 0 } },
	.refused = { KODA_DENY, KODA_REASON_DEFAULT, { "", 0 } },
	.floor = { KODA_ALLOW, KODA_REASON_DEFAULT, { "", 0 } },
};

static void write_step(struct writing *writing, const struct koda_pathwalk *walk)
{
	enum koda_reason why = write_refusal(walk->marks);

	if (walk->marks & KODA_FLOOR_MARKS) {
		writing->floor = verdict(KODA_DENY, why, walk->rule);
		writing->decided = true;
		return;
	}
	if (walk->marks & KODA_FLOOR_REOPENED)
		writing->floor = writing_begun.floor;
	if (walk->marks & KODA_FLOOR_CLOSED)
		writing->floor = verdict(KODA_DENY, KODA_REASON_GIT, walk->rule);
	if (why != KODA_REASON_DEFAULT)
		writing->refused = verdict(KODA_DENY, why, walk->rule);
	if (walk->marks & MARK(ALLOW_WRITE))
		writing->now = verdict(KODA_ALLOW, KODA_REASON_ALLOW_WRITE, walk->rule);
	else if ((walk->marks & MARK(GIT_DIR)) && writing->now.answer == KODA_DENY)
		writing->now = verdict(KODA_ALLOW, KODA_REASON_GIT_DIR, walk->rule);
	/* A path that the policy makes writable is no copy. */
	else if ((walk->marks & MARK(CACHE)) && writing->now.answer == KODA_DENY)
		writing->now = verdict(KODA_ALLOW, KODA_REASON_CACHE, walk->rule);
}

static struct koda_verdict write_verdict(const struct writing *writing)
{
	if (writing->floor.answer == KODA_DENY)
		return writing->floor;
	return writing->refused.reason != KODA_REASON_DEFAULT ? writing->refused : writing->now;
}

struct koda_verdict koda_path_verdict_write(const struct koda_pathindex *index,
					    struct koda_span path)
{
	struct writing writing = writing_begun;
	struct koda_pathwalk walk;

	if (!koda_pathwalk_is_sound(path))
		return invalid;
	walk = koda_pathwalk_start(index, path);
	while (!writing.decided && koda_pathwalk_next(&walk))
		write_step(&writing, &walk);
	return write_verdict(&writing);
}

static void step(struct reading *reading, struct writing *writing, const struct koda_pathwalk *walk)
{
	if (!reading->decided)
		read_step(reading, walk);
	if (!writing->decided)
		write_step(writing, walk);
}

void koda_path_verdict_both(const struct koda_pathindex *index, struct koda_span path,
			    struct koda_verdict *ret_read, struct koda_verdict *ret_write)
{
	struct reading reading = reading_begun;
	struct writing writing = writing_begun;
	struct koda_pathwalk walk;

	*ret_read = invalid;
	*ret_write = *ret_read;
	if (!koda_pathwalk_is_sound(path))
		return;
	walk = koda_pathwalk_start(index, path);
	while (!(reading.decided && writing.decided) && koda_pathwalk_next(&walk))
		step(&reading, &writing, &walk);
	*ret_read = reading.now;
	*ret_write = write_verdict(&writing);
}

/* The state of a walk at a node. */
struct arrival {
	struct reading reading;
	struct writing writing;
};

static bool is_idle(const struct arrival *here, const struct arrival *above)
{
	struct koda_verdict now = write_verdict(&here->writing);
	struct koda_verdict before = write_verdict(&above->writing);

	if (here->reading.now.answer != above->reading.now.answer || now.answer != before.answer)
		return false;
	if (here->reading.now.answer == KODA_DENY || now.answer == KODA_DENY)
		return true;
	return now.reason == KODA_REASON_CACHE && before.reason == KODA_REASON_CACHE;
}

/* Numbers the nodes with children from 1 on; leaves get 0. Returns the first free number. */
static size_t number_dirs(const struct koda_pathindex *index, size_t count, uint32_t *ret_numbers)
{
	uint32_t dirs = 1;

	for (size_t i = 1; i < count; i++)
		ret_numbers[index->nodes[i].above] = 1;
	for (size_t i = 0; i < count; i++)
		if (ret_numbers[i])
			ret_numbers[i] = dirs++;
	return dirs;
}

int koda_path_verdict_idle(const struct koda_pathindex *index, bool *ret_idle,
			   struct koda_error *err)
{
	size_t count = index->node_cap ? (size_t)index->trie.nodes + 1 : 0;
	koda_auto_free uint32_t *dirs = calloc(count + 1, sizeof(*dirs));
	koda_auto_free struct arrival *at = NULL;

	/* Most nodes are leaves, whose state is not needed again. */
	if (dirs)
		at = reallocarray(NULL, number_dirs(index, count, dirs), sizeof(*at));
	if (!dirs || !at)
		return koda_fail_nomem(err);
	at[0] = (struct arrival){ reading_begun, writing_begun };
	/* A parent has a lower number than its children. */
	for (size_t i = 0; i < count; i++) {
		const struct koda_pathnode *node = &index->nodes[i];
		const struct arrival *above = &at[i == KODA_TRIE_ROOT ? 0 : dirs[node->above]];
		struct arrival here = *above;

		if (node->marks) {
			const struct koda_pathwalk walk = { .marks = node->marks,
							    .rule = koda_strlist_get(&index->texts,
										     node->text) };

			step(&here.reading, &here.writing, &walk);
			ret_idle[node->text] = i != KODA_TRIE_ROOT && is_idle(&here, above);
		}
		if (dirs[i])
			at[dirs[i]] = here;
	}
	return KODA_OK;
}
