/* SPDX-License-Identifier: MIT */
/* T-70. Exchanges that go well: keep-alive, pipelines, every framing, interim answers, upgrades. */
#include "egress_exchange.h"

#define GET(host, path) "GET http://" host path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define GOT(host, path) "GET " path " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define OK2             "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define HIDDEN          "GET /s HTTP/1.1\r\nHost: b.ex\r\n\r\n"
#define SECRET          "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"

static const struct scene scenes[] = {
	{ .name = "one request",
	  .client = GET("a.example", "/p?q=secret"),
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = OK2,
	  .to_origins = GOT("a.example", "/p?q=secret"),
	  .log = "GET a.example:80/p 200 - 0/2\n" },
	{ .name = "kept alive, same origin",
	  .client = GET("a.example", "/1") GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 "\v" OK2 }, { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = GOT("a.example", "/1") GOT("a.example", "/2"),
	  .log = "GET a.example:80/1 200 - 0/2\nGET a.example:80/2 200 - 0/2\n" },
	{ .name = "kept alive, another origin",
	  .client = GET("a.example", "/1") GET("b.example", "/2"),
	  .client_closes = true,
	  .origins = (const struct origin[]){ { .sends = OK2 }, { .sends = OK2 }, { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = GOT("a.example", "/1") "|" GOT("b.example", "/2"),
	  .log = "GET a.example:80/1 200 - 0/2\nGET b.example:80/2 200 - 0/2\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "origin closes after each",
	  .client = GET("a.example", "/1") GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.1 200 OK\r\nContent-Length: "
							 "2\r\nConnection: close\r\n\r\nok",
						.closes = true },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = GOT("a.example", "/1") "|" GOT("a.example", "/2") },
	{ .name = "client wants to close",
	  .client = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: "
		    "close\r\n\r\n" GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
	  .to_origins = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "HTTP/1.0",
	  .client = "GET http://a.example/ HTTP/1.0\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = "HTTP/1.0 200 OK\r\n\r\nall of it",
						.closes = true },
					      { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it",
	  .to_origins = "GET / HTTP/1.0\r\nHost: a.example\r\nConnection: close\r\n\r\n",
	  .log = "GET a.example:80/ 200 - 0/9\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "half-closed client still gets its answer",
	  .client = GET("a.example", "/"),
	  .client_closes = true,
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = OK2,
	  .end = EGRESS_EV_CLOSE },
	{ .name = "body with a length",
	  .client =
		  "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\n"
		  "hello" GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2, .after = 79 },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
			"Connection: close\r\n\r\nhello|" GOT("a.example", "/2"),
	  .log = "POST a.example:80/ 200 - 5/2\nGET a.example:80/2 200 - 0/2\n" },
	{ .name = "no body",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n"
		    "\r\n" GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 "\v" OK2 }, { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n" GOT(
		  "a.example", "/2") },
	/* The origin does not read bodies, and answers what it takes for a second request. */
	{ .name = "a request in a body",
	  .client = "POST http://a.example/1 HTTP/1.1\r\nHost: a.example\r\n"
		    "Content-Length: 31\r\n\r\n" HIDDEN GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 "\v" SECRET },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = "POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 31\r\n"
			"Connection: close\r\n\r\n" HIDDEN "|" GOT("a.example", "/2"),
	  .whole = true },
	{ .name = "a request in a body, terminated",
	  .fixed = "a.example",
	  .client = "POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 31\r\n\r\n" HIDDEN GOT(
		  "a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2 "\v" SECRET },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = "POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 31\r\n"
			"Connection: close\r\n\r\n" HIDDEN "|" GOT("a.example", "/2"),
	  .whole = true },
	{ .name = "a body and an upgrade",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\n"
		    "Upgrade: websocket\r\nContent-Length: 5\r\n\r\nhello" GET("a.example", "/2"),
	  .origins = (const struct origin[]){ { .sends = OK2, .after = 79 },
					      { .sends = OK2 },
					      { NULL } },
	  .to_client = OK2 OK2,
	  .to_origins = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n"
			"Connection: close\r\n\r\nhello|" GOT("a.example", "/2") },
	{ .name = "chunked both ways",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\n",
	  .whole = true,
	  .origins = (const struct origin[]){ { .sends = "\vHTTP/1.1 200 OK\r\n"
							 "Transfer-Encoding: chunked\r\n\r\n"
							 "2\r\nok\r\n0\r\n\r\n" },
					      { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	  .to_origins = "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n"
			"Connection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	  .log = "POST a.example:80/ 200 - 5/2\n" },
	{ .name = "answers without body",
	  .client = "HEAD http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n" GET(
		  "a.example", "/204") GET("b.example", "/304") GET("c.example", "/"),
	  .origins =
		  (const struct origin[]){
			  { .sends = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\v"
				     "HTTP/1.1 204 None\r\n\r\n" },
			  { .sends = "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n" },
			  { .sends = OK2 },
			  { NULL } },
	  .to_client = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 None\r\n\r\n"
		       "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n" OK2,
	  .log = "HEAD a.example:80/ 200 - 0/0\nGET a.example:80/204 204 - 0/0\n"
		 "GET b.example:80/304 304 - 0/0\nGET c.example:80/ 200 - 0/2\n" },
	{ .name = "100-continue",
	  .client = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\n"
		    "Content-Length: 2\r\n\r\nhi",
	  .origins =
		  (const struct origin[]){ { .sends = "HTTP/1.1 100 Continue\r\n\r\n"
						      "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" OK2,
					     .after = 98 },
					   { NULL } },
	  .to_client = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" OK2,
	  .log = "POST a.example:80/ 200 - 2/2\n" },
	{ .name = "upgrade",
	  .client = "GET http://a.example/ws HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\n"
		    "Upgrade: websocket\r\n\r\nfrom client",
	  .client_closes = true,
	  .origins =
		  (const struct origin[]){ { .sends = "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n"
						      "Connection: Upgrade\r\n\r\nfrom origin",
					     .closes = true },
					   { NULL } },
	  .to_client = "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
		       "from origin$",
	  .to_origins = "GET /ws HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
			"Connection: Upgrade\r\n\r\nfrom client$",
	  .log = "GET a.example:80/ws 101 - 0/0\n",
	  .end = EGRESS_EV_CLOSE },
	{ .name = "CONNECT",
	  .client = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nearly",
	  .origins = (const struct origin[]){ { NULL } },
	  .to_client = "",
	  .log = "",
	  .end = EGRESS_EV_CONNECT },
	{ .name = "CONNECT after a request",
	  .client = GET("a.example", "/") "CONNECT a.example:443 HTTP/1.0\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = OK2,
	  .end = EGRESS_EV_CONNECT },
	{ .name = "terminated",
	  .fixed = "a.example",
	  .client = "GET /1?q HTTP/1.1\r\nHost: A.example\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = OK2,
	  .to_origins = "GET /1?q HTTP/1.1\r\nHost: a.example\r\n\r\n",
	  .log = "GET a.example:443/1 200 - 0/2\n" },
	{ .name = "terminated, absolute form",
	  .fixed = "a.example",
	  .client = "GET https://a.example/1 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
	  .origins = (const struct origin[]){ { .sends = OK2 }, { NULL } },
	  .to_client = OK2,
	  .to_origins = GOT("a.example", "/1") },
};

static void plays_scenes(void **state)
{
	(void)state;
	KODA_EACH(scene, scenes)
		check_scene(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(plays_scenes) };

	return KODA_TEST_RUN(tests);
}
