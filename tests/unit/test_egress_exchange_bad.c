/* SPDX-License-Identifier: MIT */
/* T-70. Exchanges that do not go well: refusals, smuggling, origins that break off or lie. */
#include "egress_exchange.h"

#define GET(host, path) "GET http://" host path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define GOT(host, path) "GET " path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define OK2             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define NO_ORIGIN       ((const struct origin[]){ { NULL } })

static const struct scene scenes[] = {
	{ .name = "refused",
	  .client = GET("x.example", "/p") GET("a.example", "/"),
	  .refuse = "x.example",
	  .origins = NO_ORIGIN,
	  .to_origins = "",
	  .log = "GET x.example:80/p 403 net.denied_domains 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "second request on a kept connection refused",
	  .client = GET("a.example", "/") GET("x.example", "/"),
	  .refuse = "x.example",
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_origins = GOT("a.example", "/"),
	  .log = "GET a.example:80/ 200 - 0/2\nGET x.example:80/ 403 net.denied_domains 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "request hidden in a length body is not looked at",
	  .client =
		  "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 45\r\n\r\n"
		  "GET http://x.example/ HTTP/1.1\r\nHost: x.examp",
	  .refuse = "x.example",
	  .origins = (const struct origin[]){ { .sends = OK2, .after = 120 }, { NULL } },
	  .to_client = OK2,
	  .log = "POST a.example:80/ 200 - 45/2\n" },
	{ .name = "bad head",
	  .client = "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n",
	  .origins = NO_ORIGIN,
	  .log = " - 400 bare_lf 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "smuggling",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
	  .origins = NO_ORIGIN,
	  .to_origins = "",
	  .log = "POST - 400 bad_framing 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "head cut short",
	  .client = "GET http://a.exam",
	  .client_closes = true,
	  .origins = NO_ORIGIN,
	  .log = " - 400 truncated 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "nothing at all",
	  .client = "",
	  .client_closes = true,
	  .origins = NO_ORIGIN,
	  .to_client = "",
	  .log = "",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin form",
	  .client = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 400 not_a_proxy_request 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "https without CONNECT",
	  .client = "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 400 https_needs_connect 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "body cut short",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: "
		    "5\r\n\r\nhe",
	  .client_closes = true,
	  .origins = (const struct origin[]){ { .sends = OK2, .after = 118 }, { NULL } },
	  .log = "POST a.example:80/ 400 truncated 2/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "bad chunk from the client",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n1\nabc",
	  .origins = (const struct origin[]){ { .sends = OK2, .after = 118 }, { NULL } },
	  .to_origins = "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n"
			"Connection: close\r\n\r\n",
	  .log = "POST a.example:80/ 400 bad_chunk 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin closes without an answer",
	  .client = GET("a.example", "/"),
	  .origins = (const struct origin[]){ { .sends = "", .closes = true }, { NULL } },
	  .log = "GET a.example:80/ 502 origin_closed 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin closes in its head",
	  .client = GET("a.example", "/"),
	  .origins =
		  (const struct origin[]){ { .sends = "HTTP/1.1 200 OK\r\nCont", .closes = true },
					   { NULL } },
	  .log = "GET a.example:80/ 502 origin_closed 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin closes in its body",
	  .client = GET("a.example", "/"),
	  .origins =
		  (const struct origin[]){
			  { .sends = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
			    .closes = true },
			  { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
	  .log = "GET a.example:80/ 200 origin_closed 0/2\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "bad chunk from the origin",
	  .client = GET("a.example", "/"),
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
							 "chunked\r\n\r\n1\nx" },
					      { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	  .log = "GET a.example:80/ 200 bad_chunk 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin that is no HTTP",
	  .client = GET("a.example", "/"),
	  .origins = (const struct origin[]){ { .sends = "SSH-2.0-x\r\n\r\n" }, { NULL } },
	  .log = "GET a.example:80/ 502 bad_status_line 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "two lengths from the origin",
	  .client = GET("a.example", "/"),
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
							 "Content-Length: 2\r\n\r\nab" },
					      { NULL } },
	  .log = "GET a.example:80/ 502 bad_framing 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "407 does not reach the client",
	  .client = GET("a.example", "/"),
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.1 407 No\r\nContent-Length: 0\r\n"
							 "Proxy-Authenticate: Basic\r\n\r\n" },
					      { NULL } },
	  .log = "GET a.example:80/ 502 upstream_auth 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "101 without being asked",
	  .client = GET("a.example", "/"),
	  .origins =
		  (const struct origin[]){ { .sends = "HTTP/1.1 101 Yes\r\nConnection: upgrade\r\n"
						      "Upgrade: websocket\r\n\r\n" },
					   { NULL } },
	  .log = "GET a.example:80/ 502 bad_upgrade 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "chunked answer to HTTP/1.0",
	  .client = "GET http://a.example/ HTTP/1.0\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
							 "chunked\r\n\r\n0\r\n\r\n" },
					      { NULL } },
	  .log = "GET a.example:80/ 502 bad_framing 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "second answer to one request is thrown away",
	  .client = GET("a.example", "/1") GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 "HTTP/1.1 200 Evil\r\n"
							     "Content-Length: 4\r\n\r\nevil" },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = GOT("a.example", "/1") "|" GOT("a.example", "/2") },
	{ .name = "terminated, another host",
	  .fixed = "a.example",
	  .client = "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 421 host_mismatch 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "terminated, another host in the second request",
	  .fixed = "a.example",
	  .client = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\nGET / HTTP/1.1\r\nHost: "
		    "b.example\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .log = "GET a.example:443/ 200 - 0/2\nGET - 421 host_mismatch 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "terminated, another port",
	  .fixed = "a.example",
	  .client = "GET / HTTP/1.1\r\nHost: a.example:8443\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 421 host_mismatch 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "terminated, plain URL",
	  .fixed = "a.example",
	  .client = "GET http://a.example:443/ HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 421 host_mismatch 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "terminated, CONNECT",
	  .fixed = "a.example",
	  .client = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "CONNECT - 405 nested_connect 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "terminated, no Host",
	  .fixed = "a.example",
	  .client = "GET / HTTP/1.0\r\n\r\n",
	  .origins = NO_ORIGIN,
	  .log = "GET - 400 bad_host 0/0\n",
	  .end = EGRESS_EV_CLOSE },
};

static void plays_scenes(void **state)
{
	(void)state;
	KODA_EACH(scene, scenes)
		check_scene(scene);
}

/* Plays a scene once, in one piece; the caller clears. */
static enum egress_event play_whole(struct play *p, const struct scene *scene)
{
	return play_scene(p, scene, SCENE_MAX, SCENE_MAX);
}

static void says_why(void **state)
{
	const struct scene scene = { .name = "answer",
				     .client = GET("x.example", "/"),
				     .refuse = "x.example",
				     .origins = NO_ORIGIN };
	struct play p;

	(void)state;
	assert_int_equal(play_whole(&p, &scene), EGRESS_EV_CLOSE);
	assert_non_null(strstr(p.to_client.ptr, "HTTP/1.1 403 Forbidden\r\n"));
	assert_non_null(strstr(p.to_client.ptr, "\r\nX-Koda-Reason: net.denied_domains\r\n"));
	assert_non_null(strstr(p.to_client.ptr, "\r\nX-Koda-Rule: *.bad.example\r\n"));
	assert_non_null(strstr(p.to_client.ptr, "x.example:80"));
	play_clear(&p);
}

/* An answer that comes before the request is through: it is passed on, and nothing follows. */
static void closes_after_early_answers(void **state)
{
	const struct scene scene = {
		.name = "early answer",
		.client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
			  "Content-Length: 9\r\n\r\nhe",
		.origins = (const struct origin[]){ { .sends = "HTTP/1.1 413 No\r\n"
							       "Content-Length: 2\r\n\r\nno" },
						    { NULL } },
		.to_client = "HTTP/1.1 413 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
		.end = EGRESS_EV_CLOSE,
	};

	(void)state;
	check_scene(&scene);
}

/* An origin that switches protocols before it has the whole request would take the client's next
 * bytes for the rest of it. */
static void refuses_early_upgrades(void **state)
{
	const struct scene scene = {
		.name = "early upgrade",
		.client =
			"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
			"Connection: upgrade\r\nUpgrade: websocket\r\n\r\nHost: b.example\r\n\r\n",
		.origins = (const struct origin[]){ { .sends = "HTTP/1.1 101 Yes\r\n"
							       "Connection: upgrade\r\n"
							       "Upgrade: websocket\r\n\r\n",
						      .early = true },
						    { NULL } },
	};
	struct play p;

	(void)state;
	assert_int_equal(play_scene(&p, &scene, SCENE_MAX, 1), EGRESS_EV_CLOSE);
	assert_string_equal(p.log.ptr, "GET a.example:80/ 502 bad_upgrade 0/0\n");
	assert_null(strstr(p.to_origins.ptr, "b.example"));
	play_clear(&p);
}

/* An origin may not say "wait" for ever. */
static void bounds_interim_answers(void **state)
{
	char sends[64 * (EGRESS_INTERIM_MAX + 1)] = "";
	struct origin origins[] = { { .sends = sends }, { NULL } };
	struct scene scene = { .name = "interim",
			       .client = GET("a.example", "/"),
			       .origins = origins };
	struct play p;

	(void)state;
	for (size_t i = 0; i <= EGRESS_INTERIM_MAX; i++)
		(void)snprintf(sends + strlen(sends), 64, "HTTP/1.1 102 Wait\r\n\r\n");
	assert_int_equal(play_whole(&p, &scene), EGRESS_EV_CLOSE);
	assert_string_equal(p.log.ptr, "GET a.example:80/ 502 too_many_interim 0/0\n");
	play_clear(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plays_scenes),
		cmocka_unit_test(says_why),
		cmocka_unit_test(closes_after_early_answers),
		cmocka_unit_test(refuses_early_upgrades),
		cmocka_unit_test(bounds_interim_answers),
	};

	return KODA_TEST_RUN(tests);
}
