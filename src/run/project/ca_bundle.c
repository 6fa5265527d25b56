/* SPDX-License-Identifier: MIT */
/* T-73. */
#include "run/project/ca_bundle.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/pem.h"

#include <errno.h>
#include <koda/policy.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Adds path, its target, and the links on the way, which must not be replaced. */
static int note(struct koda_site *site, struct koda_strv *names, const char *path,
		struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	struct stat st;
	int r = koda_path_trace(path, &resolved, names, err);

	if (r < 0)
		return r;
	if (stat(path, &st) == 0 && st.st_nlink > 1)
		site->has_hardlinks = true;
	r = koda_strv_add(names, path, err);
	return r < 0 ? r : koda_strv_take(names, KODA_TAKE(resolved), err);
}

/* Calls use with the file's text. It is mapped and not copied, because it may contain a key. */
static int with_text(const char *path,
		     int (*use)(struct koda_span text, void *ctx, struct koda_error *err),
		     void *ctx, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	struct stat st;
	void *text;
	int r = koda_fd_open_regular(path, &fd, err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be examined");
	if (st.st_size == 0 || (size_t)st.st_size > KODA_PEM_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "is empty or too large");
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be mapped");
	r = use((struct koda_span){ text, (size_t)st.st_size }, ctx, err);
	(void)munmap(text, (size_t)st.st_size);
	return r;
}

static int add_certificates(struct koda_span text, void *ctx, struct koda_error *err)
{
	return koda_pem_certificates(text, ctx, err);
}

static int look_for_key(struct koda_span text, void *ctx, struct koda_error *err)
{
	(void)ctx;
	return koda_pem_has_key(text, err);
}

/* Tells whether bundle and key file contain no key; a file that cannot be read may have one. Fails:
 * NOMEM. */
static int find_no_key(const char *bundle, const char *key, bool *ret_none, struct koda_error *err)
{
	struct stat st;
	int r;

	*ret_none = false;
	if (lstat(key, &st) == 0 || errno != ENOENT)
		return KODA_OK;
	r = with_text(bundle, look_for_key, NULL, NULL);
	*ret_none = r == 0;
	return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK;
}

bool koda_ca_bundle_is_passthrough(const struct koda_policy *policy)
{
	struct koda_span bundle = koda_policy_ca_bundle(policy);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(KODA_PATH_MAX + 8);
	bool none = false;

	return bundle.ptr && koda_pem_key_path(bundle, &key, NULL) == KODA_OK &&
	       find_no_key(bundle.ptr, key.ptr, &none, NULL) == KODA_OK && none;
}

int koda_ca_bundle_note(struct koda_site *site, const struct koda_policy *policy,
			struct koda_error *err)
{
	struct koda_span bundle = koda_policy_ca_bundle(policy);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(KODA_PATH_MAX + 8);
	bool none = false;
	int r;

	if (!bundle.ptr)
		return KODA_OK;
	r = koda_pem_key_path(bundle, &key, err);
	if (r == KODA_OK)
		r = find_no_key(bundle.ptr, key.ptr, &none, err);
	/* Without a key nothing has to be hidden, and programs may read the file by its path. */
	if (r == KODA_OK)
		r = note(site, none ? &site->readonly_aliases : &site->hidden, bundle.ptr, err);
	return r == KODA_OK ? note(site, &site->hidden, key.ptr, err) : r;
}

/* Appends the system's certificates. If there are none, programs trust only the policy's CA, which
 * is enough for terminated connections. */
static int add_system(struct koda_buf *out, struct koda_error *err)
{
	for (const char *const *place = koda_pem_system_places; *place; place++) {
		koda_auto_fd int fd = -1;
		int r;

		if (koda_fd_open_regular(*place, &fd, NULL) < 0)
			continue;
		r = koda_fd_read_all(fd, out, err);
		if (r == KODA_OK && koda_buf_add(out, "\n", 1) < 0)
			r = koda_fail_nomem(err);
		return r;
	}
	return KODA_OK;
}

int koda_ca_bundle_make(const struct koda_policy *policy, struct koda_buf *out,
			struct koda_error *err)
{
	const char *path = koda_policy_ca_bundle(policy).ptr;
	struct koda_error inner = { 0 };
	int r = add_system(out, err);

	if (r < 0)
		return r;
	r = with_text(path, add_certificates, out, &inner);
	if (r == KODA_OK)
		return KODA_OK;
	/* The message has the text of the errno already. */
	r = koda_fail_at(err, (enum koda_code)r, 0, path, "the authority of net.mitm: %s",
			 inner.message);
	if (err)
		err->sys_errno = inner.sys_errno;
	return r;
}
