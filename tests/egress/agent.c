/* SPDX-License-Identifier: MIT */
#include "agent.h"

#include "base/fd.h"

#include <dirent.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static const char script[] =
	"head() { read -r _ code _ <&\"$1\" || code=refused; why=; "
	"  while IFS= read -r line <&\"$1\" && [[ $line != $'\\r' ]]; do "
	"    line=${line%$'\\r'}; [[ $line != X-Koda-Reason:* ]] || why=${line#*: }; done; "
	"  echo \"$code $why\"; }\n"
	"knock() { printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' \"$2\" \"$2\" >&\"$1\"; "
	"}\n"
	"while read -r what target; do case $what in\n"
	"try) exec 3<>/dev/tcp/127.0.0.1/3128; knock 3 \"$target\"; head 3; exec 3>&-;;\n"
	"hold) exec 4<>/dev/tcp/127.0.0.1/3128; knock 4 \"$target\"; head 4;;\n"
	"echo) trap '' PIPE; echo \"$target\" >&4; read -r back <&4 || back=gone; echo "
	"\"$back\";;\n"
	"flood) for ((i = 0; i < target; i++)); do exec 3<>/dev/tcp/127.0.0.1/3128; "
	"  knock 3 nowhere.test:1; read -r _ <&3; exec 3>&-; done; echo flooded;;\n"
	"esac; done 2>/dev/null\n";

static void take_event(void *ctx, const struct koda_event *event)
{
	struct agent *agent = ctx;

	if (event->type != KODA_EVENT_EGRESS)
		return;
	(void)pthread_mutex_lock(&agent->lock);
	(void)snprintf(agent->reasons[agent->events % AGENT_EVENTS], sizeof(agent->reasons[0]),
		       "%s", event->data.egress.reason);
	if (strcmp(event->data.egress.reason, "events_lost") != 0)
		agent->events++;
	agent->lost += event->data.egress.dropped;
	(void)pthread_cond_broadcast(&agent->news);
	while (agent->held)
		(void)pthread_cond_wait(&agent->news, &agent->lock);
	(void)pthread_mutex_unlock(&agent->lock);
}

static void take_question(void *ctx, const struct koda_question *question)
{
	struct agent *agent = ctx;

	(void)pthread_mutex_lock(&agent->lock);
	agent->question = *question;
	(void)snprintf(agent->asked, sizeof(agent->asked), "%s", question->host);
	agent->question.host = agent->asked;
	agent->questions++;
	(void)pthread_cond_broadcast(&agent->news);
	(void)pthread_mutex_unlock(&agent->lock);
}

struct koda_policy *agent_policy(uint16_t one, uint16_t two)
{
	const uint16_t ports[] = { one, two };
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char text[64] = "nobody.test"; /* an empty list would allow all hosts */

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOWED_DOMAINS, text, strlen(text), &err),
		       err);
	for (size_t i = 0; i < 2; i++) {
		if (ports[i] == 0)
			continue;
		(void)snprintf(text, sizeof(text), "127.0.0.1:%u", ports[i]);
		KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOWED_DOMAINS, text,
					       strlen(text), &err),
			       err);
	}
	return policy;
}

static void *wait_for(void *arg)
{
	struct agent *agent = arg;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	agent->ended = koda_command_wait(agent->command, &outcome, &err);
	if (agent->ended == KODA_OK && outcome.end != KODA_END_EXITED)
		agent->ended = KODA_E_CHILD;
	return NULL;
}

void agent_restart(struct agent *agent)
{
	static const char *const argv[] = { "bash", "-c", script, NULL };
	struct koda_command_options options = { .size = sizeof(options),
						.argv = argv,
						.in.kind = KODA_STREAM_FD,
						.out.kind = KODA_STREAM_FD,
						.err.kind = KODA_STREAM_INHERIT };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_fd_pipe(&options.in.fd, &agent->in, &err), err);
	KODA_ASSERT_OK(koda_fd_pipe(&agent->out, &options.out.fd, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(agent->sandbox, &options, &agent->command, &err), err);
	koda_fd_close(&options.in.fd);
	koda_fd_close(&options.out.fd);
	assert_int_equal(pthread_create(&agent->thread, NULL, wait_for, agent), 0);
}

void agent_start(struct agent *agent, const char *root, struct koda_policy *policy, bool asks)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.root = root,
						.policy = policy,
						.host_env = env,
						.on_event = take_event,
						.event_ctx = agent };
	struct koda_error err = { 0 };

	*agent = (struct agent){ .in = -1, .out = -1 };
	(void)pthread_mutex_init(&agent->lock, NULL);
	(void)pthread_cond_init(&agent->news, NULL);
	if (asks) {
		options.on_question = take_question;
		options.question_ctx = agent;
	}
	KODA_ASSERT_OK(koda_sandbox_open(&options, &agent->sandbox, &err), err);
	koda_policy_free(policy);
	agent_restart(agent);
}

void agent_end(struct agent *agent)
{
	koda_fd_close(&agent->in);
	assert_int_equal(pthread_join(agent->thread, NULL), 0);
	assert_int_equal(agent->ended, KODA_OK);
	koda_command_free(agent->command);
	agent->command = NULL;
	koda_fd_close(&agent->out);
}

void agent_stop(struct agent *agent)
{
	agent_end(agent);
	koda_sandbox_close(agent->sandbox);
	(void)pthread_cond_destroy(&agent->news);
	(void)pthread_mutex_destroy(&agent->lock);
}

void agent_say(struct agent *agent, const char *what, const char *target)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "%s %s\n", what, target);

	assert_int_equal(write(agent->in, text, (size_t)len), len);
}

const char *agent_hear(struct agent *agent, char *line, size_t size)
{
	size_t len = 0;

	for (;;) {
		struct pollfd polled = { .fd = agent->out, .events = POLLIN };

		if (len + 1 >= size || poll(&polled, 1, WAIT_MS) != 1 ||
		    read(agent->out, line + len, 1) != 1)
			fail_msg("the command says nothing");
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return line;
}

const char *agent_do(struct agent *agent, const char *what, const char *target)
{
	static char lines[8][300];
	static unsigned int turn;
	char *line = lines[turn++ % 8];

	agent_say(agent, what, target);
	return agent_hear(agent, line, sizeof(lines[0]));
}

const char *agent_do_port(struct agent *agent, const char *what, uint16_t port)
{
	char target[64];

	(void)snprintf(target, sizeof(target), "127.0.0.1:%u", port);
	return agent_do(agent, what, target);
}

static struct timespec soon(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += WAIT_MS / 1000;
	return at;
}

/* With the lock held. */
static bool has_reason(const struct agent *agent, const char *reason)
{
	for (size_t i = 0; i < AGENT_EVENTS; i++)
		if (strcmp(agent->reasons[i], reason) == 0)
			return true;
	return false;
}

void agent_await(struct agent *agent, const char *reason)
{
	struct timespec until = soon();
	int r = 0;

	(void)pthread_mutex_lock(&agent->lock);
	while (r == 0 && !has_reason(agent, reason))
		r = pthread_cond_timedwait(&agent->news, &agent->lock, &until);
	(void)pthread_mutex_unlock(&agent->lock);
	if (r != 0)
		fail_msg("no event tells of %s", reason);
}

struct koda_question agent_question(struct agent *agent, unsigned int seen)
{
	struct timespec until = soon();
	struct koda_question question;
	int r = 0;

	(void)pthread_mutex_lock(&agent->lock);
	while (r == 0 && agent->questions <= seen)
		r = pthread_cond_timedwait(&agent->news, &agent->lock, &until);
	question = agent->question;
	(void)pthread_mutex_unlock(&agent->lock);
	if (r != 0)
		fail_msg("nobody asks");
	return question;
}

/* Is this a proxy that we started? */
static bool is_proxy(const char *number)
{
	char path[64];
	char stat[256] = { 0 };
	char name[32];
	int parent = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
	file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fread(stat, 1, sizeof(stat) - 1, file);
	(void)fclose(file);
	return sscanf(stat, "%*d (%31[^)]) %*c %d", name, &parent) == 2 && parent == getpid() &&
	       strcmp(name, "koda-egress") == 0;
}

unsigned int count_proxies(pid_t *ret_pid)
{
	DIR *proc = opendir("/proc");
	unsigned int count = 0;
	const struct dirent *entry;

	assert_non_null(proc);
	while ((entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_proxy(entry->d_name)) {
			count++;
			*ret_pid = (pid_t)strtol(entry->d_name, NULL, 10);
		}
	(void)closedir(proc);
	return count;
}
