#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:hidden_reads
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-15: something the policy hides is read.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# bats test_tags=backend:locked
@test "a hidden file and a hidden directory cannot be read, by any name" {
	mkdir -p dir/sub
	echo secret | tee secret dir/secret dir/sub/secret >/dev/null
	ln -s secret alias
	ln -s dir dir-alias
	box=(--deny-read "$project/secret" --deny-read "$project/dir")
	refused_each <<-ACTS
		open-read	secret
		open-read	alias
		open-read	dir
		open-read	dir/secret
		open-read	dir-alias/secret
		open-read	dir/sub
		open-read	dir/sub/secret
		open-read	/proc/self/root$project/secret
		open-read	/proc/self/cwd/dir/secret
		open-read	/proc/1/root$project/secret
		open-read	$HOME/../home/project/secret
		rename	dir	moved
		rename	secret	moved
		unlink	secret
		rmdir	dir
		chmod	secret	0644
		chmod	dir	0755
		create	dir/new
		open-write	secret
		exchange	secret	file
	ACTS
	refused_with EACCES open-read secret
	refused_with EACCES open-read dir
}

@test "who hides everything does not hide nothing" {
	box=(--deny-read / --deny-read "$elsewhere")
	run run_box "$KODA_PROBE" open-read "$elsewhere/file"
	[[ $status -ne 0 && $output != *ok* ]] || { echo "$output"; false; }
	policy_where 'd["fs"]["deny_read"] = ["/"]; d["fs"]["allow_read_within_deny"] = ["/usr", "/lib", "/lib64", "'"$project"'", "'"$KODA_PROBE"'"]'
	run run_box "$KODA_PROBE" open-read "$elsewhere/file"
	[[ $status -ne 0 && $output != *ok* ]] || { echo "$output"; false; }
	# The twin
	box=()
	run run_box "$KODA_PROBE" open-read "$elsewhere/file"
	[[ $status -eq 0 && $output == ok ]]
}

@test "hidden outside the project: a file, a directory, a link and what it leads to" {
	mkdir "$elsewhere/dir"
	echo secret >"$elsewhere/dir/secret"
	ln -s "$elsewhere/dir" "$elsewhere/link"
	box=(--deny-read "$elsewhere/file" --deny-read "$elsewhere/link")
	refused_each <<-ACTS
		open-read	$elsewhere/file
		open-read	$elsewhere/dir/secret
		open-read	$elsewhere/link/secret
		open-read	$elsewhere/dir
	ACTS
}

# bats test_tags=clause:missing_names,backend:locked
@test "a hidden name that does not exist stays away: nothing can be made there" {
	box=(--deny-read "$project/later" --deny-read "$project/a/b/later")
	refused_each <<-ACTS
		open-read	later
		create	later
		mkdir	later
		symlink	file	later
		rename	file	later
		create	a/b/later
		rename	a	moved
	ACTS
	no_litter ./file
}

# bats test_tags=backend:view,backend:locked
@test "a hidden path below one that may be written is hidden and not writable" {
	mkdir -p open/closed
	echo secret >open/closed/secret
	policy_where "d['fs']['allow_write'] = ['$project', '$project/open', '$project/open/closed']
d['fs']['deny_read'] = ['$project/open/closed']"
	refused_each <<-ACTS
		open-read	open/closed/secret
		open-write	open/closed/secret
		create	open/closed/new
		rename	open	moved
	ACTS
	allowed create open/new
}

# bats test_tags=backend:locked
@test "a hole opens what it names, for reading, and nothing beside it" {
	mkdir -p dir/hole/deep dir/beside
	echo secret | tee dir/secret dir/beside/secret >/dev/null
	echo public | tee dir/hole/file dir/hole/deep/file >/dev/null
	policy_where "d['fs']['deny_read'] = ['$project/dir']
d['fs']['allow_read_within_deny'] = ['$project/dir/hole']"
	allowed open-read dir/hole/file
	allowed open-read dir/hole/deep/file
	allowed open-read dir/hole
	refused_each <<-ACTS
		open-read	dir
		open-read	dir/secret
		open-read	dir/beside/secret
		open-read	dir/hole/../secret
		open-read	dir/hole/../beside
		open-read	/proc/self/root$project/dir/secret
		open-write	dir/hole/file
		create	dir/hole/new
		create	dir/new
		rename	dir/hole	moved
		rename	dir	moved
		rmdir	dir/hole
		chmod	dir	0755
	ACTS
}

# bats test_tags=backend:locked
@test "a deny inside a hole closes again" {
	mkdir -p dir/hole/closed
	echo secret >dir/hole/closed/secret
	echo public >dir/hole/file
	policy_where "d['fs']['deny_read'] = ['$project/dir', '$project/dir/hole/closed']
d['fs']['allow_read_within_deny'] = ['$project/dir/hole']"
	allowed open-read dir/hole/file
	refused open-read dir/hole/closed/secret
	refused open-read dir/hole/closed
}

@test "koda's own state is hidden whatever the policy says" {
	mkdir -p "$HOME/.config/koda/db" "$HOME/.local/state/koda"
	echo key | tee "$HOME/.config/koda/db/key" "$HOME/.local/state/koda/key" >/dev/null
	policy_where "d['fs']['allow_read_within_deny'] = ['$HOME/.config/koda/db']"
	refused open-read "$HOME/.config/koda/db/key"
	refused open-read "$HOME/.local/state/koda/key"
}

# opened_meanwhile MODE OPTION...: what is in shut, which another opens while the command runs.
opened_meanwhile() {
	chmod "$1" shut
	box=("${@:2}")
	rm -f opened
	: >begun
	(eventually test -s begun && chmod 755 shut && touch opened) 3>&- &
	background+=($!)
	run run_box sh -c 'echo >begun; until [ -e opened ]; do sleep 0.05; done
		for i in $(seq 10); do
			cat shut/secret 2>/dev/null && exit; ls shut/dir 2>/dev/null && exit; sleep 0.05; done; false'
	echo >begun # also if nothing ran
	wait "$!"
}

@test "hidden in a directory that was closed when the command started" {
	mkdir shut
	echo secret >shut/secret
	local mode
	for mode in 0000 0600; do
		opened_meanwhile "$mode" --deny-read "$project/shut/secret"
		[[ $status -ne 0 && $output != *$'\n'secret* && $output != secret* ]] ||
			{ echo "mode $mode: $output"; false; }
		opened_meanwhile "$mode" --deny-read "$project/shut"
		[[ $status -ne 0 && $output != *$'\n'secret* && $output != secret* ]] ||
			{ echo "mode $mode: $output"; false; }
	done
	# Twin: without the rule, where nothing is closed; what is may be hidden for a socket's sake.
	opened_meanwhile 0755
	[[ $status -eq 0 && $output == secret ]]
}

# A user namespace gives no privileges over what is of a group that is not in it.
# bats test_tags=needs:root
@test "hidden in a directory of another group that an earlier command closed" {
	mkdir shut
	echo secret >shut/secret
	chgrp 1 shut
	box=(--deny-read "$project/shut/secret")
	refused open-read shut/secret
	run run_box chmod 000 shut
	run run_box sh -c 'chmod 755 shut; cat shut/secret'
	[[ $status -ne 0 && $output != *$'\n'secret* && $output != secret* ]]
	chmod 755 shut
	refused open-read shut/secret
	box=()
	allowed open-read shut/secret
}

# Only in there can be seen where it is.
# bats test_tags=clause:link_names
@test "hidden by a link in a directory that an earlier command closed" {
	mkdir shut real
	echo secret >real/secret
	ln -s ../real/secret shut/link
	box=(--deny-read "$project/shut/link")
	refused open-read real/secret
	local mode
	for mode in 0000 0600; do
		chmod "$mode" shut
		run run_box cat real/secret
		chmod 755 shut
		[[ $status -ne 0 && $output != *$'\n'secret* && $output != secret* ]] ||
			{ echo "mode $mode: $output"; false; }
	done
	box=()
	policy_where "d['fs']['deny_read'] = ['$project/shut/link']"
	chmod 0000 shut
	run run_box cat real/secret
	chmod 755 shut
	[[ $status -ne 0 && $output != *$'\n'secret* && $output != secret* ]]
	# The whole directory can be hidden, and the rest be used.
	policy_where "d['fs']['deny_read'] = ['$project/shut']"
	chmod 0000 shut
	allowed open-read real/secret
	chmod 755 shut
}

@test "twin: without the rule all of it can be read" {
	mkdir -p dir
	echo secret | tee secret dir/secret >/dev/null
	allowed open-read secret
	allowed open-read dir/secret
	allowed open-read dir
	allowed open-read "/proc/self/root$project/secret"
	allowed open-read "$elsewhere/file"
}
