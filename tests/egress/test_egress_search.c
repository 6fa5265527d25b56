/* SPDX-License-Identifier: MIT */
/*
 * T-07. Names are looked up as absolute ones, as the rules judge them: the search list of
 * resolv.conf does not make a name of a denied domain out of one without a domain. There is a name
 * server that knows the names of corp.lab and notes what it is asked for.
 */
#include "names.h"

#include <poll.h>

static const char hosts[] = "127.0.0.1 localhost\n"
			    "# 127.0.0.1 comment.lab\n"
			    "\t127.0.0.1\tShort  second # 127.0.0.9 third\n"
			    "fe80::1%lo zoned\n"
			    "nonsense broken\n"
			    "127.0.0.1 here.lab";

/* What the name server knows, all of it at 127.0.0.1. */
static const char *const known[] = { "secret.corp.lab", "gate.corp.lab", "public.lab",
				     "_my_bucket.lab", "a.b.corp.lab" };

struct question {
	size_t end; /* behind it in the packet */
	unsigned int type;
	char name[256];
};

static int server_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char asked[64][256]; /* of type A, in order */
static size_t asked_count;

static bool read_question(const unsigned char *packet, size_t len, struct question *question)
{
	size_t at = 12;
	size_t out = 0;

	while (at < len && packet[at] != 0) {
		size_t label = packet[at++];

		if (label > 63 || at + label > len || out + label + 2 > sizeof(question->name))
			return false;
		if (out > 0)
			question->name[out++] = '.';
		for (size_t i = 0; i < label; i++)
			question->name[out++] = (char)packet[at + i];
		at += label;
	}
	question->name[out] = '\0';
	question->end = at + 5;
	if (question->end > len)
		return false;
	question->type = packet[at + 2];
	return true;
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i], name) == 0)
			return true;
	return false;
}

/* Turns the question into its answer; the length. */
static size_t answer(unsigned char *packet, const struct question *question)
{
	static const unsigned char record[] = { 0xc0, 12, 0, 1, 0,   1, 0, 0,
						0,    60, 0, 4, 127, 0, 0, 1 };
	bool found = is_known(question->name);
	bool has = found && question->type == 1;

	packet[2] = 0x84;
	packet[3] = found ? 0x80 : 0x83;
	memset(packet + 6, 0, 6);
	packet[7] = has;
	if (has)
		memcpy(packet + question->end, record, sizeof(record));
	return question->end + (has ? sizeof(record) : 0);
}

static void *serve_names(void *arg)
{
	unsigned char packet[1024];
	struct pollfd polled = { .fd = server_fd, .events = POLLIN };

	(void)arg;
	while (poll(&polled, 1, -1) >= 0) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		struct question question;
		ssize_t n = recvfrom(server_fd, packet, 512, 0, (struct sockaddr *)&from, &size);

		if (n < 12 || !read_question(packet, (size_t)n, &question))
			continue;
		(void)pthread_mutex_lock(&lock);
		if (question.type == 1 && asked_count < sizeof(asked) / sizeof(*asked))
			(void)snprintf(asked[asked_count++], sizeof(*asked), "%s", question.name);
		(void)pthread_mutex_unlock(&lock);
		(void)sendto(server_fd, packet, answer(packet, &question), MSG_NOSIGNAL,
			     (struct sockaddr *)&from, size);
	}
	return NULL;
}

static bool was_asked(const char *name)
{
	bool found = false;

	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < asked_count; i++)
		found = found || strcmp(asked[i], name) == 0;
	(void)pthread_mutex_unlock(&lock);
	return found;
}

static void expect(struct host *host, const char *name, int status, enum koda_egress_reason reason)
{
	char target[300];
	int got;
	int fd;

	(void)snprintf(target, sizeof(target), "%s:%u", name, echo.port);
	fd = connect_through(host->port, target, &got);
	if (got != status)
		fail_msg("%s: %d, expected %d", name, got, status);
	(void)close(fd);
	(void)host_event(host, reason);
}

/* Listed by name, so that only what it leads to is in question. */
#define LISTED                                                                                     \
	"\"allowed_domains\":[\"secret\",\"a.b\",\"public.lab\",\"short\",\"second\","             \
	"\"third\",\"zoned\",\"broken\",\"comment.lab\",\"here.lab\"],"                            \
	"\"denied_domains\":[\"*.corp.lab\"]"

static void test_search_list(void **state)
{
	unsigned int before = echo.served;
	struct host host;

	(void)state;
	names_need();
	host_start(&host, LISTED, NULL);
	expect(&host, "secret", 502, KODA_EGRESS_RESOLVE_FAILED);
	expect(&host, "a.b", 502, KODA_EGRESS_RESOLVE_FAILED);
	assert_true(was_asked("secret"));
	assert_true(was_asked("a.b"));
	assert_false(was_asked("secret.corp.lab"));
	assert_false(was_asked("a.b.corp.lab"));
	assert_int_equal(echo.served, before);
	/* The twin: a name that the name server has as it stands. */
	expect(&host, "public.lab", 200, KODA_EGRESS_OK);
	expect(&host, "PUBLIC.lab.", 200, KODA_EGRESS_OK);
	host_stop(&host);
}

/* Such names are in the DNS, and clients connect to them: by the same name in CONNECT, TLS and
 * Host. */
static void test_underscore(void **state)
{
	uint8_t hello[512];
	uint8_t back[512];
	struct host host;
	char text[256];
	size_t len;
	int fd;

	(void)state;
	names_need();
	host_start(&host, "\"allowed_domains\":[\"_my_bucket.lab\"]", NULL);
	fd = tunnel_to(host.port, "_My_Bucket.lab", echo.port);
	len = make_hello("_my_bucket.lab", false, hello, sizeof(hello));
	put(fd, hello, len);
	get(fd, back, len);
	(void)close(fd);
	assert_string_equal(host_event(&host, KODA_EGRESS_OK).host, "_my_bucket.lab");
	fd = tunnel_to(host.port, "_my_bucket.lab", echo.port);
	put(fd, hello, make_hello("_other.lab", false, hello, sizeof(hello)));
	(void)get_all(fd, text, sizeof(text), true);
	(void)close(fd);
	(void)host_event(&host, KODA_EGRESS_SNI_MISMATCH);
	/* The twin: a wildcard is a rule for such names like for others. */
	host_rules(&host, 1, "\"denied_domains\":[\"*.lab\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect(&host, "_my_bucket.lab", 403, KODA_EGRESS_RULE_DENIED);
	host_stop(&host);
}

/* The hosts file has names without a dot, and comes first. */
static void test_hosts_file(void **state)
{
	struct host host;

	(void)state;
	names_need();
	host_start(&host, LISTED, NULL);
	expect(&host, "short", 200, KODA_EGRESS_OK);
	expect(&host, "second", 200, KODA_EGRESS_OK);
	expect(&host, "here.lab", 200, KODA_EGRESS_OK);
	assert_false(was_asked("short"));
	assert_false(was_asked("here.lab"));
	expect(&host, "third", 502, KODA_EGRESS_RESOLVE_FAILED);
	expect(&host, "zoned", 502, KODA_EGRESS_RESOLVE_FAILED);
	expect(&host, "broken", 502, KODA_EGRESS_RESOLVE_FAILED);
	expect(&host, "comment.lab", 502, KODA_EGRESS_RESOLVE_FAILED);
	host_stop(&host);
}

static void serve_gate(int fd, void *arg)
{
	static const char fine[] = "HTTP/1.1 200 Fine\r\n\r\n";
	char head[512];

	(void)arg;
	(void)get_head(fd, head, sizeof(head));
	origin_note(head, strlen(head));
	(void)send(fd, fine, sizeof(fine) - 1, MSG_NOSIGNAL);
	serve_echo(fd, NULL);
}

/* The host's own proxy is named by the host, whose search list counts for it. What that proxy would
 * add to a name without a domain cannot be known. */
static void test_upstream(void **state)
{
	static char variable[64];
	static char *const env[] = { variable, NULL };
	struct server gate;
	struct host host;

	(void)state;
	names_need();
	origin_forget();
	server_start(&gate, serve_gate, NULL);
	(void)snprintf(variable, sizeof(variable), "HTTPS_PROXY=http://gate:%u", gate.port);
	host_start(&host, "\"denied_domains\":[\"*.corp.lab\"]", env);
	expect(&host, "far.example", 200, KODA_EGRESS_OK);
	assert_true(was_asked("gate.corp.lab"));
	expect(&host, "secret", 403, KODA_EGRESS_ADDRESS_GUARD);
	assert_true(origin_saw("CONNECT far.example"));
	assert_false(origin_saw("CONNECT secret"));
	/* The twin: listed by its exact name. */
	host_rules(&host, 1, "\"allowed_domains\":[\"secret\"]");
	(void)host_expect(&host, KODA_EGRESS_RULED);
	expect(&host, "secret", 200, KODA_EGRESS_OK);
	assert_true(origin_saw("CONNECT secret"));
	host_stop(&host);
	server_stop(&gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search_list),
		cmocka_unit_test(test_hosts_file),
		cmocka_unit_test(test_underscore),
		cmocka_unit_test(test_upstream),
	};
	pthread_t thread;

	names_isolated =
		names_isolate(hosts, "nameserver 127.0.0.1\nsearch corp.lab\noptions ndots:2\n") &&
		names_listen(&server_fd) && pthread_create(&thread, NULL, serve_names, NULL) == 0;
	return cmocka_run_group_tests(tests, start_echo, stop_echo);
}
