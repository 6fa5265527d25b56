/* SPDX-License-Identifier: MIT */
#include "route/hosts_file.h"

#include "base/buf.h"
#include "policy/addr.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Removes the next word from *line and returns it; its length is 0 at the end. */
static struct koda_span next_word(struct koda_span *line)
{
	struct koda_span word;
	size_t len = 0;

	while (line->len > 0 && is_blank(line->ptr[0]))
		*line = koda_span_skip(*line, 1);
	while (len < line->len && !is_blank(line->ptr[len]))
		len++;
	word = (struct koda_span){ line->ptr, len };
	*line = koda_span_skip(*line, len);
	return word;
}

static bool parse_address(struct koda_span text, struct koda_addr *addr)
{
	return text.len > 0 && (memchr(text.ptr, ':', text.len) ? koda_addr_parse6(text, addr)
								: koda_addr_parse4(text, addr));
}

/* Returns whether name follows the address of this line. */
static bool names(struct koda_span line, const char *name, struct koda_addr *addr)
{
	size_t len = strlen(name);
	struct koda_span word;

	if (!parse_address(next_word(&line), addr))
		return false;
	while ((word = next_word(&line)).len > 0)
		if (word.len == len && strncasecmp(word.ptr, name, len) == 0)
			return true;
	return false;
}

size_t egress_hosts_file_find(FILE *file, const char *name, struct koda_addr *addrs, size_t max)
{
	struct koda_addr addr;
	char *line = NULL;
	size_t size = 0;
	size_t count = 0;

	while (getline(&line, &size, file) >= 0) {
		addr = (struct koda_addr){ .family = 0 };
		if (!names((struct koda_span){ line, strcspn(line, "#") }, name, &addr))
			continue;
		if (count < max)
			addrs[count] = addr;
		count++;
	}
	free(line);
	return count;
}
