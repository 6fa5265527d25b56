#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs built with sanitizers reserve more memory than there is, and look at their own threads from outside; both
# must work, or no project that tests with them can be worked on.

load helper
load run_helper

setup() {
	new_project
	cat >main.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *add(void *arg)
{
	(void)arg;
	shared++;
	return NULL;
}

int main(int argc, char **argv)
{
	int numbers[2] = { 1, 2 };
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "leak") == 0)
		*(volatile char **)&argv[1] = malloc(7), argv[1] = NULL;
	if (argc > 1 && argv[1] && strcmp(argv[1], "race") == 0) {
		pthread_create(&thread, NULL, add, NULL);
		shared++;
		pthread_join(thread, NULL);
	}
	if (argc > 1 && argv[1] && strcmp(argv[1], "over") == 0)
		return numbers[argc];
	return 0;
}
END
}

# sanitized WHICH ARG...: builds with it and runs, all of it inside.
sanitized() {
	local which=$1
	shift
	inside -c "cc -g -pthread -fsanitize=$which main.c -o main-$which && exec ./main-$which $*"
}

@test "a program without mistakes ends as it should" {
	local which
	for which in address leak thread undefined; do
		sanitized "$which"
		silent 0
	done
}

@test "mistakes are found" {
	sanitized address over
	[[ $status -ne 0 && $stderr == *stack-buffer-overflow* ]]
	sanitized address leak
	[[ $status -ne 0 && $stderr == *'detected memory leaks'* ]]
	sanitized leak leak
	[[ $status -ne 0 && $stderr == *'detected memory leaks'* ]]
	sanitized thread race
	[[ $status -ne 0 && $stderr == *'data race'* ]]
}
