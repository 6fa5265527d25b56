/* SPDX-License-Identifier: MIT */
/* koda_env_build as a whole: exact results, and nothing of a hostile host environment. */
#include "koda_test.h"

#include "policy/env.h"

#define POISON 200

/* The environment as NAME=VALUE lines, in a static buffer; releases env. */
static const char *joined(char **env)
{
	static char text[8192];
	size_t used = 0;

	text[0] = '\0';
	for (char **entry = env; *entry; entry++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", *entry);
	assert_true(used < sizeof(text));
	koda_env_free(env);
	return text;
}

static char **build(const struct koda_env_request *request)
{
	struct koda_error err = { 0 };
	char **env = NULL;

	KODA_ASSERT_OK(koda_env_build(request, &env, &err), err);
	return env;
}

static const char *const usual_host[] = {
	"TERM=xterm",
	"HOME=/home/u",
	"PATH=/bin",
	"PWD=/host/cwd",
	"OLDPWD=/host/old",
	"TMPDIR=/host/tmp",
	"TMP=/host/tmp",
	"HTTP_PROXY=http://user:secret@proxy:3128",
	"https_proxy=http://user:secret@proxy:3128",
	"NO_PROXY=corp",
	"SSL_CERT_FILE=/host/ca",
	"LD_PRELOAD=/host/evil.so",
	"KODA_SANDBOX=0",
	"MAKEFLAGS=-j2",
	NULL,
};

static void without_network(void **state)
{
	const struct koda_env_request request = { sizeof(request), usual_host, "ls -l",
						  "/p/src",        false,      false };

	(void)state;
	assert_string_equal(joined(build(&request)), "HOME=/home/u\n"
						     "KODA_SANDBOX=1\n"
						     "MAKEFLAGS=-j2\n"
						     "PATH=/bin\n"
						     "PWD=/p/src\n"
						     "TERM=xterm\n"
						     "TMP=/tmp\n"
						     "TMPDIR=/tmp\n");
}

static void with_network(void **state)
{
	const struct koda_env_request request = {
		sizeof(request), usual_host, "make all", "/p", true, false
	};

	(void)state;
	assert_string_equal(joined(build(&request)), "ALL_PROXY=http://127.0.0.1:3128\n"
						     "HOME=/home/u\n"
						     "HTTPS_PROXY=http://127.0.0.1:3128\n"
						     "HTTP_PROXY=http://127.0.0.1:3128\n"
						     "KODA_SANDBOX=1\n"
						     "MAKEFLAGS=-j2\n"
						     "NO_PROXY=localhost,127.0.0.1,::1\n"
						     "PATH=/bin\n"
						     "PWD=/p\n"
						     "TERM=xterm\n"
						     "TMP=/tmp\n"
						     "TMPDIR=/tmp\n"
						     "all_proxy=http://127.0.0.1:3128\n"
						     "http_proxy=http://127.0.0.1:3128\n"
						     "https_proxy=http://127.0.0.1:3128\n"
						     "no_proxy=localhost,127.0.0.1,::1\n");
}

static void ca_variables_come_only_with_interception(void **state)
{
	static const char *const names[] = { "SSL_CERT_FILE=", "NODE_EXTRA_CA_CERTS=",
					     "REQUESTS_CA_BUNDLE=", "CURL_CA_BUNDLE=",
					     "GIT_SSL_CAINFO=" };
	struct koda_env_request request = { sizeof(request), usual_host, "ls", "/p", true, true };

	(void)state;
	KODA_EACH(name, names) {
		const char *at;

		request.ca_bundle = true;
		at = strstr(joined(build(&request)), *name);
		assert_non_null(at);
		assert_int_equal(strncmp(at + strlen(*name), KODA_CA_BUNDLE_INSIDE "\n",
					 strlen(KODA_CA_BUNDLE_INSIDE) + 1),
				 0);
		request.ca_bundle = false;
		assert_null(strstr(joined(build(&request)), *name));
	}
	/* Without network there is nothing to intercept. */
	request.ca_bundle = true;
	request.network = false;
	assert_null(strstr(joined(build(&request)), "CA"));
}

static void an_empty_host_gives_what_the_sandbox_sets(void **state)
{
	static const char *const nothing[] = { NULL };
	struct koda_env_request request = { sizeof(request), nothing, "git status", "/p",
					    false,           false };

	(void)state;
	assert_string_equal(joined(build(&request)), "KODA_SANDBOX=1\nPWD=/p\nTMPDIR=/tmp\n");
	request.host = NULL;
	assert_string_equal(joined(build(&request)), "KODA_SANDBOX=1\nPWD=/p\nTMPDIR=/tmp\n");
}

/* Entries that are no NAME=VALUE, names that only begin alike, and values of any kind. */
static void odd_entries_of_the_host(void **state)
{
	static const char *const host[] = { "HOME",     "HOM=x",    "=HOME=x",
					    "HOMEX=x",  "",         "home=x",
					    "USER=",    "TERM=a=b", "LANG=\xff\n\x01",
					    "USER=two", "SHELL",    NULL };
	const struct koda_env_request request = { sizeof(request),    host,  "ls",
						  "/p with\nnewline", false, false };

	(void)state;
	assert_string_equal(joined(build(&request)), "KODA_SANDBOX=1\n"
						     "LANG=\xff\n\x01\n"
						     "PWD=/p with\nnewline\n"
						     "TERM=a=b\n"
						     "TMPDIR=/tmp\n"
						     "USER=\n");
}

/* T-04 two hundred names that hold secrets in the wild or look as if they could. */
static void nothing_of_a_poisoned_host_passes(void **state)
{
	static const char *const stems[] = {
		"OPENAI",         "ANTHROPIC", "AWS",   "GITHUB", "GITLAB",     "NPM",
		"CARGO_REGISTRY", "DOCKER",    "SLACK", "STRIPE", "TWILIO",     "SENTRY",
		"VAULT",          "HEROKU",    "AZURE", "GOOGLE", "CLOUDFLARE", "DATABASE",
		"REDIS",          "SSH",       "LD",    "GIT",    "PYTHON",     "NODE",
		"KUBE",
	};
	static const char *const ends[] = { "API_KEY", "TOKEN",     "SECRET",  "PASSWORD",
					    "URL",     "AUTH_SOCK", "PRELOAD", "PROXY" };
	static const char *const commands[] = { "ls",       "git x", "cargo x",  "npm x",
						"python x", "aws x", "docker x", "kubectl x",
						"gcloud x", "make x" };
	static char names[POISON][64];
	const char *host[POISON + 8];
	size_t count = 0;

	(void)state;
	KODA_EACH(stem, stems) {
		KODA_EACH(end, ends) {
			assert_true(count < POISON);
			(void)snprintf(names[count], sizeof(names[count]), "%s_%s=poison", *stem,
				       *end);
			host[count] = names[count];
			count++;
		}
	}
	assert_int_equal(count, POISON);
	host[count++] = "HTTP_PROXY=http://poison@p:1";
	host[count++] = "https_proxy=http://poison@p:1";
	host[count++] = "ALL_PROXY=socks5://poison@p:1";
	host[count++] = "no_proxy=poison";
	host[count++] = "TMPDIR=/poison";
	host[count++] = "CURL_CA_BUNDLE=/poison";
	host[count++] = "PATH=/bin";
	host[count] = NULL;
	KODA_EACH(command, commands) {
		for (int network = 0; network < 2; network++) {
			const struct koda_env_request request = { sizeof(request), host,
								  *command,        "/p",
								  network != 0,    network != 0 };
			const char *text = joined(build(&request));

			KODA_EXPECT(*command, strstr(text, "poison") == NULL);
			KODA_EXPECT(*command, strstr(text, "PATH=/bin\n") != NULL);
		}
	}
}

/* All names the tables list, as NAME=value; the number of them. */
static size_t list_all(char entries[static 100][64], const char *host[static 101])
{
	size_t count = 0;

	for (const char *const *name = koda_env_base; *name; name++)
		(void)snprintf(entries[count++], 64, "%s=value", *name);
	for (const char *const *name = koda_env_common; *name; name++)
		(void)snprintf(entries[count++], 64, "%s=value", *name);
	for (size_t i = 0; i < koda_env_tool_count; i++)
		for (const char *const *name = koda_env_tools[i].variables; *name; name++)
			(void)snprintf(entries[count++], 64, "%s=value", *name);
	for (size_t i = 0; i < count; i++)
		host[i] = entries[i];
	host[count] = NULL;
	return count;
}

static bool is_listed(const char *const *names, const char *entry)
{
	for (; *names; names++)
		if (strncmp(*names, entry, strlen(*names)) == 0 && entry[strlen(*names)] == '=')
			return true;
	return false;
}

static size_t length(const char *const *names)
{
	size_t count = 0;

	while (names[count])
		count++;
	return count;
}

/* The base list and the tool's own extras pass with their values, each once, in order. */
static void every_listed_name_passes_once_and_sorted(void **state)
{
	static char entries[100][64];
	const char *host[101];

	(void)state;
	assert_true(list_all(entries, host) < 100);
	for (size_t i = 0; i < koda_env_tool_count; i++) {
		const char *const *extras = koda_env_tools[i].variables;

		for (const char *const *tool = koda_env_tools[i].tools; *tool; tool++) {
			const struct koda_env_request request = {
				sizeof(request), host, *tool, "/p", true, true
			};
			char **env = build(&request);
			size_t passed = 0;

			for (char **entry = env; *entry; entry++) {
				size_t name = strcspn(*entry, "=") + 1;
				bool listed = is_listed(koda_env_base, *entry) ||
					      is_listed(koda_env_common, *entry) ||
					      is_listed(extras, *entry);

				KODA_EXPECT(*entry,
					    listed == (strcmp(*entry + name, "value") == 0));
				passed += listed;
				if (entry == env)
					continue;
				KODA_EXPECT(*entry, strcmp(entry[-1], *entry) < 0);
				KODA_EXPECT(*entry, strncmp(entry[-1], *entry, name) != 0);
			}
			assert_int_equal(passed, length(koda_env_base) + length(koda_env_common) +
							 length(extras));
			koda_env_free(env);
		}
	}
}

static void command_and_cwd_are_needed(void **state)
{
	struct koda_env_request request = { sizeof(request), usual_host, NULL, "/p", false, false };
	struct koda_error err = { 0 };
	char **env = NULL;

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_env_build(&request, &env, &err), err);
	request =
		(struct koda_env_request){ sizeof(request), usual_host, "ls", NULL, false, false };
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_env_build(&request, &env, &err), err);
	assert_null(env);
	koda_env_free(NULL);
}

static void given_variables_replace_others(void **state)
{
	static const char *const given[] = { "PATH=/given", "NEW=1", "NEW=2", "PWD=/elsewhere",
					     NULL };
	static const char *const bad[][2] = { { "NEW", NULL }, { "=x", NULL }, { "", NULL } };
	static const char *const host[] = { "PATH=/bin", NULL };
	struct koda_env_request request = {
		.size = sizeof(request), .host = host, .command = "ls", .cwd = "/p", .add = given
	};
	struct koda_error err = { 0 };
	char **env = NULL;

	(void)state;
	assert_string_equal(joined(build(&request)), "KODA_SANDBOX=1\n"
						     "NEW=2\n"
						     "PATH=/given\n"
						     "PWD=/elsewhere\n"
						     "TMPDIR=/tmp\n");
	KODA_EACH(entry, bad) {
		request.add = *entry;
		KODA_ASSERT_FAILS(KODA_E_INVALID, koda_env_build(&request, &env, &err), err);
	}
	assert_null(env);
}

static void names_of_credentials_are_recognised(void **state)
{
	static const struct {
		const char *variable;
		bool secret;
	} rows[] = {
		{ "GITHUB_TOKEN", true },
		{ "GITHUBTOKEN", true },
		{ "token", true },
		{ "API_KEY=x", true },
		{ "KEY", true },
		{ "KEYBOARD", false },
		{ "MONKEY_ISLAND", false },
		{ "GIT_AUTHOR_NAME", false },
		{ "NPM_AUTH", true },
		{ "PWD", false },
		{ "OLDPWD", false },
		{ "MYSQL_PWD", true },
		{ "PATH", false },
		{ "GH_PAT", true },
		{ "SENTRY_DSN", true },
		{ "", false },
		{ "=x", false },
		{ "_", false },
		{ "X=KEY", false },
		{ "X=https://user:password@host/", true },
		{ "X=https://user@host:80/", false },
		{ "X=https://host:80/a@b:c", false },
		{ "X=a://b:c?d@e", false },
		{ "X=://", false },
	};

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(row->variable, koda_env_looks_secret(row->variable) == row->secret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_network),
		cmocka_unit_test(given_variables_replace_others),
		cmocka_unit_test(names_of_credentials_are_recognised),
		cmocka_unit_test(with_network),
		cmocka_unit_test(ca_variables_come_only_with_interception),
		cmocka_unit_test(an_empty_host_gives_what_the_sandbox_sets),
		cmocka_unit_test(odd_entries_of_the_host),
		cmocka_unit_test(nothing_of_a_poisoned_host_passes),
		cmocka_unit_test(every_listed_name_passes_once_and_sorted),
		cmocka_unit_test(command_and_cwd_are_needed),
	};

	return KODA_TEST_RUN(tests);
}
