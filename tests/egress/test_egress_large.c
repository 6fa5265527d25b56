/* SPDX-License-Identifier: MIT */
/*
 * One tunnel, both directions at once, and every byte is the right one: 256 MiB each way, or with
 * KODA_TEST_LARGE set 10 GiB.
 */
#include "host.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK ((size_t)128 * 1024)

static uint64_t total;

/* A pseudo-random stream, and a checksum of what was received of it. */
struct stream {
	uint64_t state;
	uint64_t sum;
	uint64_t left;
	uint64_t block[BLOCK / 8];
	int fd;
	bool broken;
};

static void add_sum(struct stream *stream, size_t len)
{
	for (size_t i = 0; i < len / 8; i++)
		stream->sum = (stream->sum ^ stream->block[i]) * 0x100000001b3ULL;
}

static void *send_stream(void *arg)
{
	struct stream *stream = arg;

	while (stream->left > 0 && !stream->broken) {
		const char *at = (const char *)stream->block;
		size_t len = BLOCK;

		for (size_t i = 0; i < BLOCK / 8; i++) {
			stream->state ^= stream->state << 13;
			stream->state ^= stream->state >> 7;
			stream->state ^= stream->state << 17;
			stream->block[i] = stream->state;
		}
		add_sum(stream, BLOCK);
		stream->left -= BLOCK;
		while (len > 0) {
			ssize_t n = send(stream->fd, at, len, MSG_NOSIGNAL);

			stream->broken = n <= 0;
			if (n <= 0)
				break;
			at += n;
			len -= (size_t)n;
		}
	}
	(void)shutdown(stream->fd, SHUT_WR);
	return NULL;
}

static void *receive_stream(void *arg)
{
	struct stream *stream = arg;
	size_t len = 0;
	ssize_t n;

	while ((n = recv(stream->fd, (char *)stream->block + len, BLOCK - len, 0)) > 0) {
		len += (size_t)n;
		stream->left -= (uint64_t)n;
		if (len < BLOCK)
			continue;
		add_sum(stream, BLOCK);
		len = 0;
	}
	stream->broken = n < 0 || len > 0;
	return NULL;
}

/* Both halves of one end of the tunnel. */
struct end {
	struct stream out;
	struct stream in;
};

static void run_end(struct end *end, int fd, uint64_t seed)
{
	pthread_t sender;

	end->out = (struct stream){ .state = seed, .left = total, .fd = fd };
	end->in = (struct stream){ .left = total, .fd = fd };
	if (pthread_create(&sender, NULL, send_stream, &end->out) != 0) {
		end->out.broken = true;
		return;
	}
	(void)receive_stream(&end->in);
	(void)pthread_join(sender, NULL);
}

static struct end *far_end;
static pthread_mutex_t far_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t far_news = PTHREAD_COND_INITIALIZER;
static bool far_done;

static void serve_far(int fd, void *arg)
{
	(void)arg;
	run_end(far_end, fd, 0x2545f4914f6cdd1dULL);
	(void)pthread_mutex_lock(&far_lock);
	far_done = true;
	(void)pthread_cond_signal(&far_news);
	(void)pthread_mutex_unlock(&far_lock);
}

static void test_both_ways(void **state)
{
	struct koda_egress_message event;
	struct server server;
	struct host host;
	struct end *near = calloc(1, sizeof(*near));
	int fd;

	(void)state;
	far_end = calloc(1, sizeof(*far_end));
	assert_true(near && far_end);
	server_start(&server, serve_far, NULL);
	host_start(&host, allow_one("127.0.0.1", server.port), NULL);
	fd = tunnel_to(host.port, "127.0.0.1", server.port);
	run_end(near, fd, 0x9e3779b97f4a7c15ULL);
	(void)pthread_mutex_lock(&far_lock);
	while (!far_done)
		(void)pthread_cond_wait(&far_news, &far_lock);
	(void)pthread_mutex_unlock(&far_lock);
	assert_false(near->out.broken || near->in.broken);
	assert_false(far_end->out.broken || far_end->in.broken);
	assert_int_equal(near->in.left, 0);
	assert_int_equal(far_end->in.left, 0);
	assert_true(near->in.sum == far_end->out.sum);
	assert_true(far_end->in.sum == near->out.sum);
	assert_true(near->in.sum != far_end->in.sum);
	(void)close(fd);
	event = host_event(&host, KODA_EGRESS_OK);
	assert_true(event.bytes_up == total && event.bytes_down == total);
	host_stop(&host);
	server_stop(&server);
	free(near);
	free(far_end);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_both_ways) };
	const char *large = getenv("KODA_TEST_LARGE");

	total = large && *large ? (uint64_t)10 << 30 : (uint64_t)256 << 20;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
