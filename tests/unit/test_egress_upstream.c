/* SPDX-License-Identifier: MIT */
/* The host's proxy variables: what they mean, and that nonsense never means "direct". */
#include "koda_test.h"

#include "base/buf.h"
#include "proto/upstream.h"

static const struct {
	const char *name;
	const char *value;
	const char *host; /* NULL: refused */
	uint16_t port;
	const char *auth;
} urls[] = {
	{ "plain", "http://proxy.example:3128", "proxy.example", 3128, NULL },
	{ "slash at the end", "http://proxy.example:3128/", "proxy.example", 3128, NULL },
	{ "no scheme", "proxy.example:3128", "proxy.example", 3128, NULL },
	{ "capitals and blanks", " HTTP://Proxy.Example:3128 ", "proxy.example", 3128, NULL },
	{ "no port", "http://proxy.example", "proxy.example", 80, NULL },
	{ "IPv4", "http://10.0.0.1:8080", "10.0.0.1", 8080, NULL },
	{ "IPv6", "http://[fd00::1]:8080", "fd00::1", 8080, NULL },
	{ "user and password", "http://user:pass@proxy.example:1", "proxy.example", 1,
	  "Basic dXNlcjpwYXNz" },
	{ "user only", "http://user@proxy.example:1", "proxy.example", 1, "Basic dXNlcjo=" },
	{ "escaped", "http://u%40x:p%3A%2Fy@proxy.example:1", "proxy.example", 1,
	  "Basic dUB4OnA6L3k=" },
	{ "at sign in the password", "http://u:p@q@proxy.example:1", "proxy.example", 1,
	  "Basic dTpwQHE=" },
	{ "escaped colon in the user name", "http://u%3Av:p@proxy.example:1", NULL, 0, NULL },
	{ "escaped line end", "http://u:p%0d%0ax@proxy.example:1", NULL, 0, NULL },
	{ "cut escape", "http://u:p%4@proxy.example:1", NULL, 0, NULL },
	{ "https", "https://proxy.example:3128", NULL, 0, NULL },
	{ "socks5", "socks5://proxy.example:1080", NULL, 0, NULL },
	{ "socks5h", "socks5h://proxy.example:1080", NULL, 0, NULL },
	{ "ftp", "ftp://proxy.example:1080", NULL, 0, NULL },
	{ "path", "http://proxy.example:3128/x", NULL, 0, NULL },
	{ "port 0", "http://proxy.example:0", NULL, 0, NULL },
	{ "port too large", "http://proxy.example:65536", NULL, 0, NULL },
	{ "port that is none", "http://proxy.example:x", NULL, 0, NULL },
	{ "no host", "http://:3128", NULL, 0, NULL },
	{ "line end", "http://proxy.example\r\n:3128", NULL, 0, NULL },
};

static void reads_urls(void **state)
{
	(void)state;
	KODA_EACH(row, urls) {
		char variable[256];
		char *envp[] = { variable, NULL };
		struct egress_upstream up = { 0 };
		struct koda_error err = { 0 };
		char text[KODA_HOST_NAME_MAX + 1];
		int r;

		(void)snprintf(variable, sizeof(variable), "HTTPS_PROXY=%s", row->value);
		r = egress_upstream_read(&up, envp, &err);
		if (!row->host) {
			KODA_EXPECT(row->name, r == KODA_E_INVALID);
			KODA_EXPECT(row->name, strcmp(err.field, "HTTPS_PROXY") == 0);
			KODA_EXPECT(row->name, !up.https.set && !up.https.auth);
			KODA_EXPECT(row->name, !strstr(err.message, "u:p"));
			continue;
		}
		if (r < 0)
			fail_msg("%s: %s", row->name, err.message);
		if (up.https.host.is_addr)
			koda_addr_format(&up.https.host.addr, text);
		else
			memcpy(text, up.https.host.name, up.https.host.len + 1);
		KODA_EXPECT(row->name, strcmp(text, row->host) == 0);
		KODA_EXPECT(row->name, up.https.port == row->port && !up.http.set);
		KODA_EXPECT(row->name,
			    row->auth ? up.https.auth && strcmp(up.https.auth, row->auth) == 0
				      : !up.https.auth);
		egress_upstream_clear(&up);
	}
}

static const struct {
	const char *no_proxy;
	const char *host;
	uint16_t port;
	bool direct;
} bypasses[] = {
	{ "a.example", "a.example", 443, true },
	{ "a.example", "A.Example.", 443, true },
	{ "a.example", "b.a.example", 443, true },
	{ "a.example", "ba.example", 443, false },
	{ "a.example", "example", 443, false },
	{ ".a.example", "b.a.example", 443, true },
	{ ".a.example", "a.example", 443, true },
	{ "*.a.example", "b.a.example", 443, true },
	{ "a.example:8443", "a.example", 8443, true },
	{ "a.example:8443", "a.example", 443, false },
	{ "*", "a.example", 443, true },
	{ "x, ,*", "10.0.0.1", 443, true },
	{ "", "a.example", 443, false },
	{ " , ,", "a.example", 443, false },
	{ "b.example,a.example", "a.example", 443, true },
	{ "b.example a.example", "a.example", 443, true },
	{ "10.1.2.3", "10.1.2.3", 443, true },
	{ "10.1.2.3", "10.1.2.4", 443, false },
	{ "10.0.0.0/8", "10.1.2.3", 443, true },
	{ "10.0.0.0/8", "11.1.2.3", 443, false },
	{ "10.0.0.0/8", "0x0a010203", 443, true },
	{ "10.0.0.0/33", "10.0.0.0", 443, false },
	{ "10.0.0.0/", "10.0.0.0", 443, false },
	{ "fd00::/8", "[fd12::1]", 443, true },
	{ "fd00::/8", "[fe12::1]", 443, false },
	{ "[fd00::1]:443", "[fd00::1]", 443, true },
	{ "[fd00::1]:443", "[fd00::1]", 444, false },
	{ "::ffff:10.0.0.0/104", "10.1.2.3", 443, true },
	{ "::ffff:10.0.0.0/104", "11.1.2.3", 443, false },
	{ "b\xff!,a.example", "a.example", 443, true },
	/* Different spellings, on either side. */
	{ "A.EXAMPLE.", "a.example", 443, true },
	{ ".A.Example.", "b.a.example.", 443, true },
	{ "127.0.0.1", "2130706433", 443, true },
	{ "0x7f.1", "127.0.0.1", 443, true },
	{ "127.0.0.1", "[::ffff:127.0.0.1]", 443, true },
	{ "::1", "[0:0::1]", 443, true },
	{ "[::1]", "[::1]", 443, true },
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example", 443, true },
	{ "xn--bcher-kva.example",
	  "B\xc3\x9c"
	  "CHER.example",
	  443, true },
	/* And of something else. */
	{ "127.0.0.1", "localhost", 443, false },
	{ "localhost", "127.0.0.1", 443, false },
	{ "10.0.0.0/8", "10.example", 443, false },
	{ "0.0.1", "127.0.0.1", 443, false },
	{ ".0.0.1", "127.0.0.1", 443, false },
	{ "1", "10.0.0.1", 443, false },
	{ "example", "a.example", 443, true },
	{ "ample", "a.example", 443, false },
	{ "a.example.b", "a.example", 443, false },
	{ "*example", "a.example", 443, false },
	{ "a.*", "a.example", 443, false },
	{ "*.*", "a.example", 443, false },
	{ "*.", "a.example", 443, false },
	{ ".", "a.example", 443, false },
	{ "..", "a.example", 443, false },
	{ "**", "a.example", 443, false },
	{ "a.example:", "a.example", 443, false },
	{ "a.example:0", "a.example", 443, false },
	{ "a.example:443:443", "a.example", 443, false },
	{ "a.example:99999", "a.example", 443, false },
	{ "http://a.example", "a.example", 443, false },
	{ "a.example/24", "a.example", 443, false },
	{ "::/0", "10.0.0.1", 443, false },
	{ "0.0.0.0/0", "[fd00::1]", 443, false },
	{ "0.0.0.0/0", "a.example", 443, false },
	{ "10.0.0.0/08", "11.0.0.1", 443, false },
	{ "10.0.0.0/-1", "11.0.0.1", 443, false },
	{ "10.0.0.0/8/0", "11.0.0.1", 443, false },
	{ "::ffff:10.0.0.0/8", "11.1.2.3", 443, false },
	{ "fe80::1%25lo", "[fe80::1]", 443, false },
};

static void goes_direct_when_told(void **state)
{
	(void)state;
	KODA_EACH(row, bypasses) {
		char variable[256];
		char proxy[] = "ALL_PROXY=http://proxy.example:1";
		char *envp[] = { proxy, variable, NULL };
		struct egress_upstream up = { 0 };
		struct koda_error err = { 0 };
		struct koda_host host;

		(void)snprintf(variable, sizeof(variable), "NO_PROXY=%s", row->no_proxy);
		KODA_ASSERT_OK(egress_upstream_read(&up, envp, &err), err);
		KODA_ASSERT_OK(koda_host_parse(koda_span_of(row->host), &host, &err), err);
		KODA_EXPECT(row->no_proxy,
			    !egress_upstream_for(&up, &host, row->port, true) == row->direct);
		KODA_EXPECT(row->no_proxy,
			    !egress_upstream_for(&up, &host, row->port, false) == row->direct);
		egress_upstream_clear(&up);
	}
}

static void picks_variables(void **state)
{
	char all[] = "ALL_PROXY=http://all.example:1";
	char upper[] = "HTTPS_PROXY=http://upper.example:2";
	char lower[] = "https_proxy=http://lower.example:3";
	char blank[] = "http_proxy= ";
	char *envp[] = { all, upper, lower, blank, NULL };
	char *none[] = { blank, NULL };
	struct egress_upstream up = { 0 };
	struct koda_error err = { 0 };
	struct koda_host host;

	(void)state;
	KODA_ASSERT_OK(koda_host_parse(koda_span_of("a.example"), &host, &err), err);
	KODA_ASSERT_OK(egress_upstream_read(&up, envp, &err), err);
	assert_string_equal(egress_upstream_for(&up, &host, 443, true)->host.name, "lower.example");
	assert_string_equal(egress_upstream_for(&up, &host, 80, false)->host.name, "all.example");
	egress_upstream_clear(&up);
	KODA_ASSERT_OK(egress_upstream_read(&up, none, &err), err);
	assert_null(egress_upstream_for(&up, &host, 443, true));
	assert_null(egress_upstream_for(&up, &host, 80, false));
	egress_upstream_clear(&up);
}

static void asks_for_tunnels(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(8192);
	char auth[] = "Basic eDp5";
	struct egress_upstream_proxy proxy = { .set = true, .auth = auth };
	struct koda_error err = { 0 };
	struct koda_host host;

	(void)state;
	KODA_ASSERT_OK(koda_host_parse(koda_span_of("[::1]"), &host, &err), err);
	assert_int_equal(egress_upstream_connect(&proxy, &host, 443, &out), 0);
	assert_string_equal(out.ptr, "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n"
				     "Proxy-Authorization: Basic eDp5\r\n\r\n");
	proxy.auth = NULL;
	out.len = 0;
	assert_int_equal(egress_upstream_connect(&proxy, &host, 443, &out), 0);
	assert_string_equal(out.ptr, "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n");
}

static void holds_limits(void **state)
{
	static char long_list[EGRESS_NO_PROXY_MAX + 64];
	char proxy[] = "ALL_PROXY=http://proxy.example:1";
	char *envp[] = { proxy, long_list, NULL };
	struct egress_upstream up = { 0 };
	struct koda_error err = { 0 };

	(void)state;
	(void)snprintf(long_list, sizeof(long_list), "NO_PROXY=");
	for (size_t i = 0; i < EGRESS_BYPASS_MAX + 1; i++)
		memcpy(long_list + 9 + 2 * i, "a,", 3);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, egress_upstream_read(&up, envp, &err), err);
	assert_false(up.https.set);
	long_list[9 + 2 * EGRESS_BYPASS_MAX] = '\0';
	KODA_ASSERT_OK(egress_upstream_read(&up, envp, &err), err);
	egress_upstream_clear(&up);
	memset(long_list + 9, ',', sizeof(long_list) - 10);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, egress_upstream_read(&up, envp, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_urls),      cmocka_unit_test(goes_direct_when_told),
		cmocka_unit_test(picks_variables), cmocka_unit_test(asks_for_tunnels),
		cmocka_unit_test(holds_limits),
	};

	return KODA_TEST_RUN(tests);
}
