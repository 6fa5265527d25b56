#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_outside,clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-14: a second name for what cannot be written: hard links, links, descriptors.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "no hard link leads out of a read-only place" {
	mkdir -p .git/hooks closed
	echo x >.git/hooks/pre-commit
	echo x >closed/file
	box=(--deny-write "$project/closed")
	refused_each <<-ACTS
		link	$elsewhere/file	alias
		link-fd	$elsewhere/file	alias
		link	.git/hooks/pre-commit	alias
		link-follow	/proc/self/cwd/.git/hooks/pre-commit	alias
		link-fd	.git/hooks/pre-commit	alias
		link	closed/file	alias
		link-fd	closed/file	alias
		rename	closed/file	alias
		rename	.git/hooks/pre-commit	alias
		link	file	closed/in
		link-fd	file	.git/hooks/in
	ACTS
}

# bats test_tags=backend:locked
@test "no hard link makes something hidden readable" {
	echo secret >secret
	box=(--deny-read "$project/secret")
	refused link secret alias
	refused link-fd secret alias
	refused rename secret alias
	refused open-read secret
}

@test "a link in the project is no door to the outside" {
	ln -s "$elsewhere" out
	ln -s "$elsewhere/file" out-file
	ln -s "$elsewhere/new" out-new
	refused_each <<-ACTS
		open-write	out/file
		create	out/new
		open-write	out-file
		truncate	out-file
		open-write	out-new
		mkdir	out-new
	ACTS
	[[ $(<"$elsewhere/file") == there && ! -e $elsewhere/new ]]
}

@test "an allow rule that goes through a link planted in the project opens nothing" {
	ln -s "$elsewhere" out
	policy_where "d['fs']['allow_write'].append('$project/out')"
	refused open-write "$elsewhere/file"
	refused create "$elsewhere/new"
}

@test "a place made during the run is no door either" {
	run run_box sh -c "ln -s '$elsewhere' out; '$KODA_PROBE' open-write out/file"
	[[ $status -eq 1 ]]
}

@test "twin: links within the project work, and all of it works outside" {
	mkdir dir
	ln -s dir inner
	allowed create inner/new
	allowed link file alias
	allowed link-fd file alias2
	outside link "$elsewhere/file" outer-alias
	outside open-write outer-alias
}
