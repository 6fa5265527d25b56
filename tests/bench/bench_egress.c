/* SPDX-License-Identifier: MIT */
/*
 * The proxy beside a direct connection, beside a relay that does nothing else and beside other
 * proxies that are installed, all in one run: round trip, throughput, CONNECTs a second, memory.
 * The client is in a network namespace like that of a sandbox (for the other proxies, which cannot
 * take a listener from there, on the host), the origin on the host's loopback. Each measurement is
 * a process of its own.
 */
#include "bench.h"
#include "bench_peers.h"
#include "bench_rivals.h"

#include "base/fd.h"
#include "base/proc.h"
#include "wire/egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS    5
#define PINGS     4000
#define CLIENTS   32
#define RATE_NS   1000000000ULL
#define TUNNELS   1000
#define READ_SIZE ((size_t)256 * 1024)

enum way {
	DIRECT,
	RELAY,
	EGRESS,
	TINYPROXY,
	SQUID,
	WAYS
};

static const char *const way_names[] = { "direct", "bare relay", "koda-egress", "tinyproxy",
					 "squid" };

static uint16_t origin_port;
static uint16_t way_ports[WAYS]; /* 0: not there */
static struct bench_inside inside;
static bool is_inside; /* clients are in the namespace */
static pid_t egress_pid;
static uint64_t flood_bytes = (uint64_t)1 << 30;

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static pid_t start_peer(void (*body)(int listener), int listener)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		(void)signal(SIGCHLD, SIG_IGN);
		body(listener);
	}
	(void)close(listener);
	return pid;
}

static void start_egress(const char *program, int listener, struct koda_proc *proc,
			 int *ret_control)
{
	struct koda_egress_message message = { .magic = KODA_EGRESS_MAGIC,
					       .kind = KODA_EGRESS_ADD,
					       .id = 1 };
	char *const argv[] = { (char *)(uintptr_t) "koda-egress", NULL };
	char *const envp[] = { NULL };
	char policy[128];
	struct koda_error err = { 0 };
	int theirs;
	int fds[2];
	int len = snprintf(policy, sizeof(policy),
			   "{\"net\":{\"allowed_domains\":[\"127.0.0.1:%u\"]}}", origin_port);

	if (koda_fd_socketpair(ret_control, &theirs, &err) < 0 ||
	    koda_proc_spawn(proc, program, argv, envp,
			    (struct koda_fdmap[]){ { 2, 2 }, { theirs, KODA_EGRESS_CONTROL_FD } },
			    2, &err) < 0)
		give_up(err.message);
	(void)close(theirs);
	fds[0] = listener;
	if (koda_fd_sealed("policy", policy, (size_t)len, &fds[1], &err) < 0 ||
	    koda_fd_send(*ret_control, &message, sizeof(message), fds, 2, &err) < 0)
		give_up(err.message);
	do {
		if (recv(*ret_control, &message, sizeof(message), 0) != sizeof(message))
			give_up("koda-egress");
	} while (message.kind != KODA_EGRESS_ADDED);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* The host reads its events, as a real one does. */
static void *read_events(void *arg)
{
	struct koda_egress_message message;

	while (recv(*(int *)arg, &message, sizeof(message), 0) > 0)
		;
	return NULL;
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		give_up("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* A connection to the origin, this way. */
static int reach(enum way way)
{
	char text[256];
	int fd = dial(way_ports[way]);
	int len;
	ssize_t n;

	if (way == DIRECT)
		return fd;
	len = snprintf(text, sizeof(text),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", origin_port,
		       origin_port);
	if (send(fd, text, (size_t)len, 0) != len)
		give_up("send");
	n = recv(fd, text, sizeof(text), 0);
	if (n < 13 || memcmp(text, "HTTP/1.", 7) != 0 || memcmp(text + 8, " 200 ", 5) != 0 ||
	    text[n - 1] != '\n')
		give_up("CONNECT");
	return fd;
}

static double ping(enum way way)
{
	static double samples[PINGS];
	int fd = reach(way);
	char byte = 1; /* of no text protocol */

	for (int i = 0; i < PINGS; i++) {
		uint64_t start = bench_now();

		if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			give_up("ping");
		samples[i] = (double)(bench_now() - start) / 1e3;
	}
	(void)close(fd);
	return bench_percentiles(samples, PINGS).p50;
}

/* Gigabytes a second from the origin. */
static double flood(enum way way)
{
	static char bytes[READ_SIZE];
	int fd = reach(way);
	uint64_t total = 0;
	uint64_t start = bench_now();

	if (send(fd, "\2", 1, 0) != 1)
		give_up("send");
	while (total < flood_bytes) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		if (n <= 0)
			give_up("recv");
		total += (uint64_t)n;
	}
	(void)close(fd);
	return (double)total / (double)(bench_now() - start);
}

struct client {
	pthread_t thread;
	enum way way;
	uint64_t until;
	uint64_t count;
};

static void *connect_often(void *arg)
{
	struct client *client = arg;
	const struct linger at_once = { .l_onoff = 1 };
	char byte = 1; /* of no text protocol */

	while (bench_now() < client->until) {
		int fd = reach(client->way);

		if (send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			give_up("echo");
		/* Thousands of ports in TIME_WAIT would be measured otherwise. */
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		(void)close(fd);
		client->count++;
	}
	return NULL;
}

static double rate(enum way way)
{
	struct client clients[CLIENTS];
	uint64_t start = bench_now();
	uint64_t count = 0;

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ .way = way, .until = start + RATE_NS };
		if (pthread_create(&clients[i].thread, NULL, connect_often, &clients[i]) != 0)
			give_up("thread");
	}
	for (int i = 0; i < CLIENTS; i++) {
		(void)pthread_join(clients[i].thread, NULL);
		count += clients[i].count;
	}
	return (double)count * 1e9 / (double)(bench_now() - start);
}

static double resident_mib(pid_t pid)
{
	char path[64];
	char line[128];
	double kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtod(line + 6, NULL);
	if (file)
		(void)fclose(file);
	return kib / 1024;
}

/* In a process of its own, where the client of that way is. */
static double measure_apart(double (*measure)(enum way way), enum way way)
{
	double result = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		give_up("pipe");
	pid = fork();
	if (pid == 0) {
		if (is_inside && way <= EGRESS && !bench_inside_enter(&inside))
			give_up("the namespace");
		result = measure(way);
		_exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
	}
	(void)close(ends[1]);
	if (read(ends[0], &result, sizeof(result)) != sizeof(result))
		result = 0;
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	return result;
}

static void compare(const char *what, const char *unit, double (*measure)(enum way way))
{
	double samples[WAYS][ROUNDS];
	double p50[WAYS] = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		for (int way = 0; way < WAYS; way++)
			samples[way][round] =
				way_ports[way] ? measure_apart(measure, (enum way)way) : 0;
	for (int way = 0; way < WAYS; way++) {
		if (way_ports[way] == 0)
			continue;
		p50[way] = bench_percentiles(samples[way], ROUNDS).p50;
		printf("%-16s %-12s %10.2f %s\n", what, way_names[way], p50[way], unit);
	}
	printf("%-16s egress-direct %+.2f %s", what, p50[EGRESS] - p50[DIRECT], unit);
	for (int way = 0; way < WAYS; way++)
		if (way != EGRESS && p50[way] > 0)
			printf("  egress/%s %.2f", way_names[way], p50[EGRESS] / p50[way]);
	printf("\n");
	(void)fflush(stdout);
}

/* Whatever this machine has. */
static void start_rivals(pid_t pids[static 2])
{
	if (!bench_start_tinyproxy(origin_port, &way_ports[TINYPROXY], &pids[0]))
		way_ports[TINYPROXY] = 0;
	if (!bench_start_squid(origin_port, &way_ports[SQUID], &pids[1]))
		way_ports[SQUID] = 0;
}

/* Where direct connections, the relay's and the proxy's clients connect to. */
static void make_listeners(int fds[static BENCH_LISTENERS])
{
	is_inside = bench_inside_make(&inside);
	if (!is_inside)
		printf("no network namespace can be made: clients are on the host\n");
	for (int i = 0; i < BENCH_LISTENERS; i++) {
		fds[i] = is_inside ? inside.listeners[i] : peer_listen(&inside.ports[i]);
		way_ports[i] = inside.ports[i];
	}
}

/* In a process of its own too; the proxy's memory is what counts. */
static double measure_tunnels(enum way way)
{
	static int fds[TUNNELS];
	char byte = 1; /* of no text protocol */

	for (int i = 0; i < TUNNELS; i++) {
		fds[i] = reach(way);
		if (send(fds[i], &byte, 1, 0) != 1 || recv(fds[i], &byte, 1, 0) != 1)
			give_up("echo");
	}
	return resident_mib(egress_pid);
}

int main(int argc, char **argv)
{
	struct koda_proc proc = KODA_PROC_INIT;
	struct rlimit files;
	pthread_t reader;
	pid_t peers[3];
	pid_t rivals[2] = { -1, -1 };
	int fds[BENCH_LISTENERS];
	int control;
	double idle;

	if (argc < 2)
		return 2;
	if (argc > 2)
		flood_bytes = strtoull(argv[2], NULL, 10) << 20;
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	make_listeners(fds);
	peers[0] = start_peer(peer_origin, peer_listen(&origin_port));
	peers[1] = start_peer(peer_origin, fds[DIRECT]);
	peers[2] = start_peer(peer_relay, fds[RELAY]);
	start_egress(argv[1], fds[EGRESS], &proc, &control);
	start_rivals(rivals);
	egress_pid = proc.pid;
	idle = resident_mib(proc.pid);
	if (pthread_create(&reader, NULL, read_events, &control) != 0)
		give_up("thread");
	printf("%-16s idle %.1f MiB, with %d tunnels %.1f MiB\n", "memory", idle, TUNNELS,
	       measure_apart(measure_tunnels, EGRESS));
	compare("round trip", "us", ping);
	compare("throughput", "GB/s", flood);
	compare("CONNECTs", "/s", rate);
	printf("%-16s at the end %.1f MiB\n", "memory", resident_mib(proc.pid));
	koda_proc_kill(&proc);
	for (int i = 0; i < 3; i++)
		(void)kill(peers[i], SIGKILL);
	for (int i = 0; i < 2; i++)
		if (rivals[i] > 0)
			(void)kill(rivals[i], SIGKILL);
	if (is_inside)
		(void)kill(inside.holder, SIGKILL);
	return 0;
}
