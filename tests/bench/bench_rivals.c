/* SPDX-License-Identifier: MIT */
#include "bench_rivals.h"

#include "base/fd.h"
#include "bench_peers.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;

	(void)close(fd);
	return ok;
}

static _Noreturn void hold(int channel)
{
	struct bench_inside inside = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || !raise_loopback())
		_exit(1);
	for (int i = 0; i < BENCH_LISTENERS; i++)
		inside.listeners[i] = peer_listen(&inside.ports[i]);
	if (koda_fd_send(channel, &inside, sizeof(inside), inside.listeners, BENCH_LISTENERS,
			 NULL) < 0)
		_exit(1);
	for (;;)
		(void)pause();
}

bool bench_inside_make(struct bench_inside *inside)
{
	int ends[2];
	int fds[BENCH_LISTENERS];
	size_t len = 0;
	size_t count = 0;
	pid_t pid;

	if (koda_fd_socketpair(&ends[0], &ends[1], NULL) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		hold(ends[1]);
	}
	(void)close(ends[1]);
	if (koda_fd_receive(ends[0], inside, sizeof(*inside), &len, fds, BENCH_LISTENERS, &count,
			    NULL) < 0 ||
	    len != sizeof(*inside) || count != BENCH_LISTENERS)
		return false;
	(void)close(ends[0]);
	memcpy(inside->listeners, fds, sizeof(fds));
	inside->holder = pid;
	return true;
}

bool bench_inside_enter(const struct bench_inside *inside)
{
	static const char *const kinds[] = { "user", "net" };
	char path[64];

	for (size_t i = 0; i < 2; i++) {
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", inside->holder, kinds[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, 0) < 0)
			return false;
		(void)close(fd);
	}
	return true;
}

/* A port that is free now. */
static uint16_t free_port(void)
{
	uint16_t port;
	int fd = peer_listen(&port);

	(void)close(fd);
	return port;
}

static bool answers(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	for (int i = 0; i < 200; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool there = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;

		(void)close(fd);
		if (there)
			return true;
		(void)poll(NULL, 0, 50);
	}
	return false;
}

/* Runs a program with a configuration that is a file without a name. */
static bool start(char *const *argv, size_t config_at, const char *config, uint16_t port,
		  pid_t *ret_pid)
{
	char path[] = "/tmp/koda-bench-XXXXXX";
	char *words[8] = { NULL };
	int fd = mkostemp(path, O_CLOEXEC);
	bool ok;

	if (fd < 0 || access(argv[0], X_OK) < 0 ||
	    koda_fd_write_all(fd, config, strlen(config), NULL) < 0 || fchmod(fd, 0644) < 0) {
		(void)unlink(path);
		return false;
	}
	for (size_t i = 0; argv[i]; i++)
		words[i] = i == config_at ? path : argv[i];
	*ret_pid = fork();
	if (*ret_pid == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(null, 0);
		(void)dup2(null, 1);
		(void)dup2(null, 2);
		(void)execv(words[0], words);
		_exit(127);
	}
	ok = answers(port);
	(void)close(fd);
	(void)unlink(path);
	return ok;
}

bool bench_start_tinyproxy(uint16_t to, uint16_t *ret_port, pid_t *ret_pid)
{
	static char program[] = "/usr/bin/tinyproxy", d[] = "-d", c[] = "-c", file[] = "";
	char config[256];

	*ret_port = free_port();
	(void)snprintf(config, sizeof(config),
		       "Port %u\nListen 127.0.0.1\nTimeout 600\nMaxClients 2000\n"
		       "LogLevel Critical\nConnectPort %u\n",
		       *ret_port, to);
	return start((char *const[]){ program, d, c, file, NULL }, 3, config, *ret_port, ret_pid);
}

bool bench_start_squid(uint16_t to, uint16_t *ret_port, pid_t *ret_pid)
{
	static char program[] = "/usr/sbin/squid", n[] = "-N", f[] = "-f", file[] = "";
	char config[512];

	*ret_port = free_port();
	(void)snprintf(config, sizeof(config),
		       "http_port 127.0.0.1:%u\nacl origin port %u\nhttp_access allow origin\n"
		       "cache deny all\naccess_log none\ncache_log /dev/null\npid_filename none\n"
		       "netdb_filename none\npinger_enable off\nshutdown_lifetime 0 seconds\n"
		       "visible_hostname bench\ncoredump_dir none\nmax_filedescriptors 4096\n",
		       *ret_port, to);
	return start((char *const[]){ program, n, f, file, NULL }, 3, config, *ret_port, ret_pid);
}
