#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected,clause:hidden_reads
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-42: another name that a protected file had before the command started.

setup() {
	load helper
	new_project
	mkdir -p .git/hooks .git/objects .git/refs sub/deep
	echo 'ref: refs/heads/main' >.git/HEAD
	echo '[core]' >.git/config
	echo '#!/bin/sh' >.git/hooks/pre-commit
}

teardown() {
	end_background
}

@test "git's configuration and hooks, the project's names, a pointer file" {
	mkdir -p .vscode nested
	echo '{}' >.mcp.json
	echo '{}' >.vscode/tasks.json
	echo 'gitdir: ../nowhere' >nested/.git
	ln .git/config sub/deep/config
	ln .git/hooks/pre-commit hook.sh
	ln .mcp.json sub/mcp
	ln .vscode/tasks.json tasks
	ln nested/.git pointer
	refused_each <<-ACTS
		open-write	.git/config
		open-write	sub/deep/config
		open-write	hook.sh
		open-write	sub/mcp
		open-write	tasks
		open-write	pointer
		rename	sub/deep/config	sub/deep/moved
		rename	sub	moved
	ACTS
	outside open-write sub/deep/config
	run "$KODA_BIN" policy check write sub/deep/config
	[[ $status -eq 1 ]]
}

# bats test_tags=backend:view
@test "twin: files that have several names and are not protected can be written" {
	echo one >a
	ln a sub/b
	ln .git/config sub/config
	allowed open-write a
	allowed open-write sub/b
	allowed create sub/new
}

@test "twin: without the first name, the second is a file like any other" {
	ln .git/config sub/config
	refused open-write sub/config
	rm .git/config
	allowed open-write sub/config
}

@test "a name outside what can be written does not matter" {
	ln .git/config "$elsewhere/config"
	refused open-write "$elsewhere/config"
	refused open-write .git/config
	allowed create sub/new
}

@test "a credential file with a name in the project" {
	echo secret >"$HOME/.netrc"
	ln "$HOME/.netrc" sub/netrc
	refused open-write sub/netrc
	allowed open-read sub/netrc
	rm "$HOME/.netrc"
	allowed open-write sub/netrc
}

@test "what the policy closes for writing" {
	mkdir closed
	echo x >closed/file
	ln closed/file sub/file
	box=(--deny-write "$project/closed")
	refused open-write sub/file
	box=(--deny-write "$project/closed/file")
	refused open-write sub/file
	box=()
	allowed open-write sub/file
}

# bats test_tags=backend:locked
@test "what the policy hides is hidden by all its names in the project" {
	mkdir keys
	echo secret >keys/id
	ln keys/id sub/id
	box=(--deny-read "$project/keys/id")
	refused open-read sub/id
	box=(--deny-read "$project/keys")
	refused open-read sub/id
	refused open-write sub/id
	box=(--read-only --deny-read "$project/keys")
	refused open-read sub/id
	run "$KODA_BIN" policy check --deny-read "$project/keys" read sub/id
	[[ $status -eq 1 ]]
	box=()
	allowed open-read sub/id
}

@test "what cannot be hidden by all its names is not run with" {
	mkdir "$HOME/keys"
	echo secret >"$HOME/keys/id"
	ln "$HOME/keys/id" "$elsewhere/id"
	box=(--deny-read "$HOME/keys")
	inside open-read "$elsewhere/id"
	[[ $status -eq 125 && -z $answer ]]
	[[ $(<"$BATS_TEST_TMPDIR/err") == *"$HOME/keys/id"*'hard link'* ]]
	# If the other name is hidden, too, there is nothing to refuse.
	box=(--deny-read "$HOME/keys" --deny-read "$elsewhere/id")
	refused open-read "$elsewhere/id"
	refused open-read "$HOME/keys/id"
	rm "$elsewhere/id"
	box=(--deny-read "$HOME/keys")
	refused open-read "$HOME/keys/id"
}

# bats test_tags=backend:locked
@test "what is hidden is so by a name, too, that is only kept from being written" {
	mkdir keys "$HOME/.ssh"
	echo secret >keys/id
	ln keys/id "$HOME/.ssh/id"
	box=(--deny-read "$project/keys/id")
	refused open-read "$HOME/.ssh/id"
	refused open-read keys/id
	box=()
	allowed open-read "$HOME/.ssh/id"
}

@test "a name in a directory that was closed to be overlooked" {
	mkdir -p shut/deep
	local mode name
	for name in shut/config shut/deep/config; do
		ln .git/config "$name"
		for mode in 0000 0600; do
			chmod "$mode" shut
			run run_box sh -c "chmod 755 shut; '$KODA_PROBE' open-write $name"
			chmod 755 shut
			[[ $status -ne 0 ]] || { echo "$name, mode $mode: $output"; false; }
		done
		rm "$name"
	done
}
