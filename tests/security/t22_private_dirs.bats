#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:private_dirs
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

@test "there is an end to what fits there" {
	run run_box sh -c 'df -k --output=size /tmp /var/tmp /dev/shm /run | tail -n 4 | tr -d " "'
	[[ $output == $'4194304\n1048576\n1048576\n65536' ]] || { echo "$output"; false; }
	run run_box sh -c 'head -c 64M /dev/zero >/run/full && echo fits; head -c 1 /dev/zero >>/run/full'
	[[ $status -eq 1 && $output == *fits*'No space left on device'* ]] || { echo "$output"; false; }
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

@test "a policy cannot put the host's devices, processes or temporary directories there" {
	local dir
	for dir in /dev /dev/null /dev/shm /dev/pts /proc /proc/self /proc/sys /sys /tmp /var/tmp /run; do
		policy_where "d['fs']['allow_write'].append('$dir')"
		made=$(mktemp /tmp/koda-test-XXXXXX)
		each_inside <<-ACTS
			open-read	$made
			create	/dev/new
			open-write	/proc/sys/kernel/hostname
			open-read	/proc/$PPID/status
			open-write	/dev/null
			create	/tmp/new
			create	new
			unlink	new
		ACTS
		rm -f -- "$made"
		[[ ${answers[*]} =~ ^ENOENT\ E[A-Z]+\ E[A-Z]+\ ENOENT\ ok\ ok\ ok\ ok$ ]] ||
			explain "allow_write of $dir" || return
		box=(--policy-fd 9 --deny-read "$dir")
		allowed open-write /dev/null
		allowed create /tmp/new
	done
}

@test "a policy cannot make everything writable" {
	policy_where "d['fs']['allow_write'] = ['/']"
	inside create new
	[[ $status -eq 125 && ! -e new && $(<"$BATS_TEST_TMPDIR/err") == *fs.allow_write* ]]
}

@test "twin: what lies below a temporary directory can be opened by name" {
	made=$(mktemp -d /tmp/koda-test-XXXXXX)
	policy_where "d['fs']['allow_write'].append('$made')"
	allowed create "$made/new"
	[[ -e $made/new ]]
	rm -rf -- "$made"
}
