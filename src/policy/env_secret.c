/* SPDX-License-Identifier: MIT */
/* T-04. Variables that a person hands through by name: does this one look like a credential? */
#include "base/ascii.h"
#include "base/macros.h"

#include <koda/env.h>
#include <string.h>

/* Words of a name, between underscores and the like: NPM_AUTH has one, GIT_AUTHOR_NAME has none. */
static const char *const words[] = { "auth", "bearer", "cookie", "cookies", "creds",  "dsn", "jwt",
				     "key",  "keys",   "netrc",  "pass",    "passwd", "pat" };

/* Parts of a name, also without an underscore: PGPASSWORD, GITHUBTOKEN. */
static const char *const parts[] = { "apikey",     "credential", "passphrase", "password",
				     "privatekey", "secret",     "token" };

/* Returns whether text, in any case, begins with the small letters of word. */
static bool begins(const char *text, size_t len, const char *word)
{
	size_t i = 0;

	while (i < len && word[i] && koda_ascii_lower(text[i]) == word[i])
		i++;
	return !word[i];
}

static bool in_word(char c)
{
	c = koda_ascii_lower(c);
	return (c >= 'a' && c <= 'z') || koda_ascii_is_digit(c);
}

static bool is_secret_word(const char *word, size_t len)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(words); i++)
		if (len == strlen(words[i]) && begins(word, len, words[i]))
			return true;
	return false;
}

static bool has_word(const char *name, size_t len)
{
	for (size_t start = 0, end; start < len; start = end + 1) {
		for (end = start; end < len && in_word(name[end]); end++)
			;
		if (is_secret_word(name + start, end - start))
			return true;
		/* MYSQL_PWD is a password, PWD and OLDPWD are directories. */
		if (start > 0 && end - start == 3 && begins(name + start, 3, "pwd"))
			return true;
	}
	return false;
}

static bool has_part(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		for (size_t j = 0; j < KODA_ARRAY_LEN(parts); j++)
			if (begins(name + i, len - i, parts[j]))
				return true;
	return false;
}

/* Returns whether a value is a URL with a password: scheme://user:password@host. */
static bool has_password(const char *value)
{
	const char *authority = strstr(value, "://");
	size_t len;
	const char *at;

	if (!authority)
		return false;
	authority += 3;
	len = strcspn(authority, "/?#");
	at = memchr(authority, '@', len);
	return at && memchr(authority, ':', (size_t)(at - authority));
}

bool koda_env_looks_secret(const char *variable)
{
	size_t len = strcspn(variable, "=");

	return has_word(variable, len) || has_part(variable, len) ||
	       (variable[len] && has_password(variable + len + 1));
}
