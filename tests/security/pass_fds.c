/* SPDX-License-Identifier: MIT */
/*
 * T-85. A host that hands descriptors to its command.
 *
 *   hand BACKEND ROOT [NUMBER:KIND[=PATH]]... -- PROGRAM [ARG...]
 *
 * Exits as the command does; with 103 if the library refuses a descriptor as not permitted, with
 * 104 if it calls the request impossible, and with 125 if nothing ran for any other reason. BACKEND
 * is a name of --backend, or none. With KODA_HAND_HEIR in the environment it is killed once there
 * is a file of that name, and leaves a process behind that has all its descriptors.
 */
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <koda/koda.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_SECS 30
/* Longer than the tests wait for everything else to end; they end the heir themselves. */
#define HEIR_SECS 300

enum {
	EXIT_DENIED = 103,
	EXIT_INVALID = 104,
	EXIT_NOT_RUN = 125
};

/* The host's ends, used once the command runs. */
static struct {
	int drained; /* read to its end, and shown */
	int go;      /* written to when the other has ended */
} ours = { -1, -1 };

static _Noreturn void misuse(const char *what)
{
	(void)fprintf(stderr, "hand: %s: %s\n", what, strerrorname_np(errno));
	exit(2);
}

static int filled_memory(unsigned int seals)
{
	static const char text[] = "remembered\n";
	int fd = memfd_create("hand", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    (seals && fcntl(fd, F_ADD_SEALS, seals) < 0))
		return -1;
	return fd;
}

static int filled_pipe(void)
{
	static const char text[] = "from the host\n";
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], text, sizeof(text) - 1) < 0)
		return -1;
	(void)close(ends[1]);
	return ends[0];
}

/* One end is kept, the other given. */
static int kept(int *ret_ours, int mine, const int ends[2])
{
	*ret_ours = ends[mine];
	return ends[!mine];
}

static int make_pipe(int *ret_ours, int mine)
{
	int ends[2];

	return pipe2(ends, O_CLOEXEC) < 0 ? -1 : kept(ret_ours, mine, ends);
}

/* Datagrams have no end to be read to. */
static int make_pair(int type)
{
	static int idle;
	int ends[2];

	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0
		       ? -1
		       : kept(type == SOCK_DGRAM ? &idle : &ours.drained, 0, ends);
}

static int listening(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1) < 0)
		return -1;
	return fd;
}

/* A TCP connection to this process itself. */
static int connected_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(to, (struct sockaddr *)&address, len) < 0 || listen(to, 1) < 0 ||
	    getsockname(to, (struct sockaddr *)&address, &len) < 0 ||
	    connect(from, (struct sockaddr *)&address, len) < 0)
		return -1;
	return from;
}

static int make(const char *kind, const char *path)
{
	static const struct {
		const char *kind;
		int flags;
	} opened[] = { { "file", O_RDONLY },
		       { "log", O_WRONLY | O_APPEND },
		       { "directory", O_RDONLY | O_DIRECTORY },
		       { "path", O_PATH },
		       { "fifo", O_RDWR },
		       { "unnamed", O_TMPFILE | O_RDWR } };

	for (size_t i = 0; i < KODA_ARRAY_LEN(opened); i++)
		if (strcmp(kind, opened[i].kind) == 0)
			return open(path, opened[i].flags | O_CLOEXEC | O_NOCTTY, 0600);
	if (strcmp(kind, "pipe") == 0)
		return filled_pipe();
	if (strcmp(kind, "drained") == 0)
		return make_pipe(&ours.drained, 0);
	if (strcmp(kind, "go") == 0)
		return make_pipe(&ours.go, 1);
	if (strcmp(kind, "stream") == 0)
		return make_pair(SOCK_STREAM);
	if (strcmp(kind, "packets") == 0)
		return make_pair(SOCK_SEQPACKET);
	if (strcmp(kind, "datagrams") == 0)
		return make_pair(SOCK_DGRAM);
	if (strcmp(kind, "unconnected") == 0)
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (strcmp(kind, "listening") == 0)
		return listening(path);
	if (strcmp(kind, "tcp") == 0)
		return connected_tcp();
	if (strcmp(kind, "udp") == 0)
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (strcmp(kind, "memory") == 0)
		return filled_memory(0);
	if (strcmp(kind, "sealed") == 0)
		return filled_memory(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	if (strcmp(kind, "pidfd") == 0)
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (strcmp(kind, "eventfd") == 0)
		return eventfd(0, EFD_CLOEXEC);
	if (strcmp(kind, "epoll") == 0)
		return epoll_create1(EPOLL_CLOEXEC);
	if (strcmp(kind, "closed") == 0)
		return 999;
	errno = EINVAL;
	return -1;
}

static struct koda_descriptor read_descriptor(char *text)
{
	struct koda_descriptor descriptor;
	char *kind;
	char *path;

	descriptor.child_fd = (int)strtol(text, &kind, 10);
	if (*kind++ != ':')
		misuse(text);
	path = strchr(kind, '=');
	if (path)
		*path++ = '\0';
	descriptor.host_fd = make(kind, path ? path : "");
	if (descriptor.host_fd < 0)
		misuse(kind);
	return descriptor;
}

static int tell(const char *what, const struct koda_error *err)
{
	(void)fprintf(stderr, "hand: %s: %s: %s\n", what, err->field, err->message);
	return err->code == KODA_E_DENIED                                 ? EXIT_DENIED
	       : err->code == KODA_E_INVALID || err->code == KODA_E_LIMIT ? EXIT_INVALID
									  : EXIT_NOT_RUN;
}

/* What comes until the last who has the other end is gone. */
static void drain(void)
{
	char text[4096];
	ssize_t n;

	while (ours.drained >= 0 && (n = read(ours.drained, text, sizeof(text))) > 0)
		(void)printf("heard %.*s", (int)n, text);
	(void)fflush(stdout);
	if (ours.go >= 0 && write(ours.go, "go\n", 3) < 0)
		misuse("go");
	(void)close(ours.go);
}

/* T-38. */
static void leave_heir(const char *mark)
{
	pid_t heir;

	while (access(mark, F_OK) < 0)
		(void)usleep(10000);
	heir = fork();
	if (heir == 0) {
		for (int fd = 0; fd <= 2; fd++)
			(void)close(fd);
		(void)sleep(HEIR_SECS);
		_exit(0);
	}
	(void)printf("%d\n", heir);
	(void)fflush(stdout);
	(void)raise(SIGKILL);
}

static int run(struct koda_sandbox *sandbox, const struct koda_command_options *options)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };
	int r = koda_sandbox_start(sandbox, options, &command, &err);

	if (r < 0)
		return tell("not started", &err);
	/* The library has its own. */
	for (size_t i = 0; i < options->descriptor_count; i++)
		(void)close(options->descriptors[i].host_fd);
	drain();
	if (getenv("KODA_HAND_HEIR"))
		leave_heir(getenv("KODA_HAND_HEIR"));
	r = koda_command_wait(command, &outcome, &err);
	koda_command_free(command);
	if (r < 0)
		return tell("not waited for", &err);
	if (outcome.end == KODA_END_EXEC)
		return outcome.sys_errno == ENOENT ? 127 : 126;
	return outcome.end == KODA_END_EXITED ? outcome.code : EXIT_NOT_RUN;
}

int main(int argc, char **argv)
{
	static const enum koda_clause accept[] = { KODA_CLAUSE_MISSING_NAMES,
						   KODA_CLAUSE_PRIVATE_DIRS,
						   KODA_CLAUSE_SECOND_LAYER };
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.host_env = (const char *const *)environ };
	/* One more than there can be. */
	struct koda_descriptor list[KODA_DESCRIPTORS_MAX + 1];
	struct koda_command_options command = { .size = sizeof(command),
						.approved = true,
						.out.kind = KODA_STREAM_INHERIT,
						.err.kind = KODA_STREAM_INHERIT,
						.descriptors = list };
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };
	int status;
	int at = 3;

	if (argc < 5)
		misuse("arguments");
	options.root = argv[2];
	options.no_sandbox = strcmp(argv[1], "none") == 0;
	if (!options.no_sandbox && koda_backend_parse(argv[1], &options.backend, &err) < 0)
		return tell("backend", &err);
	if (options.no_sandbox || options.backend == KODA_BACKEND_LANDLOCK) {
		options.trust = KODA_TRUST_SAFE;
		options.accept = accept;
		options.accept_count = KODA_ARRAY_LEN(accept);
	}
	for (; at < argc && strcmp(argv[at], "--") != 0; at++)
		if (command.descriptor_count < KODA_ARRAY_LEN(list))
			list[command.descriptor_count++] = read_descriptor(argv[at]);
	command.argv = (const char *const *)argv + at + 1;
	(void)alarm(PATIENCE_SECS);
	if (koda_sandbox_open(&options, &sandbox, &err) < 0)
		return tell("no sandbox", &err);
	status = run(sandbox, &command);
	koda_sandbox_close(sandbox);
	return status;
}
