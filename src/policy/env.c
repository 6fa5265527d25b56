/* SPDX-License-Identifier: MIT */
/*
 * T-04. Environment scrubbing. The command's environment starts empty. Names on the base list and
 * on the common one are copied from the host, then the extras of the command's tool, then what
 * describes the sandbox, then what a person hands through by name; a later writer wins. Nothing
 * else passes, so a secret need not be recognised to be kept out.
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

/* Settings without which tools behave differently inside. Their values are switches, names of
 * programs and flags. MAKEFLAGS is missing: see add_jobs. */
const char *const koda_env_common[] = {
	"TZ",          /* time zone of dates and logs */
	"LANGUAGE",    /* gettext: languages in the order of preference */
	"COLORTERM",   /* number of colours that the terminal has */
	"NO_COLOR",    /* colours off, in most tools */
	"FORCE_COLOR", /* colours on without a terminal: node, pytest */
	"CLICOLOR",    /* the BSD, CMake and Rust way for both */
	"CLICOLOR_FORCE",
	"EDITOR", /* git commit, crontab, less: started inside */
	"VISUAL",
	"PAGER", /* git, man, psql: started inside */
	"LESS",  /* options of the usual pager */
	"CI",    /* no progress bars, no questions, strict lock files */
	"CC",    /* compilers and flags: make, configure, CMake, Meson, cargo's cc */
	"CXX",
	"AR",
	"CPPFLAGS",
	"CFLAGS",
	"CXXFLAGS",
	"LDFLAGS",
	"PKG_CONFIG_PATH",            /* libraries in places of their own */
	"CMAKE_GENERATOR",            /* make or ninja */
	"CMAKE_BUILD_PARALLEL_LEVEL", /* jobs at once */
	"JAVA_HOME",                  /* the JDK that Maven and Gradle take */
	"PYTHONUNBUFFERED",           /* output of tests in order */
	"PYTHONDONTWRITEBYTECODE",
	"SOURCE_DATE_EPOCH", /* reproducible builds */
	"DEBIAN_FRONTEND",   /* no questions by packages */
	NULL
};

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

/* Puts entry, a NAME=VALUE, in the place of the variable that has this name, or at the end. */
static int replace(struct koda_strv *env, const char *entry, struct koda_error *err)
{
	size_t head = strcspn(entry, "=") + 1;
	char *copy;

	for (size_t i = 0; i < env->len; i++) {
		if (strncmp(env->items[i], entry, head) != 0)
			continue;
		copy = strdup(entry);
		if (!copy)
			return koda_fail_nomem(err);
		free(env->items[i]);
		env->items[i] = copy;
		return KODA_OK;
	}
	return koda_strv_add(env, entry, err);
}

static int copy_names(struct koda_strv *env, const char *const *host, const char *const *names,
		      struct koda_error *err)
{
	int r = KODA_OK;

	for (; *names && r == KODA_OK; names++) {
		const char *entry = host_entry(host, *names);

		if (entry)
			r = replace(env, entry, err);
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

/* Copies -jN out of MAKEFLAGS, which tells make, and programs that run it, how many jobs run at
 * once. The rest may name descriptors of a make outside, which are closed inside. */
static int add_jobs(struct koda_strv *env, const char *const *host, struct koda_error *err)
{
	const char *entry = host_entry(host, "MAKEFLAGS");
	const char *word = entry ? strchr(entry, '=') + 1 : "";
	char value[32];

	for (word += strspn(word, " "); *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");
		size_t digits = strncmp(word, "-j", 2) == 0 ? strspn(word + 2, "0123456789") : 0;

		if (digits && digits + 2 == len && len < sizeof(value)) {
			memcpy(value, word, len);
			value[len] = '\0';
			return set(env, "MAKEFLAGS", value, err);
		}
		word += len;
	}
	return KODA_OK;
}

/* ALL_PROXY names the HTTP side of the proxy, too: httpx raises on socks5h://, and on socks5://
 * where its extension for SOCKS is missing, even if another variable serves the request. */
static int set_network(struct koda_strv *env, struct koda_error *err)
{
	int r = set_each(env,
			 LIST("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
			      "all_proxy"),
			 "http://" PROXY_AT, err);

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

static int add_given(struct koda_strv *env, const char *const *given, struct koda_error *err)
{
	int r = KODA_OK;

	for (; given && *given && r == KODA_OK; given++) {
		if (**given == '=' || !strchr(*given, '='))
			return koda_fail_at(err, KODA_E_INVALID, 0, "env",
					    "\"%.60s\" is not NAME=VALUE", *given);
		r = replace(env, *given, err);
	}
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
		r = copy_names(&env, request->host, koda_env_common, err);
	if (r == KODA_OK)
		r = add_jobs(&env, request->host, err);
	if (r == KODA_OK)
		r = copy_names(&env, request->host,
			       koda_env_extras(koda_env_tool_name(request->command)), err);
	if (r == KODA_OK)
		r = set_inside(&env, request, err);
	if (r == KODA_OK)
		r = add_given(&env, request->add, err);
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
