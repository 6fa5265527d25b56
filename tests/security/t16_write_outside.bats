#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-16: a command writes where its policy does not let it.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

attempts() {
	cat <<-ACTS
		open-write	$elsewhere/file
		truncate	$elsewhere/file
		chmod	$elsewhere/file	0777
		utime	$elsewhere/file
		create	$elsewhere/new
		mkdir	$elsewhere/dir
		symlink	x	$elsewhere/link
		link	$elsewhere/file	$elsewhere/hard
		rename	$elsewhere/file	$elsewhere/moved
		rename	$elsewhere/moved	$elsewhere/file
		unlink	$elsewhere/link
		rmdir	$elsewhere/dir
	ACTS
}

@test "nothing outside the project can be changed" {
	refused_each < <(attempts)
	[[ $(<"$elsewhere/file") == there && $(ls -A -- "$elsewhere") == file ]]
}

@test "nor through the kernel's names for the root and the working directory" {
	refused_each <<-ACTS
		open-write	/proc/self/root$elsewhere/file
		open-write	/proc/self/cwd/../../../elsewhere/file
		open-write	/proc/1/root$elsewhere/file
		create	/proc/self/root$elsewhere/new
		create	../new
		create-once	/koda-test
		create-once	/etc/koda-test
		create-once	/usr/koda-test
		create	$HOME/.bashrc
		create	$HOME/.profile
		mkdir	$HOME/.config
	ACTS
}

# A tree that the view lets be written by mistake, and then one that was granted as well.
# bats test_tags=clause:second_layer,backend:native
@test "where the view lets it, Landlock does not" {
	printf 'create\t%s\nopen-write\t%s\n' "$elsewhere/new" "$elsewhere/file" >"$BATS_TEST_TMPDIR/acts"
	run "$KODA_MUTATE" with writable "$elsewhere" "$project" "$HOME" "$KODA_PROBE" "$BATS_TEST_TMPDIR/acts"
	[[ $status -eq 0 && $output == $'EACCES\nEACCES' && ! -e $elsewhere/new ]] || { echo "$output"; false; }
	run "$KODA_MUTATE" with granted "$elsewhere" "$project" "$HOME" "$KODA_PROBE" "$BATS_TEST_TMPDIR/acts"
	[[ $status -eq 0 && $output == $'ok\nok' && -e $elsewhere/new ]] || { echo "$output"; false; }
}

@test "in plan mode the project is read-only in the kernel too" {
	box=(--trust plan --yes)
	refused_with 'EROFS|EACCES' open-write file
	refused_with 'EROFS|EACCES' create new
	refused_with 'EROFS|EACCES' mkdir dir
	allowed open-read file
	box=(--read-only)
	refused open-write file
}

@test "what the policy closes inside the project is closed" {
	mkdir closed
	echo x >closed/file
	echo x >single
	box=(--deny-write "$project/closed" --deny-write "$project/single")
	refused_each <<-ACTS
		open-write	closed/file
		create	closed/new
		unlink	closed/file
		rename	closed/file	out
		rename	file	closed/in
		open-write	single
		unlink	single
		rename	file	single
		chmod	single	0777
	ACTS
	allowed open-write file
}

# A command that runs beside it could open it.
@test "what is closed in a directory that cannot be looked into, when somebody opens that" {
	mkdir "$elsewhere/shut"
	echo here | tee "$elsewhere/shut/file" >"$elsewhere/beside"
	policy_where "d['fs']['allow_write'] = ['$project', '$elsewhere']
d['fs']['deny_write_within_allow'] = ['$elsewhere/shut/file', '$elsewhere/shut/new']"
	local mode
	for mode in 0000 0600; do
		chmod "$mode" "$elsewhere/shut"
		run run_box sh -c "chmod 755 '$elsewhere/shut'; echo x >'$elsewhere/shut/file'
			echo x >'$elsewhere/shut/new'"
		chmod 755 "$elsewhere/shut"
		[[ $status -ne 0 && $(<"$elsewhere/shut/file") == here && ! -e $elsewhere/shut/new ]] ||
			{ echo "mode $mode: $output"; false; }
	done
	# Twin: without the rule, where nothing is closed.
	policy_where "d['fs']['allow_write'] = ['$project', '$elsewhere']"
	run_box sh -c "chmod 755 '$elsewhere/shut'; echo x >'$elsewhere/shut/file'"
	[[ $(<"$elsewhere/shut/file") == x ]]
}

@test "twin: the same acts work outside, and inside where the policy allows it" {
	outside_each < <(attempts)
	policy_where "d['fs']['allow_write'].append('$elsewhere')"
	rm -rf -- "$elsewhere"/{new,hard}
	each_inside < <(attempts)
	run -1 grep -vx ok "$BATS_TEST_TMPDIR/out"
}
