/* SPDX-License-Identifier: MIT */
/*
 * T-33. Sandboxes of one process share a proxy and nothing else: each has its own rules, questions
 * and events, also when the proxy dies, when another sandbox ends, and when the host changes its
 * mind.
 */
#include "agent.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "run/proxy/listener.h"
#include "run/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static struct server one;
static struct server two;

static int start_servers(void **state)
{
	(void)state;
	server_start(&one, serve_echo, NULL);
	server_start(&two, serve_echo, NULL);
	return 0;
}

static int stop_servers(void **state)
{
	(void)state;
	server_stop(&one);
	server_stop(&two);
	return 0;
}

static const char refused[] = "403 not_listed";
static const char allowed[] = "200 ";

static void test_apart(void **state)
{
	struct agent a;
	struct agent b;
	pid_t pid;
	int before = koda_count_fds();

	agent_start(&a, *state, agent_policy(one.port, 0), false);
	assert_int_equal(count_proxies(&pid), 0); /* no command has connected */
	agent_start(&b, *state, agent_policy(two.port, 0), false);
	assert_string_equal(agent_do_port(&a, "hold", one.port), allowed);
	assert_string_equal(agent_do_port(&b, "hold", two.port), allowed);
	assert_string_equal(agent_do_port(&a, "try", two.port), refused);
	assert_string_equal(agent_do_port(&b, "try", one.port), refused);
	assert_int_equal(count_proxies(&pid), 1);
	assert_string_equal(agent_do(&a, "echo", "from a"), "from a");
	assert_string_equal(agent_do(&b, "echo", "from b"), "from b");
	/* One ends; the other does not notice. */
	agent_stop(&a);
	assert_int_equal(count_proxies(&pid), 1);
	assert_string_equal(agent_do(&b, "echo", "still b"), "still b");
	assert_string_equal(agent_do_port(&b, "try", one.port), refused);
	assert_string_equal(agent_do_port(&b, "try", two.port), allowed);
	agent_stop(&b);
	assert_int_equal(count_proxies(&pid), 0);
	/* The servers' threads close theirs when they notice. */
	for (int i = 0; i < 2000 && koda_count_fds() != before; i++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(koda_count_fds(), before);
}

static void test_crash(void **state)
{
	struct agent a;
	struct agent b;
	pid_t pid = 0;

	agent_start(&a, *state, agent_policy(one.port, 0), false);
	agent_start(&b, *state, agent_policy(two.port, 0), false);
	assert_string_equal(agent_do_port(&a, "hold", one.port), allowed);
	assert_string_equal(agent_do_port(&b, "hold", two.port), allowed);
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	agent_await(&a, "proxy_failed");
	agent_await(&b, "proxy_failed");
	assert_string_equal(agent_do(&a, "echo", "lost"), "gone");
	assert_string_equal(agent_do(&b, "echo", "lost"), "gone");
	assert_string_equal(agent_do_port(&a, "hold", one.port), allowed);
	assert_string_equal(agent_do_port(&b, "hold", two.port), allowed);
	assert_string_equal(agent_do_port(&a, "try", two.port), refused);
	assert_string_equal(agent_do_port(&b, "try", one.port), refused);
	assert_string_equal(agent_do(&b, "echo", "again"), "again");
	assert_int_equal(count_proxies(&pid), 1);
	agent_stop(&a);
	agent_stop(&b);
}

static void set_network(struct agent *agent, struct koda_policy *policy, int expected)
{
	struct koda_error err = { 0 };

	assert_int_equal(koda_sandbox_set_network(agent->sandbox, policy, &err), expected);
	koda_policy_free(policy);
}

static void test_rules(void **state)
{
	struct agent a;
	struct agent b;
	struct koda_policy *policy;
	struct koda_error err = { 0 };
	pid_t pid = 0;

	agent_start(&a, *state, agent_policy(one.port, two.port), false);
	agent_start(&b, *state, agent_policy(one.port, 0), false);
	assert_string_equal(agent_do_port(&a, "hold", one.port), allowed);
	assert_string_equal(agent_do_port(&b, "hold", one.port), allowed);
	/* Narrower: what is open closes, in this sandbox alone. */
	set_network(&a, agent_policy(two.port, 0), KODA_OK);
	assert_string_equal(agent_do(&a, "echo", "x"), "gone");
	assert_string_equal(agent_do_port(&a, "try", one.port), refused);
	assert_string_equal(agent_do_port(&a, "try", two.port), allowed);
	assert_string_equal(agent_do(&b, "echo", "x"), "x");
	assert_string_equal(agent_do_port(&b, "try", one.port), allowed);
	/* And wider. */
	set_network(&b, agent_policy(one.port, two.port), KODA_OK);
	assert_string_equal(agent_do_port(&b, "try", two.port), allowed);
	/* A proxy that starts later, and commands that do, get the rules that hold. */
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	agent_await(&a, "proxy_failed");
	assert_string_equal(agent_do_port(&a, "try", one.port), refused);
	agent_end(&a);
	agent_restart(&a);
	assert_string_equal(agent_do_port(&a, "try", one.port), refused);
	agent_end(&a);
	set_network(&a, agent_policy(one.port, 0), KODA_OK);
	agent_restart(&a);
	assert_string_equal(agent_do_port(&a, "try", one.port), allowed);
	/* No network at all, and back. */
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, &err), err);
	set_network(&a, policy, KODA_OK);
	assert_string_equal(agent_do_port(&a, "try", one.port), "403 rule_denied");
	set_network(&a, agent_policy(one.port, 0), KODA_OK);
	assert_string_equal(agent_do_port(&a, "try", one.port), allowed);
	/* Not the authority. */
	policy = agent_policy(two.port, 0);
	KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/nowhere.pem", 12, &err), err);
	set_network(&a, policy, KODA_E_INVALID);
	assert_string_equal(agent_do_port(&a, "try", one.port), allowed);
	agent_stop(&a);
	agent_stop(&b);
}

static void test_no_network(void **state)
{
	struct koda_policy *policy;
	struct agent agent;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "*", 1, &err), err);
	agent_start(&agent, *state, policy, false);
	set_network(&agent, agent_policy(one.port, 0), KODA_E_INVALID);
	assert_int_equal(koda_sandbox_reply(agent.sandbox, 1, true, &err), KODA_E_INVALID);
	agent_stop(&agent);
}

/* 192.88.1.1 is public, so that a person is asked about it; nobody says yes, so that no test of
 * ours leaves the machine. */
static void test_questions(void **state)
{
	struct koda_question question;
	struct koda_error err = { 0 };
	struct agent a;
	struct agent b;
	char line[300];

	agent_start(&a, *state, agent_policy(one.port, 0), true);
	agent_start(&b, *state, agent_policy(two.port, 0), true);
	assert_string_equal(agent_do_port(&b, "hold", two.port), allowed);
	agent_say(&a, "try", "192.88.1.1:443");
	question = agent_question(&a, 0);
	assert_string_equal(question.host, "192.88.1.1");
	assert_int_equal(question.port, 443);
	/* It is this sandbox's question, and nothing waits for its answer but the connection. */
	assert_int_equal(koda_sandbox_reply(b.sandbox, question.id, true, &err), KODA_E_INVALID);
	assert_string_equal(agent_do(&b, "echo", "x"), "x");
	err = (struct koda_error){ 0 };
	KODA_ASSERT_OK(koda_sandbox_reply(a.sandbox, question.id, false, &err), err);
	/* What succeeds says nothing of failure, and the first answer is the only one. */
	assert_int_equal(err.code, KODA_OK);
	assert_string_equal(err.message, "");
	assert_int_equal(koda_sandbox_reply(a.sandbox, question.id, true, &err), KODA_E_INVALID);
	assert_non_null(strstr(err.message, "no connection waits"));
	assert_string_equal(agent_hear(&a, line, sizeof(line)), "403 ask_denied");
	/* One that the guard refuses anyway is none to ask about. */
	assert_string_equal(agent_do(&a, "try", "192.0.2.1:443"), "403 address_guard");
	/* New rules while a question is open. */
	agent_say(&a, "try", "192.88.1.2:443");
	question = agent_question(&a, 1);
	{
		struct koda_policy *policy = agent_policy(one.port, 0);

		KODA_ASSERT_OK(
			koda_policy_add(policy, KODA_LIST_DENIED_DOMAINS, "192.88.1.2", 10, &err),
			err);
		set_network(&a, policy, KODA_OK);
	}
	KODA_ASSERT_OK(koda_sandbox_reply(a.sandbox, question.id, true, &err), err);
	assert_string_equal(agent_hear(&a, line, sizeof(line)), "403 rule_denied");
	assert_int_equal(b.questions, 0);
	agent_end(&a);
	assert_int_equal(koda_sandbox_reply(a.sandbox, question.id, true, &err), KODA_E_INVALID);
	agent_restart(&a);
	agent_stop(&a);
	agent_stop(&b);
}

/* An answer from before the proxy died must not fit a question of the next one. */
static void test_stale_answer(void **state)
{
	struct koda_question question;
	struct koda_error err = { 0 };
	struct agent agent;
	pid_t pid = 0;
	char line[300];

	agent_start(&agent, *state, agent_policy(one.port, 0), true);
	agent_say(&agent, "try", "192.88.1.1:443");
	question = agent_question(&agent, 0);
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	agent_await(&agent, "proxy_failed");
	assert_string_equal(agent_hear(&agent, line, sizeof(line)), "refused ");
	agent_say(&agent, "try", "192.88.1.1:444");
	(void)agent_question(&agent, 1);
	assert_int_equal(koda_sandbox_reply(agent.sandbox, question.id, true, &err),
			 KODA_E_INVALID);
	KODA_ASSERT_OK(koda_sandbox_reply(agent.sandbox, agent.question.id, false, &err), err);
	assert_string_equal(agent_hear(&agent, line, sizeof(line)), "403 ask_denied");
	agent_stop(&agent);
}

/* A proxy that is stopped reads nothing. Whoever gives it orders finds that out in the end, and
 * gets another; nobody waits for ever. */
static void test_stopped(void **state)
{
	const unsigned int many = 2000; /* more than the socket holds */
	const struct koda_egress_message none = { .magic = KODA_EGRESS_MAGIC,
						  .kind = KODA_EGRESS_ANSWER };
	struct koda_question question;
	struct koda_error err = { 0 };
	struct agent a;
	struct agent b;
	unsigned int i = 0;
	pid_t pid = 0;
	char line[300];

	agent_start(&a, *state, agent_policy(one.port, 0), true);
	agent_start(&b, *state, agent_policy(two.port, 0), false);
	assert_string_equal(agent_do_port(&b, "hold", two.port), allowed);
	agent_say(&a, "try", "192.88.1.1:443");
	question = agent_question(&a, 0);
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	/* Not the answer that it waits for. */
	while (i < many && send(a.sandbox->net.proxy->control, &none, sizeof(none), 0) > 0)
		i++;
	assert_true(i > 0 && i < many);
	assert_int_equal(koda_sandbox_reply(a.sandbox, question.id, true, &err), KODA_E_SYS);
	assert_int_equal(err.sys_errno, EAGAIN);
	agent_await(&a, "proxy_failed");
	agent_await(&b, "proxy_failed");
	assert_string_equal(agent_hear(&a, line, sizeof(line)), "refused ");
	assert_string_equal(agent_do(&b, "echo", "x"), "gone");
	assert_string_equal(agent_do_port(&a, "try", one.port), allowed);
	assert_string_equal(agent_do_port(&b, "try", two.port), allowed);
	/* Rules are never left to one that may follow them or not. */
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	set_network(&b, agent_policy(one.port, 0), KODA_OK);
	assert_string_equal(agent_do_port(&b, "try", two.port), refused);
	assert_string_equal(agent_do_port(&b, "try", one.port), allowed);
	/* Nor is the end of a sandbox. */
	assert_int_equal(count_proxies(&pid), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	agent_stop(&b);
	agent_stop(&a);
	assert_int_equal(count_proxies(&pid), 0);
}

/* A host that is busy loses events and learns how many; one sandbox's noise is not another's. */
static void test_lost_events(void **state)
{
	const uint64_t many = 1500;
	struct agent a;
	struct agent b;
	unsigned int served;
	char text[32];
	char line[300];

	agent_start(&a, *state, agent_policy(one.port, 0), false);
	agent_start(&b, *state, agent_policy(two.port, 0), false);
	assert_string_equal(agent_do_port(&b, "try", two.port), allowed);
	(void)pthread_mutex_lock(&a.lock);
	a.held = true;
	(void)pthread_mutex_unlock(&a.lock);
	served = one.served;
	(void)snprintf(text, sizeof(text), "%u", (unsigned int)many);
	agent_say(&a, "flood", text);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", one.port);
	agent_say(&a, "try", text);
	for (int i = 0; i < WAIT_MS && one.served == served; i++)
		(void)poll(NULL, 0, 1);
	assert_true(one.served > served);
	assert_string_equal(agent_do_port(&b, "try", two.port), allowed);
	(void)pthread_mutex_lock(&a.lock);
	a.held = false;
	(void)pthread_cond_broadcast(&a.news);
	(void)pthread_mutex_unlock(&a.lock);
	assert_string_equal(agent_hear(&a, line, sizeof(line)), "flooded");
	assert_string_equal(agent_hear(&a, line, sizeof(line)), allowed);
	agent_end(&a);
	assert_int_equal(a.events + a.lost, many + 1);
	assert_true(a.lost > 0);
	koda_sandbox_close(a.sandbox);
	agent_end(&b);
	assert_int_equal(b.events, 2);
	assert_int_equal(b.lost, 0);
	koda_sandbox_close(b.sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(test_apart),       KODA_SCRATCH_TEST(test_crash),
		KODA_SCRATCH_TEST(test_rules),       KODA_SCRATCH_TEST(test_no_network),
		KODA_SCRATCH_TEST(test_questions),   KODA_SCRATCH_TEST(test_stale_answer),
		KODA_SCRATCH_TEST(test_lost_events), KODA_SCRATCH_TEST(test_stopped),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
