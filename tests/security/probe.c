/* SPDX-License-Identifier: MIT */
/*
 * What an attacker would try, one act per call: `probe ACT ARGUMENT...`. Prints "ok" or the name of
 * the errno and exits with 0 if the act SUCCEEDED, with 1 if it was refused, with 2 if the probe
 * itself was misused. Static, so that it runs in any view of the file system.
 *
 * `probe each` reads "ACT ARGUMENT..." lines, words separated by tabs, and answers each with a
 * line: many attempts in one sandbox.
 */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8

static const struct probe_entry *const tables[] = { probe_file_acts,  probe_call_acts,
						    probe_net_acts,   probe_look_acts,
						    probe_trace_acts, probe_memory_acts };

long probe_number(const char *text)
{
	char *end;
	long number = strtol(text, &end, 0);

	if (*text == '\0' || *end != '\0') {
		(void)fprintf(stderr, "probe: '%s' is no number\n", text);
		exit(2);
	}
	return number;
}

static const struct probe_entry *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct probe_entry *entry = tables[i]; entry->name; entry++)
			if (strcmp(entry->name, name) == 0)
				return entry;
	return NULL;
}

/* 0 succeeded, 1 refused, 2 no such act. */
static int attempt(int count, char **words)
{
	const struct probe_entry *entry = count > 0 ? find(words[0]) : NULL;
	const char *name;
	int error;

	if (!entry || count - 1 < entry->args) {
		(void)fprintf(stderr, "probe: no act '%s' with %d arguments\n",
			      count > 0 ? words[0] : "", count - 1);
		return 2;
	}
	error = entry->act(words + 1);
	name = error ? strerrorname_np(error) : "ok";
	(void)printf("%s\n", name ? name : "?");
	(void)fflush(stdout);
	return error ? 1 : 0;
}

static int split(char *line, char **words)
{
	int count = 0;

	line[strcspn(line, "\n")] = '\0';
	for (char *word; count < WORDS_MAX && (word = strsep(&line, "\t"));)
		words[count++] = word;
	words[count] = NULL;
	return count;
}

/* 0 if at least one act succeeded, 1 if all were refused. */
static int attempt_each(void)
{
	char *line = NULL;
	size_t size = 0;
	int status = 1;

	while (getline(&line, &size, stdin) > 0) {
		char *words[WORDS_MAX + 1];
		int one = attempt(split(line, words), words);

		if (one == 2)
			exit(2);
		if (one == 0)
			status = 0;
	}
	free(line);
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "each") == 0)
		return attempt_each();
	return attempt(argc - 1, argv + 1);
}
