/* SPDX-License-Identifier: MIT */
/*
 * Finds hints. The rules of the changed policy are asked, and the rule that denies is changed,
 * until they allow: so a hint that is found does allow what was denied. Each round undoes one rule.
 */
#include "base/error.h"
#include "base/path.h"
#include "policy/floor.h"
#include "policy/hint.h"
#include "policy/host.h"
#include "policy/path_verdict.h"
#include "policy/rules.h"

#include <stdio.h>

/* More rules than this about one path or host give no hint. */
#define ROUNDS_MAX 24

#define MARK(why) (1U << KODA_REASON_##why)

static int add(struct koda_policy *part, enum koda_list list, struct koda_span entry,
	       struct koda_error *err)
{
	return koda_policy_add(part, list, entry.ptr, entry.len, err);
}

/* What is asked of the rules: a path, or a host. */
struct question {
	enum {
		READ,
		WRITE,
		REPLACE,
		CONNECT
	} what;
	struct koda_span target;
	const struct koda_rules *rules;   /* of a path */
	const struct koda_policy *policy; /* of a host */
	uint16_t port;
	const struct koda_addr *addr; /* NULL: unknown */
};

static struct koda_set *removed(const struct koda_hint *hint, enum koda_list list)
{
	return &hint->remove->lists[list];
}

/* Tells whether path ends in the name of a file that allow_git_config makes writable. */
static bool is_git_config(struct koda_span path)
{
	for (const char *const *name = koda_floor_git_configs; *name; name++) {
		size_t len = strlen(*name);

		if (path.len > len && path.ptr[path.len - len - 1] == '/' &&
		    memcmp(path.ptr + path.len - len, *name, len) == 0)
			return true;
	}
	return false;
}

/* Returns the marks that the hint leaves to a path. */
static uint32_t marks_left(const struct koda_hint *hint, struct koda_span path, uint32_t marks)
{
	if (koda_set_find(removed(hint, KODA_LIST_DENY_READ), path) != KODA_SET_NONE)
		marks &= ~MARK(DENY_READ);
	if (koda_set_find(removed(hint, KODA_LIST_DENY_WRITE_WITHIN_ALLOW), path) != KODA_SET_NONE)
		marks &= ~MARK(DENY_WRITE);
	if (hint->add->flags[KODA_FLAG_ALLOW_GIT_CONFIG].on && is_git_config(path))
		marks &= ~MARK(GIT);
	return marks;
}

static int add_marks(struct koda_pathindex *index, const struct koda_set *paths, uint32_t mark,
		     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < paths->count && r == KODA_OK; i++)
		r = koda_pathindex_add(index, koda_set_get(paths, i), mark, err);
	return r;
}

/* Copies the rules about paths, as the hint changes them. */
static int change_paths(const struct koda_pathindex *from, const struct koda_hint *hint,
			struct koda_pathindex *ret_index, struct koda_error *err)
{
	size_t count = from->node_cap ? (size_t)from->trie.nodes + 1 : 0;
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		const struct koda_pathnode *node = &from->nodes[i];
		struct koda_span path;
		uint32_t marks;

		if (!node->marks)
			continue;
		path = koda_strlist_get(&from->texts, node->text);
		marks = marks_left(hint, path, node->marks);
		if (marks)
			r = koda_pathindex_add(ret_index, path, marks, err);
	}
	if (r == KODA_OK)
		r = add_marks(ret_index, &hint->add->lists[KODA_LIST_ALLOW_READ_WITHIN_DENY],
			      MARK(READ_HOLE), err);
	return r < 0 ? r
		     : add_marks(ret_index, &hint->add->lists[KODA_LIST_ALLOW_WRITE],
				 MARK(ALLOW_WRITE), err);
}

enum step {
	DONE = 0, /* the policy allows it as the hint changes it, or there is a floor */
	AGAIN,
	NO_HINT
};

/* Returns true for a directory with credentials or koda's own state below it, such as / and the
 * home. A command can name it, and to open it is no narrow change. */
static bool is_wide(const struct koda_pathindex *index, struct koda_span dir)
{
	size_t count = index->node_cap ? (size_t)index->trie.nodes + 1 : 0;

	for (size_t i = 0; i < count; i++) {
		const struct koda_pathnode *node = &index->nodes[i];
		struct koda_span path;

		if (!(node->marks & (MARK(CREDENTIALS) | MARK(OWN_STATE))))
			continue;
		path = koda_strlist_get(&index->texts, node->text);
		if (path.len > dir.len && koda_path_covers(dir, path))
			return true;
	}
	return false;
}

/* Adds a path to a list. Returns DONE or NO_HINT. */
static int open_path(const struct question *q, enum koda_list list, struct koda_span path,
		     struct koda_hint *hint, struct koda_error *err)
{
	if (is_wide(koda_rules_paths(q->rules), path))
		return NO_HINT;
	return add(hint->add, list, path, err);
}

/* Adds the path; to replace a file that can be written, its directory has to be writable. */
static int allow_write(const struct question *q, struct koda_hint *hint, struct koda_error *err)
{
	struct koda_span dir = q->target;

	while (dir.len > 0 && dir.ptr[dir.len - 1] != '/')
		dir.len--;
	dir.len -= dir.len > 0;
	return open_path(q, KODA_LIST_ALLOW_WRITE,
			 q->what != REPLACE ? q->target
			 : dir.len          ? dir
					    : koda_span_of("/"),
			 hint, err);
}

/* Adds HOST:PORT, an IPv6 address in brackets. */
static int allow_host(const struct question *q, struct koda_hint *hint, struct koda_error *err)
{
	const bool bare_v6 = memchr(q->target.ptr, ':', q->target.len) && q->target.ptr[0] != '[';
	char pattern[KODA_HOST_NAME_MAX + 16];
	int len = snprintf(pattern, sizeof(pattern), bare_v6 ? "[%.*s]:%u" : "%.*s:%u",
			   (int)q->target.len, q->target.ptr, q->port);

	return add(hint->add, KODA_LIST_ALLOWED_DOMAINS, (struct koda_span){ pattern, (size_t)len },
		   err);
}

/* Takes a pattern off denied_domains. "*" alone, without a list of what is allowed, would open
 * every public host; with it goes the host. */
static int undo_deny(const struct question *q, struct koda_span rule, struct koda_hint *hint,
		     struct koda_error *err)
{
	int r = add(hint->remove, KODA_LIST_DENIED_DOMAINS, rule, err);

	return r == KODA_OK && koda_policy_count(q->policy, KODA_LIST_ALLOWED_DOMAINS) == 0 &&
			       rule.ptr[0] == '*' && (rule.len == 1 || rule.ptr[1] == ':')
		       ? allow_host(q, hint, err)
		       : r;
}

static int set_floor(struct koda_hint *hint, enum koda_reason reason)
{
	(void)snprintf(hint->floor, sizeof(hint->floor), "%s", koda_reason_name(reason));
	return KODA_OK;
}

/* Changes the rule that has decided. Returns DONE or NO_HINT. */
static int change(const struct question *q, const struct koda_verdict *verdict,
		  struct koda_hint *hint, struct koda_error *err)
{
	switch (verdict->reason) {
	case KODA_REASON_DENY_READ:
		/* A hole of the length of its deny loses, and lets nothing be written. */
		if (q->what == READ && q->target.len > verdict->rule.len)
			return open_path(q, KODA_LIST_ALLOW_READ_WITHIN_DENY, q->target, hint, err);
		return add(hint->remove, KODA_LIST_DENY_READ, verdict->rule, err);
	case KODA_REASON_DENY_WRITE:
		return add(hint->remove, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, verdict->rule, err);
	case KODA_REASON_DEFAULT:
		return q->what == CONNECT ? allow_host(q, hint, err) : allow_write(q, hint, err);
	case KODA_REASON_HOST_DENIED:
		return undo_deny(q, verdict->rule, hint, err);
	case KODA_REASON_ADDRESS:
		return allow_host(q, hint, err);
	case KODA_REASON_GIT:
		if (!is_git_config(verdict->rule))
			return set_floor(hint, verdict->reason);
		koda_policy_set_flag(hint->add, KODA_FLAG_ALLOW_GIT_CONFIG, true);
		return DONE;
	case KODA_REASON_OWN_STATE:
	case KODA_REASON_CREDENTIALS:
	case KODA_REASON_PROJECT_NAME:
	case KODA_REASON_EXEC_DIR:
	case KODA_REASON_KERNEL:
	case KODA_REASON_OTHER_NAME:
	case KODA_REASON_HIDDEN_NAME:
	case KODA_REASON_OWN_POLICY:
	case KODA_REASON_KERNEL_HIDDEN:
		return set_floor(hint, verdict->reason);
	case KODA_REASON_INVALID:
	case KODA_REASON_READ_HOLE:
	case KODA_REASON_ALLOW_WRITE:
	case KODA_REASON_HOST_ALLOWED:
	case KODA_REASON_GIT_DIR:
	case KODA_REASON_CACHE:
	case KODA_REASON_COUNT:
		break;
	}
	return NO_HINT;
}

/* Changes the rule if the answer is no. Returns an enum step. */
static int judge(const struct question *q, const struct koda_verdict *verdict,
		 struct koda_hint *hint, struct koda_error *err)
{
	int r;

	if (verdict->answer == KODA_ALLOW)
		return DONE;
	r = change(q, verdict, hint, err);
	return r == DONE && !hint->floor[0] ? AGAIN : r;
}

/* One round: asks the rules as the hint changes them so far. Returns an enum step. */
static int try_path(const struct question *q, struct koda_hint *hint, struct koda_error *err)
{
	koda_auto_pathindex struct koda_pathindex index = KODA_PATHINDEX_INIT;
	struct koda_verdict verdict;
	int r = change_paths(koda_rules_paths(q->rules), hint, &index, err);

	if (r < 0)
		return r;
	verdict = q->what == READ    ? koda_path_verdict_read(&index, q->target)
		  : q->what == WRITE ? koda_path_verdict_write(&index, q->target)
				     : koda_path_verdict_replace(&index, q->target);
	return judge(q, &verdict, hint, err);
}

static int try_host(const struct question *q, struct koda_hint *hint, struct koda_error *err)
{
	static const struct koda_place nowhere = { .size = sizeof(nowhere) };
	koda_auto_policy struct koda_policy *changed = NULL;
	struct koda_rules *rules = NULL;
	struct koda_verdict verdict;
	int r = koda_hint_change(hint, q->policy, &changed, err);

	if (r == KODA_OK)
		r = koda_rules_new(changed, &nowhere, &rules, err);
	if (r == KODA_OK) {
		verdict =
			q->addr ? koda_rules_address(rules, q->target.ptr, q->target.len, q->port,
						     q->addr)
				: koda_rules_connect(rules, q->target.ptr, q->target.len, q->port);
		r = judge(q, &verdict, hint, err);
	}
	koda_rules_free(rules);
	return r;
}

static int take(const struct koda_hint *hint, char **ret_hint, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_HINT_TEXT_MAX);
	int r = koda_hint_emit(hint, &text);

	if (r == KODA_OK && text.len > 0)
		r = koda_buf_take(&text, ret_hint);
	return r < 0 ? koda_fail_room(err, r, "the hint") : KODA_OK;
}

/* Finds the hint; NULL if there is none, or if it would change nothing. */
static int find(const struct question *q, char **ret_hint, struct koda_error *err)
{
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	int r = koda_hint_init(&hint, err);

	if (r < 0)
		return r;
	r = AGAIN;
	for (int i = 0; i < ROUNDS_MAX && r == AGAIN; i++)
		r = q->what == CONNECT ? try_host(q, &hint, err) : try_path(q, &hint, err);
	if (r == AGAIN || r == NO_HINT)
		return KODA_OK;
	return r < 0 ? r : take(&hint, ret_hint, err);
}

int koda_hint_path(const struct koda_rules *rules, enum koda_violation kind, const char *path,
		   size_t len, char **ret_hint, struct koda_error *err)
{
	struct question q = { .what = kind == KODA_VIOLATION_FILE_WRITE ? WRITE : READ,
			      .target = { path, len },
			      .rules = rules };
	int r;

	*ret_hint = NULL;
	if (!koda_path_is_normal(q.target))
		return KODA_OK;
	r = find(&q, ret_hint, err);
	if (r < 0 || *ret_hint || q.what == READ)
		return r;
	q.what = REPLACE;
	return find(&q, ret_hint, err);
}

int koda_hint_connect(const struct koda_policy *policy, const char *host, size_t len, uint16_t port,
		      const struct koda_addr *addr, char **ret_hint, struct koda_error *err)
{
	const struct question q = { .what = CONNECT,
				    .target = { host, len },
				    .policy = policy,
				    .port = port,
				    .addr = addr };

	*ret_hint = NULL;
	if (len == 0 || len > KODA_HOST_NAME_MAX)
		return KODA_OK;
	return find(&q, ret_hint, err);
}

int koda_hint_limit(enum koda_limit which, uint64_t value, uint64_t ceiling, char **ret_hint,
		    struct koda_error *err)
{
	static const char *const names[] = {
#define LIMIT_TEXT(name, text) [KODA_LIMIT_##name] = "limits." text,
		KODA_LIMITS(LIMIT_TEXT)
#undef LIMIT_TEXT
	};
	const uint64_t most = ceiling < KODA_LIMIT_MAX ? ceiling : KODA_LIMIT_MAX;
	koda_auto_hint struct koda_hint hint = { .floor = "" };
	int r = koda_hint_init(&hint, err);

	*ret_hint = NULL;
	if (r < 0 || (unsigned int)which >= KODA_LIMIT_COUNT)
		return r;
	if ((unsigned int)which >= KODA_LIMIT_POLICY_COUNT || value >= most)
		(void)snprintf(hint.floor, sizeof(hint.floor), "%s", names[which]);
	else
		r = koda_policy_set_limit(hint.add, which,
					  value == 0         ? 1
					  : value > most / 2 ? most
							     : value * 2,
					  err);
	return r < 0 ? r : take(&hint, ret_hint, err);
}
