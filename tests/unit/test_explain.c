/* SPDX-License-Identifier: MIT */
/* T-105. Explanations: groups, their order, one hint for each, bounds, and escapes. */
#include "koda_test.h"

#include "base/macros.h"

#include <koda/koda.h>

static struct koda_explain *new_explain(void)
{
	struct koda_explain *explain = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_explain_new(&explain, &err), err);
	return explain;
}

static void deny(struct koda_explain *explain, const char *target, const char *rule,
		 const char *hint)
{
	const struct koda_event event = { .type = KODA_EVENT_VIOLATION,
					  .data.violation = { .kind = KODA_VIOLATION_FILE_WRITE,
							      .target = target,
							      .rule = rule,
							      .hint = hint } };

	koda_explain_take_event(explain, &event);
}

/* Compares what is printed. NULL: is not looked at. */
static void expect(const struct koda_explain *explain, const char *text, const char *json)
{
	koda_auto_free char *as_text = NULL;
	koda_auto_free char *as_json = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_explain_text(explain, &as_text, &err), err);
	KODA_ASSERT_OK(koda_explain_json(explain, &as_json, &err), err);
	if (text)
		assert_string_equal(as_text, text);
	if (json)
		assert_string_equal(as_json, json);
}

static void nothing(void **state)
{
	struct koda_explain *explain = new_explain();
	const struct koda_event event = { .type = KODA_EVENT_EXIT };

	(void)state;
	koda_explain_take_event(explain, &event);
	assert_int_equal(koda_explain_count(explain), 0);
	expect(explain, "nothing was denied\n", "[]\n");
	koda_explain_free(explain);
	koda_explain_free(NULL);
}

static void groups(void **state)
{
	const struct koda_event limit = {
		.type = KODA_EVENT_LIMIT,
		.data.limit = { KODA_LIMIT_WALL_TIME, 60, "{\"limits\":{\"wall_time_secs\":120}}" }
	};
	struct koda_explain *explain = new_explain();

	(void)state;
	deny(explain, "/w/.git/hooks", "floor.git /w/.git/hooks", "{\"floor\":\"floor.git\"}");
	koda_explain_take_event(explain, &limit);
	deny(explain, "/a", "default", "{\"fs\":{\"allow_write\":[\"/a\"]}}");
	deny(explain, "/b", "default", "{\"fs\":{\"allow_write\":[\"/b\"]}}");
	deny(explain, "/b", "default", "{\"fs\":{\"allow_write\":[\"/b\"]}}");
	deny(explain, NULL, NULL, NULL);
	assert_int_equal(koda_explain_count(explain), 6);
	expect(explain,
	       "6 denials\n"
	       "\n3  writing outside of fs.allow_write\n     /a\n     /b\n"
	       "   would be allowed with {\"fs\":{\"allow_write\":[\"/a\",\"/b\"]}}\n"
	       "\n1  writing: floor.git\n     /w/.git/hooks\n   no policy allows it\n"
	       "\n1  the limit wall_time\n"
	       "   would be allowed with {\"limits\":{\"wall_time_secs\":120}}\n"
	       "\n1  writing\n",
	       "[{\"cause\":\"writing outside of fs.allow_write\",\"rule\":\"default\",\"count\":3,"
	       "\"targets\":[\"/a\",\"/b\"],\"hint\":{\"fs\":{\"allow_write\":[\"/a\",\"/b\"]}}},\n"
	       " {\"cause\":\"writing: floor.git\",\"rule\":\"floor.git "
	       "/w/.git/hooks\",\"count\":1,"
	       "\"targets\":[\"/w/.git/hooks\"],\"hint\":{\"floor\":\"floor.git\"}},\n"
	       " {\"cause\":\"the limit "
	       "wall_time\",\"rule\":\"wall_time\",\"count\":1,\"targets\":[],"
	       "\"hint\":{\"limits\":{\"wall_time_secs\":120}}},\n"
	       " {\"cause\":\"writing\",\"rule\":null,\"count\":1,\"targets\":[],\"hint\":null}]"
	       "\n");
	koda_explain_free(explain);
}

static void escapes(void **state)
{
	struct koda_explain *explain = new_explain();

	(void)state;
	deny(explain, "/a\n9  \x1b[31mwriting\xff", "r\x07\n", "not a hint");
	expect(explain,
	       "1 denial\n\n1  writing: r\\x07\\x0a\n     /a\\x0a9  \\x1b[31mwriting\\xff\n",
	       "[{\"cause\":\"writing: r\\u0007\\u000A\",\"rule\":\"r\\u0007\\u000A\",\"count\":1,"
	       "\"targets\":[\"%/a%0A9  %1B[31mwriting%FF\"],\"hint\":null}]\n");
	koda_explain_free(explain);
}

/* Without end, groups and targets are counted and not kept. */
static void bounds(void **state)
{
	struct koda_explain *explain = new_explain();
	koda_auto_free char *text = NULL;
	koda_auto_free char *json = NULL;
	koda_auto_free char *huge = malloc(100000);
	struct koda_error err = { 0 };
	char name[64];

	(void)state;
	assert_non_null(huge);
	memset(huge, 'x', 99999);
	huge[99999] = '\0';
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "/file-%d", i);
		deny(explain, name, "one", NULL);
		deny(explain, "/file", name, NULL);
	}
	deny(explain, huge, huge, huge);
	deny(explain, huge, "one", NULL);
	KODA_ASSERT_OK(koda_explain_text(explain, &text, &err), err);
	KODA_ASSERT_OK(koda_explain_json(explain, &json, &err), err);
	assert_int_equal(koda_explain_count(explain), 2002);
	assert_non_null(strstr(text, "\n1001  writing: one\n     /file-0\n"));
	assert_non_null(strstr(text, "     and 981 denials with other targets\n"));
	assert_non_null(strstr(text, "\n802 further denials have no event"));
	assert_null(strstr(text, "/file-999\n"));
	assert_non_null(strstr(json, "\"more\":981"));
	koda_explain_free(explain);
}

/* The event at the end of a command with many denials counts those without an event. */
static void untold(void **state)
{
	const struct koda_event event = { .type = KODA_EVENT_VIOLATION,
					  .data.violation = { .kind = KODA_VIOLATION_OTHER,
							      .dropped = 500 } };
	const struct koda_event last = { .type = KODA_EVENT_EXIT, .data.exit = { .lost = 7 } };
	struct koda_explain *explain = new_explain();

	(void)state;
	deny(explain, "/a", NULL, NULL);
	koda_explain_take_event(explain, &event);
	koda_explain_take_event(explain, &last);
	assert_int_equal(koda_explain_count(explain), 1);
	expect(explain,
	       "1 denial\n\n1  writing\n     /a\n\n"
	       "500 further denials have no event, or a cause that is not shown\n\n"
	       "7 events were lost, because their reader was too slow\n",
	       NULL);
	koda_explain_free(explain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing), cmocka_unit_test(groups), cmocka_unit_test(escapes),
		cmocka_unit_test(bounds),  cmocka_unit_test(untold),
	};

	return KODA_TEST_RUN(tests);
}
