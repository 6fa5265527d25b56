#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-11: the way to a protected name is renamed, removed or replaced, and made anew.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

@test "directories above protected names that exist stay where they are" {
	mkdir -p .claude/agents .koda/skills .git/info a/b/nested/.git/hooks
	mkdir other
	refused_each <<-ACTS
		rename	.claude	moved
		rename	.koda	moved
		rename	.git	moved
		rename	.git/info	moved
		exchange	.claude	other
		exchange	other	.git
		rename	a	moved
		rename	a/b	moved
		rename	a/b/nested	moved
		rename	a/b/nested/.git	moved
		exchange	a/b	other
		rmdir	.claude
		rmdir	a/b/nested/.git
	ACTS
}

@test "the names themselves stay where they are" {
	mkdir -p .vscode .git/hooks .claude other
	echo '{}' >.claude/settings.json
	echo x >.envrc
	refused_each <<-ACTS
		rename	.vscode	moved
		rmdir	.vscode
		exchange	other	.vscode
		unlink	.envrc
		rename	.envrc	moved
		rename	file	.envrc
		rename	file	.claude/settings.json
		exchange	file	.claude/settings.json
		link	file	.vscode/tasks.json
		rename	.git/hooks	moved
	ACTS
}

# bats test_tags=clause:missing_names
@test "the way to a name that does not exist stays as well" {
	refused_each <<-ACTS
		rename	.claude	moved
		rename	.koda	moved
		rename	.git	moved
		rename	.git/info	moved
		rmdir	.claude
		rmdir	.git/info
		rename	file	.claude
	ACTS
	no_litter ./file
}

@test "a denied name three levels down keeps its ancestors" {
	mkdir -p a/b/c
	box=(--deny-write "$project/a/b/c" --deny-write "$project/x/y/z")
	refused_each <<-ACTS
		rename	a	moved
		rename	a/b	moved
		rename	a/b/c	moved
		create	a/b/c/new
		rename	x	moved
		rename	x/y	moved
		mkdir	x/y/z
		create	x/y/z/new
	ACTS
}

@test "the project itself stays" {
	refused rename "$project" "$HOME/moved"
	refused rename "$HOME" "$BATS_TEST_TMPDIR/moved"
	refused exchange "$project" "$elsewhere"
}

@test "twin: what leads to nothing protected can be renamed and removed" {
	mkdir -p a/b/c other
	allowed rename a moved
	allowed rmdir moved/b/c
	allowed exchange moved other
	mkdir .claude
	outside rename .claude elsewhere
}
