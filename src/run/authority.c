/* SPDX-License-Identifier: MIT */
/* T-73. See authority.h. */
#include "run/authority.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/pem.h"

#include <errno.h>
#include <koda/policy.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* path, what it leads to, and the links on the way: one that is replaced leads elsewhere. */
static int hide(struct koda_site *site, const char *path, struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	struct stat st;
	int r = koda_path_trace(path, &resolved, &site->hidden, err);

	if (r < 0)
		return r;
	if (stat(path, &st) == 0 && st.st_nlink > 1)
		site->shared = true;
	r = koda_strv_add(&site->hidden, path, err);
	return r < 0 ? r : koda_strv_take(&site->hidden, KODA_TAKE(resolved), err);
}

int koda_site_note_authority(struct koda_site *site, const struct koda_policy *policy,
			     struct koda_error *err)
{
	struct koda_span bundle = koda_policy_ca_bundle(policy);
	koda_auto_buf struct koda_buf key = KODA_BUF_INIT(KODA_PATH_MAX + 8);
	int r;

	if (!bundle.ptr)
		return KODA_OK;
	r = koda_pem_key_path(bundle, &key, err);
	if (r == KODA_OK)
		r = hide(site, bundle.ptr, err);
	return r == KODA_OK ? hide(site, key.ptr, err) : r;
}

/* Mapped, because there may be a key in it. */
static int add_certificates(const char *path, struct koda_buf *out, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	struct stat st;
	void *text;
	int r = koda_fd_open_regular(path, &fd, err);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be looked at");
	if (st.st_size == 0 || (size_t)st.st_size > KODA_PEM_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "is empty or too large");
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return koda_fail(err, KODA_E_SYS, errno, "cannot be mapped");
	r = koda_pem_certificates((struct koda_span){ text, (size_t)st.st_size }, out, err);
	(void)munmap(text, (size_t)st.st_size);
	return r;
}

/* The system's own list, as it is: everybody can read it. Where there is none, programs know only
 * the authority, which is all that a terminated connection needs. */
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

int koda_authority_bundle(const struct koda_policy *policy, struct koda_buf *out,
			  struct koda_error *err)
{
	const char *path = koda_policy_ca_bundle(policy).ptr;
	struct koda_error inner = { 0 };
	int r = add_system(out, err);

	if (r < 0)
		return r;
	r = add_certificates(path, out, &inner);
	if (r < 0)
		return koda_fail_at(err, (enum koda_code)r, inner.sys_errno, path,
				    "the authority of net.mitm: %s", inner.message);
	return KODA_OK;
}
