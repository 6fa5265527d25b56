/* SPDX-License-Identifier: MIT */
/*
 * T-105. Any text as lines of log(1), and as the message of one line by the kernel. Records are
 * bounded, the tag is the end of the message, and no record can forge the block.
 */
#include "target.h"

#include "base/buf.h"
#include "run/stream/violation.h"

#include <koda/seatbelt.h>

static struct koda_violation_list *parse(struct koda_span text)
{
	struct koda_violation_list *list = NULL;
	koda_auto_free char *block = NULL;
	size_t lines = 0;
	size_t count;

	CHECK(koda_seatbelt_log_parse(text.ptr, text.len, NULL, &list, NULL) == KODA_OK);
	count = koda_violation_list_count(list);
	CHECK(count <= KODA_SEATBELT_LOG_MAX);
	CHECK(count == KODA_SEATBELT_LOG_MAX || koda_violation_list_dropped(list) == 0);
	for (size_t i = 0; i < count; i++) {
		const struct koda_violation_record *record = koda_violation_list_get(list, i);

		CHECK(record->source == KODA_SOURCE_KERNEL);
		CHECK(record->call && !strpbrk(record->call, " \n"));
		CHECK(!record->command_id || strlen(record->command_id) <= 64);
	}
	CHECK(koda_violation_list_render(list, &block, NULL) == KODA_OK);
	for (const char *at = block; *at; at++)
		lines += *at == '\n';
	CHECK(lines == (count ? count + 1 : 0));
	return list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	koda_auto_violation_list struct koda_violation_list *wrapped = NULL;
	koda_auto_buf struct koda_buf line = KODA_BUF_INIT(SIZE_MAX / 2);
	const struct koda_violation_record *record;

	koda_violation_list_free(parse((struct koda_span){ (const char *)data, size }));
	CHECK(koda_buf_addf(&line, "{\"processID\":0,\"eventMessage\":\"") == KODA_OK);
	/* Seven bits each, so that the bytes of the message are those of the text. */
	for (size_t i = 0; i < size; i++) {
		unsigned int c = data[i] & 0x7fU;

		CHECK(koda_buf_addf(&line, "\\u00%02x", c ? c : 1) == KODA_OK);
	}
	CHECK(koda_buf_addf(&line, "\"}") == KODA_OK);
	wrapped = parse(koda_buf_span(&line));
	CHECK(koda_violation_list_count(wrapped) <= 1);
	record = koda_violation_list_get(wrapped, 0);
	if (record && record->command_id) {
		size_t len = strlen(record->command_id);

		CHECK(len < size && data[size - len - 1] % 0x80 == '\n');
		for (size_t i = 0; i < len; i++)
			CHECK(record->command_id[i] == (data[size - len + i] & 0x7f));
	}
	return 0;
}
