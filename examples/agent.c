/* SPDX-License-Identifier: MIT */
/*
 * The loop of a small agent. Runs shell commands at once in one sandbox around the working
 * directory, at most ten seconds each, and prints for each what a model gets to read: its output,
 * how it ended, and what the sandbox denied. SIGINT cancels all of them.
 *
 *   cc agent.c $(pkg-config --cflags --libs koda-sandbox) -o agent
 *   ./agent [-y] 'make' 'git log -1' 'touch /etc/no'
 *
 * -y: a person says yes to the commands, and to hosts that no rule covers.
 */
#define _GNU_SOURCE
#include <koda/koda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CALLS_MAX  16
#define WALL_TIME  10
#define OUTPUT_MAX 65536

struct agent {
	struct koda_sandbox *sandbox;
	struct koda_command *calls[CALLS_MAX]; /* NULL: over */
	unsigned int running;
	int epoll;
	int signals;
	bool yes;
	bool failed;
};

static void complain(struct agent *agent, const char *what, const struct koda_error *err)
{
	(void)printf("[%s] %s: %s\n", what, koda_code_name(err->code), err->message);
	agent->failed = true;
}

/* Asks the person: a real agent would show a dialogue. */
static bool ask(const struct agent *agent, const char *about)
{
	(void)printf("approve %s? %s\n", about, agent->yes ? "yes" : "no");
	return agent->yes;
}

/* A command wants to reach a host that no rule covers. The reply might also come later. */
static void on_question(void *ctx, const struct koda_question *question)
{
	struct agent *agent = ctx;
	char about[512];

	(void)snprintf(about, sizeof(about), "%s:%u for [%s]", question->host,
		       (unsigned int)question->port, question->command_id);
	(void)!koda_sandbox_reply(agent->sandbox, question->id, ask(agent, about), NULL);
}

/* Starts a command. One that the person does not approve is refused by the library. */
static void start_call(struct agent *agent, unsigned int i, const char *shell)
{
	char id[16];
	struct koda_command_options what = { .size = sizeof(what),
					     .shell = shell,
					     .out = { .kind = KODA_STREAM_CAPTURE },
					     .err = { .kind = KODA_STREAM_CAPTURE },
					     .wall_time_secs = WALL_TIME,
					     .max_output_bytes = OUTPUT_MAX,
					     .id = id };
	struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = i } };
	struct koda_error err = { .code = KODA_OK };
	int fd;

	(void)snprintf(id, sizeof(id), "%u", i + 1);
	what.approved = ask(agent, shell);
	if (koda_sandbox_start(agent->sandbox, &what, &agent->calls[i], &err) < 0) {
		complain(agent, id, &err);
		return;
	}
	fd = koda_command_fd(agent->calls[i], &err);
	if (fd < 0 || epoll_ctl(agent->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		complain(agent, id, &err);
		koda_command_free(agent->calls[i]);
		agent->calls[i] = NULL;
		return;
	}
	agent->running++;
}

/* Prints what the model gets to read. */
static void show(const struct koda_command *call, const struct koda_outcome *outcome)
{
	struct koda_span out = koda_command_output(call, 1);
	struct koda_span err = koda_command_output(call, 2);
	char *denied = NULL;

	(void)printf("[%s] ", koda_command_id(call));
	if (outcome->end == KODA_END_EXITED)
		(void)printf("exited with %d\n", outcome->code);
	else if (outcome->end == KODA_END_SIGNAL)
		(void)printf("%s\n", outcome->by_host ? "cancelled" : strsignal(outcome->signal));
	else if (outcome->end == KODA_END_WALL_TIME)
		(void)printf("took longer than %d s\n", WALL_TIME);
	else
		(void)printf("not run: %s\n", strerror(outcome->sys_errno));
	(void)fwrite(out.ptr, 1, out.len, stdout);
	(void)fwrite(err.ptr, 1, err.len, stdout);
	if (koda_command_violations(call, &denied, NULL) == KODA_OK)
		(void)fputs(denied, stdout);
	free(denied);
}

static void step_call(struct agent *agent, struct koda_command **call)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { .code = KODA_OK };
	int r = koda_command_step(*call, &outcome, &err);

	if (r == 0)
		return;
	if (r < 0)
		complain(agent, koda_command_id(*call), &err);
	else
		show(*call, &outcome);
	koda_command_free(*call); /* closes its descriptor, which leaves the epoll instance */
	*call = NULL;
	agent->running--;
}

/* Each command still has to be stepped until it is over. */
static void cancel(struct agent *agent)
{
	struct signalfd_siginfo ignored;

	(void)!read(agent->signals, &ignored, sizeof(ignored));
	for (int i = 0; i < CALLS_MAX; i++)
		if (agent->calls[i])
			koda_command_kill(agent->calls[i]);
}

static void loop(struct agent *agent)
{
	struct epoll_event ready[CALLS_MAX + 1];

	while (agent->running > 0) {
		int n = epoll_wait(agent->epoll, ready, CALLS_MAX + 1, -1);

		for (int i = 0; i < n; i++)
			if (ready[i].data.u32 == CALLS_MAX)
				cancel(agent);
			else
				step_call(agent, &agent->calls[ready[i].data.u32]);
		(void)fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	struct agent agent = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_SAFE,
						      .host_env = (const char *const *)environ,
						      .on_question = on_question,
						      .question_ctx = &agent };
	struct epoll_event event = { .events = EPOLLIN, .data = { .u32 = CALLS_MAX } };
	struct koda_error err = { .code = KODA_OK };
	sigset_t interrupt;
	int first;

	agent.yes = argc > 1 && strcmp(argv[1], "-y") == 0;
	first = agent.yes ? 2 : 1;
	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &interrupt, NULL);
	agent.signals = signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK);
	if (argc - first > CALLS_MAX || agent.epoll < 0 ||
	    epoll_ctl(agent.epoll, EPOLL_CTL_ADD, agent.signals, &event) < 0)
		return 125;
	if (koda_sandbox_open(&options, &agent.sandbox, &err) < 0)
		complain(&agent, "sandbox", &err);
	for (int i = first; i < argc && agent.sandbox; i++)
		start_call(&agent, (unsigned int)(i - first), argv[i]);
	(void)fflush(stdout);
	loop(&agent);
	koda_sandbox_close(agent.sandbox);
	return agent.failed ? 125 : 0;
}
