/* SPDX-License-Identifier: MIT */
/* T-04. The environment a command gets: allow-listed names, the tool's extras, and nothing else. */
#include "koda_test.h"

#include "policy/env.h"

/* What the sandbox itself sets, network included. */
static const char *const own_names[] = {
	"KODA_SANDBOX",
	"PWD",
	"TMPDIR",
	"TMP",
	"TEMP",
	"HTTP_PROXY",
	"HTTPS_PROXY",
	"http_proxy",
	"https_proxy",
	"ALL_PROXY",
	"all_proxy",
	"NO_PROXY",
	"no_proxy",
	"SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS",
	"REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE",
};

static char **build(const struct koda_env_request *request)
{
	struct koda_error err = { 0 };
	char **env = NULL;

	KODA_ASSERT_OK(koda_env_build(request, &env, &err), err);
	assert_non_null(env);
	return env;
}

static char **build_for(const char *const *host, const char *command)
{
	return build(&(struct koda_env_request){ .size = sizeof(struct koda_env_request),
						 .host = host,
						 .command = command,
						 .cwd = "/p" });
}

/* The value of name in env, or NULL. */
static const char *value_of(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static bool has_extra(const char *tool, const char *name)
{
	const char *const *extras = koda_env_extras((struct koda_span){ tool, strlen(tool) });

	for (; *extras; extras++)
		if (strcmp(*extras, name) == 0)
			return true;
	return false;
}

static void parse_argv0(void **state)
{
	static const struct {
		const char *command;
		const char *tool;
	} rows[] = {
		/* simple_command, strips_path_prefix, with_pipeline, empty, whitespace_only,
		 * bash_dash_c */
		{ "cargo build", "cargo" },
		{ "/usr/bin/git status", "git" },
		{ "cat x | git apply", "cat" },
		{ "", "" },
		{ " \t\n\r\v\f ", "" },
		{ "bash -c 'git push'", "bash" },
		/* and what else may stand in front */
		{ "git", "git" },
		{ "  git  status", "git" },
		{ "\ngit\nstatus", "git" },
		{ "./git", "git" },
		{ "//git", "git" },
		{ "/usr/bin/", "" },
		{ "/", "" },
		{ "A=1 git status", "A=1" },
		{ "(git status)", "(git" },
		{ "sudo git status", "sudo" },
		{ "git;env", "git;env" },
		{ "git&&env", "git&&env" },
		{ "'git' status", "'git'" },
		{ "GIT status", "GIT" },
		{ "git\xc2\xa0status", "git\xc2\xa0status" },
	};

	(void)state;
	KODA_EACH(row, rows)
		KODA_ASSERT_SPAN(koda_env_tool_name(row->command), row->tool);
}

static void tool_extras_for_cargo_includes_cargo_home(void **state)
{
	(void)state;
	assert_true(has_extra("cargo", "CARGO_HOME"));
	assert_true(has_extra("rustc", "RUSTUP_HOME"));
	assert_false(has_extra("cargo", "CARGO_REGISTRY_TOKEN"));
}

static void tool_extras_for_git_excludes_credential_vectors(void **state)
{
	(void)state;
	assert_true(has_extra("git", "GIT_AUTHOR_NAME"));
	assert_false(has_extra("git", "GIT_ASKPASS"));
	assert_false(has_extra("git", "GIT_SSH_COMMAND"));
	assert_false(has_extra("git", "GIT_HTTP_USER_AGENT"));
}

static void tool_extras_for_npm_excludes_token(void **state)
{
	(void)state;
	assert_true(has_extra("npm", "NODE_ENV"));
	assert_false(has_extra("npm", "NPM_TOKEN"));
	assert_false(has_extra("npm", "NODE_AUTH_TOKEN"));
}

static void tool_extras_for_aws_excludes_secret_access_key(void **state)
{
	(void)state;
	assert_true(has_extra("aws", "AWS_PROFILE"));
	assert_false(has_extra("aws", "AWS_SECRET_ACCESS_KEY"));
	assert_false(has_extra("aws", "AWS_ACCESS_KEY_ID"));
	assert_false(has_extra("aws", "AWS_SESSION_TOKEN"));
}

static void tool_extras_for_unknown_tool_returns_empty(void **state)
{
	static const char *const tools[] = { "ls",   "rm", "unknown", "",     "bash", "sudo", "Git",
					     "gitx", "gi", "git;env", "(git", "env",  "node " };

	(void)state;
	KODA_EACH(tool, tools)
		KODA_EXPECT(*tool,
			    *koda_env_extras((struct koda_span){ *tool, strlen(*tool) }) == NULL);
}

/* The lists as they were agreed on, without the names that get a value of the sandbox's own. */
static void the_lists_hold_what_was_agreed(void **state)
{
	static const char *const base[] = { "HOME",       "USER",       "LOGNAME",  "SHELL",
					    "LANG",       "LC_ALL",     "LC_CTYPE", "LC_MESSAGES",
					    "LC_COLLATE", "LC_NUMERIC", "LC_TIME",  "TERM",
					    "PATH" };
	static const struct {
		const char *tools;
		const char *variables;
	} rows[] = {
		{ "cargo rustc rustup rustfmt clippy-driver",
		  "CARGO_HOME RUSTUP_HOME RUST_LOG RUST_BACKTRACE RUSTC_WRAPPER CARGO_TARGET_DIR" },
		{ "git", "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL "
			 "GIT_DIR GIT_WORK_TREE GIT_PAGER" },
		{ "npm node yarn pnpm npx", "NODE_PATH NPM_CONFIG_USERCONFIG NODE_ENV" },
		{ "python python3 pip pip3 uv pipx poetry",
		  "PYTHONPATH VIRTUAL_ENV PYENV_ROOT PYENV_VERSION PIPX_HOME PIPX_BIN_DIR" },
		{ "kubectl helm k9s", "KUBECONFIG" },
		{ "docker podman", "DOCKER_HOST DOCKER_CONFIG" },
		{ "gcloud bq gsutil", "CLOUDSDK_CONFIG CLOUDSDK_ACTIVE_CONFIG_NAME" },
		{ "aws", "AWS_CONFIG_FILE AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION "
			 "AWS_SHARED_CREDENTIALS_FILE" },
		{ "make gmake", "MAKEFLAGS MAKELEVEL" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		assert_string_equal(koda_env_base[i], base[i]);
	assert_null(koda_env_base[sizeof(base) / sizeof(base[0])]);
	assert_int_equal(koda_env_tool_count, sizeof(rows) / sizeof(rows[0]));
	KODA_EACH(row, rows) {
		for (const char *tool = row->tools; *tool; tool += strspn(tool, " ")) {
			size_t len = strcspn(tool, " ");
			const char *const *extra = koda_env_extras((struct koda_span){ tool, len });
			char joined[256] = "";
			size_t used = 0;

			for (; *extra; extra++)
				used += (size_t)snprintf(joined + used, sizeof(joined) - used,
							 "%s%s", used ? " " : "", *extra);
			assert_string_equal(joined, row->variables);
			tool += len;
		}
	}
}

static void expect_no_credential(const char *name, bool base)
{
	static const char *const words[] = { "KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD" };

	KODA_EACH(word, words)
		KODA_EXPECT(name, strcasestr(name, *word) == NULL);
	if (base)
		KODA_EXPECT(name, strcasestr(name, "CRED") == NULL);
}

static void safe_base_vars_excludes_all_credential_patterns(void **state)
{
	(void)state;
	for (const char *const *name = koda_env_base; *name; name++)
		expect_no_credential(*name, true);
	KODA_EACH(name, own_names)
		expect_no_credential(*name, true);
}

static void tool_extras_excludes_all_credential_patterns(void **state)
{
	size_t looked_at = 0;

	(void)state;
	for (size_t i = 0; i < koda_env_tool_count; i++) {
		for (const char *const *name = koda_env_tools[i].variables; *name; name++) {
			expect_no_credential(*name, false);
			looked_at++;
		}
	}
	assert_true(looked_at > 30);
}

/* scrub_strips_openai_api_key, scrub_strips_aws_secret_access_key, scrub_strips_github_token */
static void scrub_strips_secrets_of_the_host(void **state)
{
	static const char *const host[] = { "OPENAI_API_KEY=poison", "AWS_SECRET_ACCESS_KEY=poison",
					    "GITHUB_TOKEN=poison", "PATH=/bin", NULL };
	static const char *const commands[] = { "ls",    "aws s3 ls", "git push", "env",
						"npm i", "cargo b",   "sh -c env" };

	(void)state;
	KODA_EACH(command, commands) {
		char **env = build_for(host, *command);

		for (char **entry = env; *entry; entry++)
			KODA_EXPECT(*entry, !strstr(*entry, "poison"));
		assert_string_equal(value_of(env, "PATH"), "/bin");
		koda_env_free(env);
	}
}

static void scrub_keeps_path(void **state)
{
	static const char *const host[] = { "PATH=/usr/bin:/bin", "PATHX=no", "PAT=no", NULL };
	char **env = build_for(host, "ls");

	(void)state;
	assert_string_equal(value_of(env, "PATH"), "/usr/bin:/bin");
	assert_null(value_of(env, "PATHX"));
	assert_null(value_of(env, "PAT"));
	koda_env_free(env);
}

static void scrub_per_tool_extras_for_cargo_only(void **state)
{
	static const char *const host[] = { "CARGO_HOME=/c", "GIT_DIR=/g", NULL };
	static const struct {
		const char *command;
		bool cargo;
		bool git;
	} rows[] = { { "cargo build", true, false },  { "/x/cargo", true, false },
		     { "ls", false, false },          { "git status", false, true },
		     { "sh -c cargo", false, false }, { "", false, false } };

	(void)state;
	KODA_EACH(row, rows) {
		char **env = build_for(host, row->command);

		KODA_EXPECT(row->command, (value_of(env, "CARGO_HOME") != NULL) == row->cargo);
		KODA_EXPECT(row->command, (value_of(env, "GIT_DIR") != NULL) == row->git);
		koda_env_free(env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_argv0),
		cmocka_unit_test(tool_extras_for_cargo_includes_cargo_home),
		cmocka_unit_test(tool_extras_for_git_excludes_credential_vectors),
		cmocka_unit_test(tool_extras_for_npm_excludes_token),
		cmocka_unit_test(tool_extras_for_aws_excludes_secret_access_key),
		cmocka_unit_test(tool_extras_for_unknown_tool_returns_empty),
		cmocka_unit_test(the_lists_hold_what_was_agreed),
		cmocka_unit_test(safe_base_vars_excludes_all_credential_patterns),
		cmocka_unit_test(tool_extras_excludes_all_credential_patterns),
		cmocka_unit_test(scrub_strips_secrets_of_the_host),
		cmocka_unit_test(scrub_keeps_path),
		cmocka_unit_test(scrub_per_tool_extras_for_cargo_only),
	};

	return KODA_TEST_RUN(tests);
}
