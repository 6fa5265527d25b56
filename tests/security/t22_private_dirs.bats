#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-22: the shared temporary directories of the host.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# Those that this user may write outside.
shared_dirs() {
	local dir
	for dir in /tmp /var/tmp /dev/shm /run; do
		[[ -w $dir ]] && echo "$dir"
	done
	return 0
}

@test "the host's files there are not seen" {
	while IFS= read -r dir; do
		made=$(mktemp "$dir/koda-test-XXXXXX")
		outside open-read "$made"
		inside open-read "$made"
		rm -f -- "$made"
		[[ $status -eq 1 && $answer == ENOENT ]] || explain "seen: $made"
	done < <(shared_dirs)
}

@test "what is made there is not on the host, and does not stay" {
	local dir name=koda-test-$$-$RANDOM
	for dir in /tmp /var/tmp /dev/shm /run; do
		allowed create "$dir/$name"
		[[ ! -e $dir/$name ]]
		refused open-read "$dir/$name"
	done
}

@test "the host name is not the host's to change" {
	refused call sethostname
	refused open-write /proc/sys/kernel/hostname
}

@test "twin: outside they are shared" {
	while IFS= read -r dir; do
		made=$(mktemp -u "$dir/koda-test-XXXXXX")
		outside create-once "$made"
	done < <(shared_dirs)
}
