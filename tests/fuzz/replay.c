/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over every file of the corpus directories named on the command line, so that
 * past findings are ordinary tests under any compiler. An empty corpus is a failure: a test that
 * looks at nothing proves nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	struct stat st;
	uint8_t *data;
	size_t size;

	if (!file || fstat(fileno(file), &st) < 0) {
		(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
		if (file)
			(void)fclose(file);
		return -1;
	}
	size = (size_t)st.st_size;
	/* Exactly as large as the input, so that the sanitizer sees a read of one byte more. */
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		(void)fprintf(stderr, "%s: cannot be read whole\n", path);
		free(data);
		(void)fclose(file);
		return -1;
	}
	(void)fclose(file);
	/* Named before it runs: after a crash this is the last line. */
	(void)printf("%s: %zu bytes\n", path, size);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

/* The number of inputs in dir, or -1. */
static int replay_directory(const char *dir)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, is_visible, alphasort);
	int failed = 0;

	if (count < 0) {
		(void)fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		return -1;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];
		int len = snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);

		if (len < 0 || (size_t)len >= sizeof(path) || replay_file(path) < 0)
			failed = 1;
		free(entries[i]);
	}
	free(entries);
	return failed ? -1 : count;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: %s CORPUS-DIRECTORY...\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (int i = 1; i < argc; i++) {
		int count = replay_directory(argv[i]);

		if (count > 0) {
			(void)printf("%s: %d inputs replayed\n", argv[i], count);
			continue;
		}
		if (count == 0)
			(void)fprintf(stderr, "%s: the corpus is empty\n", argv[i]);
		status = EXIT_FAILURE;
	}
	return status;
}
