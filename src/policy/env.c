/* SPDX-License-Identifier: MIT */
/*
 * T-04. Environment scrubbing. The command's environment starts empty. Names on the base list are
 * copied from the host, then the extras of the command's tool, then what describes the sandbox;
 * a later writer wins. Nothing else passes, so a secret need not be recognised to be kept out.
 */
#include "policy/env.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/strv.h"

#define LIST(...)     ((const char *const[]){ __VA_ARGS__, NULL })
#define PROXY_AT      "127.0.0.1:" PORT_TEXT(KODA_PROXY_PORT)
#define PORT_TEXT(n)  PORT_TEXT_(n)
#define PORT_TEXT_(n) #n

/* Proxy variables and TMPDIR, TMP, TEMP and PWD are missing here on purpose: the host's values mean
 * nothing inside, so they are set afresh. */
const char *const koda_env_base[] = { "HOME",       "USER",       "LOGNAME",  "SHELL",
				      "LANG",       "LC_ALL",     "LC_CTYPE", "LC_MESSAGES",
				      "LC_COLLATE", "LC_NUMERIC", "LC_TIME",  "TERM",
				      "PATH",       NULL };

const struct koda_env_tool koda_env_tools[] = {
	{ LIST("cargo", "rustc", "rustup", "rustfmt", "clippy-driver"),
	  LIST("CARGO_HOME", "RUSTUP_HOME", "RUST_LOG", "RUST_BACKTRACE", "RUSTC_WRAPPER",
	       "CARGO_TARGET_DIR") },
	{ LIST("git"), LIST("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
			    "GIT_COMMITTER_EMAIL", "GIT_DIR", "GIT_WORK_TREE", "GIT_PAGER") },
	{ LIST("npm", "node", "yarn", "pnpm", "npx"),
	  LIST("NODE_PATH", "NPM_CONFIG_USERCONFIG", "NODE_ENV") },
	{ LIST("python", "python3", "pip", "pip3", "uv", "pipx", "poetry"),
	  LIST("PYTHONPATH", "VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION", "PIPX_HOME",
	       "PIPX_BIN_DIR") },
	{ LIST("kubectl", "helm", "k9s"), LIST("KUBECONFIG") },
	{ LIST("docker", "podman"), LIST("DOCKER_HOST", "DOCKER_CONFIG") },
	{ LIST("gcloud", "bq", "gsutil"), LIST("CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME") },
	{ LIST("aws"), LIST("AWS_CONFIG_FILE", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
			    "AWS_SHARED_CREDENTIALS_FILE") },
	{ LIST("make", "gmake"), LIST("MAKEFLAGS", "MAKELEVEL") },
};

const size_t koda_env_tool_count = KODA_ARRAY_LEN(koda_env_tools);

struct koda_span koda_env_tool_name(const char *command)
{
	static const char blanks[] = " \t\n\v\f\r";
	struct koda_span word;

	command += strspn(command, blanks);
	word = (struct koda_span){ command, strcspn(command, blanks) };
	for (size_t i = word.len; i > 0; i--)
		if (word.ptr[i - 1] == '/')
			return koda_span_skip(word, i);
	return word;
}

const char *const *koda_env_extras(struct koda_span tool)
{
	static const char *const none[] = { NULL };

	for (size_t i = 0; i < koda_env_tool_count; i++)
		for (const char *const *name = koda_env_tools[i].tools; *name; name++)
			if (koda_span_is(tool, *name))
				return koda_env_tools[i].variables;
	return none;
}

/* Returns the host's NAME=VALUE for name, or NULL. */
static const char *host_entry(const char *const *host, const char *name)
{
	size_t len = strlen(name);

	for (; host && *host; host++)
		if (strncmp(*host, name, len) == 0 && (*host)[len] == '=')
			return *host;
	return NULL;
}

static int copy_names(struct koda_strv *env, const char *const *host, const char *const *names,
		      struct koda_error *err)
{
	int r = KODA_OK;

	for (; *names && r == KODA_OK; names++) {
		const char *entry = host_entry(host, *names);

		if (entry)
			r = koda_strv_add(env, entry, err);
	}
	return r;
}

static int set(struct koda_strv *env, const char *name, const char *value, struct koda_error *err)
{
	koda_auto_buf struct koda_buf entry = KODA_BUF_INIT(SIZE_MAX / 2);

	if (koda_buf_addf(&entry, "%s=%s", name, value) < 0)
		return koda_fail_nomem(err);
	return koda_strv_add(env, entry.ptr, err);
}

static int set_each(struct koda_strv *env, const char *const *names, const char *value,
		    struct koda_error *err)
{
	int r = KODA_OK;

	for (; *names && r == KODA_OK; names++)
		r = set(env, *names, value, err);
	return r;
}

static int set_network(struct koda_strv *env, struct koda_error *err)
{
	int r = set_each(env, LIST("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"),
			 "http://" PROXY_AT, err);

	/* The "h" leaves name look-ups to the proxy: there is no resolver inside. */
	if (r == KODA_OK)
		r = set_each(env, LIST("ALL_PROXY", "all_proxy"), "socks5h://" PROXY_AT, err);
	if (r == KODA_OK)
		r = set_each(env, LIST("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1", err);
	return r;
}

static int set_bundle(struct koda_strv *env, const struct koda_env_request *request,
		      struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);

	if (koda_buf_addf(&path, "%s",
			  request->scratch ? request->scratch : KODA_CA_BUNDLE_INSIDE) < 0 ||
	    (request->scratch && koda_buf_addf(&path, "/" KODA_CA_BUNDLE_NAME) < 0))
		return koda_fail_nomem(err);
	return set_each(env,
			LIST("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
			     "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
			path.ptr, err);
}

static int set_inside(struct koda_strv *env, const struct koda_env_request *request,
		      struct koda_error *err)
{
	static const char *const temporary[] = { "TMP", "TEMP", NULL };
	const char *scratch = request->scratch ? request->scratch : "/tmp";
	int r = set(env, "PWD", request->cwd, err);

	if (r == KODA_OK && request->no_sandbox)
		return copy_names(env, request->host, LIST("TMPDIR", "TMP", "TEMP"), err);
	if (r == KODA_OK)
		r = set(env, "KODA_SANDBOX", "1", err);
	if (r == KODA_OK)
		r = set(env, "TMPDIR", scratch, err);
	for (const char *const *name = temporary; *name && r == KODA_OK; name++)
		if (host_entry(request->host, *name))
			r = set(env, *name, scratch, err);
	if (r == KODA_OK && request->network)
		r = set_network(env, err);
	if (r == KODA_OK && request->network && request->ca_bundle)
		r = set_bundle(env, request, err);
	return r;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int koda_env_build(const struct koda_env_request *given, char ***ret_env, struct koda_error *err)
{
	koda_auto_strv struct koda_strv env = KODA_STRV_INIT;
	struct koda_env_request known;
	const struct koda_env_request *request = &known;
	int r = koda_sized_take(&known, sizeof(known), sizeof(known), given, "koda_env_request",
				err);

	if (r < 0)
		return r;
	if (!request->command || !request->cwd)
		return koda_fail(err, KODA_E_INVALID, 0, "command and cwd are needed");
	r = copy_names(&env, request->host, koda_env_base, err);
	if (r == KODA_OK)
		r = copy_names(&env, request->host,
			       koda_env_extras(koda_env_tool_name(request->command)), err);
	if (r == KODA_OK)
		r = set_inside(&env, request, err);
	if (r < 0)
		return r;
	qsort(env.items, env.len, sizeof(*env.items), by_text);
	*ret_env = KODA_TAKE(env.items);
	env = (struct koda_strv)KODA_STRV_INIT;
	return KODA_OK;
}

void koda_env_free(char **env)
{
	for (char **item = env; item && *item; item++)
		free(*item);
	free(env);
}
