/* SPDX-License-Identifier: MIT */
#include "wire/fs_setup.h"

#include "base/path.h"

#include <string.h>

/* The layout: this, then the roots, the names and the rules. */
struct header {
	uint32_t magic;
	uint32_t version;
	uint32_t link_depth;
	uint32_t root_count;
	uint32_t root_len[KODA_FS_ROOTS_MAX];
	uint32_t env_len;
	uint32_t rules_len;
};

static bool are_names_sound(struct koda_span names)
{
	return names.len == 0 || names.ptr[names.len - 1] == '\0';
}

static bool is_sound(const struct koda_fs_setup *setup)
{
	if (setup->root_count == 0 || setup->root_count > KODA_FS_ROOTS_MAX ||
	    setup->link_depth < KODA_FS_LINKS_MIN || setup->link_depth > KODA_FS_LINKS_MAX ||
	    !are_names_sound(setup->env_names))
		return false;
	for (size_t i = 0; i < setup->root_count; i++)
		if (!koda_path_is_normal(setup->roots[i]))
			return false;
	return true;
}

int koda_fs_setup_add(struct koda_buf *out, const struct koda_fs_setup *setup)
{
	struct header header = { .magic = KODA_FS_SETUP_MAGIC,
				 .version = KODA_FS_SETUP_VERSION,
				 .link_depth = setup->link_depth,
				 .root_count = (uint32_t)setup->root_count,
				 .env_len = (uint32_t)setup->env_names.len,
				 .rules_len = (uint32_t)setup->rules.len };
	int r;

	if (!is_sound(setup))
		return KODA_E_INVALID;
	if (setup->env_names.len > KODA_FS_SETUP_MAX || setup->rules.len > KODA_FS_SETUP_MAX)
		return KODA_E_LIMIT;
	for (size_t i = 0; i < setup->root_count; i++)
		header.root_len[i] = (uint32_t)setup->roots[i].len;
	r = koda_buf_add(out, &header, sizeof(header));
	for (size_t i = 0; i < setup->root_count && r == KODA_OK; i++)
		r = koda_buf_add(out, setup->roots[i].ptr, setup->roots[i].len);
	if (r == KODA_OK && setup->env_names.len > 0)
		r = koda_buf_add(out, setup->env_names.ptr, setup->env_names.len);
	if (r == KODA_OK && setup->rules.len > 0)
		r = koda_buf_add(out, setup->rules.ptr, setup->rules.len);
	return r;
}

/* Takes len bytes off the front. */
static bool take(struct koda_span *rest, uint32_t len, struct koda_span *ret_text)
{
	if (len > rest->len)
		return false;
	*ret_text = (struct koda_span){ rest->ptr, len };
	*rest = koda_span_skip(*rest, len);
	return true;
}

bool koda_fs_setup_read(struct koda_span bytes, struct koda_fs_setup *ret_setup)
{
	struct koda_fs_setup setup = { .root_count = 0 };
	struct header header;

	if (bytes.len < sizeof(header))
		return false;
	memcpy(&header, bytes.ptr, sizeof(header));
	bytes = koda_span_skip(bytes, sizeof(header));
	if (header.magic != KODA_FS_SETUP_MAGIC || header.version != KODA_FS_SETUP_VERSION ||
	    header.root_count > KODA_FS_ROOTS_MAX)
		return false;
	for (size_t i = 0; i < KODA_FS_ROOTS_MAX; i++)
		if (i < header.root_count ? !take(&bytes, header.root_len[i], &setup.roots[i])
					  : header.root_len[i] != 0)
			return false;
	setup.root_count = header.root_count;
	setup.link_depth = header.link_depth;
	if (!take(&bytes, header.env_len, &setup.env_names) ||
	    !take(&bytes, header.rules_len, &setup.rules) || bytes.len > 0 || !is_sound(&setup))
		return false;
	*ret_setup = setup;
	return true;
}
