#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:hidden_reads
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-88: what is closed by one name is open by another, where its file system is mounted once more.

setup() {
	load helper
	new_project
	second=$BATS_TEST_TMPDIR/second
	mkdir -p "$elsewhere/secret/inner" "$second"
	echo secret | tee "$elsewhere/secret/key" >"$elsewhere/secret/inner/key"
}

teardown() {
	end_background
}

# mounted COMMANDS: from now on everything of koda's runs where these have mounted something; the
# same is there for "there ACT ARG...", without a sandbox. Where an ordinary user can mount, bubblewrap
# is nobody's, and is not trusted: there the best backend has to do.
mounted() {
	local how=(--mount --propagation private)
	is_root || how+=(--map-root-user)
	if ! is_root && [[ $KODA_TEST_BACKEND == bwrap ]]; then
		KODA_BIN=$KODA_PROGRAM
	fi
	printf 'set -e\n%s\nexec "$@"\n' "$1" >"$BATS_TEST_TMPDIR/mounts"
	cat >"$BATS_TEST_TMPDIR/enter" <<-EOF
		#!/bin/bash
		exec unshare ${how[*]} bash "$BATS_TEST_TMPDIR/mounts" "\$@"
	EOF
	cat >"$BATS_TEST_TMPDIR/koda" <<-EOF
		#!/bin/bash
		exec "$BATS_TEST_TMPDIR/enter" "$KODA_BIN" "\$@"
	EOF
	chmod 755 "$BATS_TEST_TMPDIR/enter" "$BATS_TEST_TMPDIR/koda"
	KODA_BIN=$BATS_TEST_TMPDIR/koda
}

there() {
	status=0
	: >"$BATS_TEST_TMPDIR/err"
	answer=$("$BATS_TEST_TMPDIR/enter" "$KODA_PROBE" "$@" 2>&1) || status=$?
	[[ $status -eq 0 ]] || explain "the twin failed: $*"
}

@test "a hidden directory, or file, that is mounted elsewhere, too" {
	mkdir "$second/with space" "$second/whole"
	: >"$second/one"
	mounted "mount --bind '$elsewhere/secret' '$second/with space'
		mount --bind '$elsewhere' '$second/whole'
		mount --bind '$elsewhere/secret/key' '$second/one'"
	box=(--deny-read "$elsewhere/secret" --deny-read "$elsewhere/secret/key")
	refused_each <<-ACTS
		open-read	$elsewhere/secret/key
		open-read	$second/with space/key
		open-read	$second/with space/inner/key
		open-read	$second/whole/secret/key
		open-read	$second/whole/secret/inner/key
		open-read	$second/one
	ACTS
	run "$KODA_BIN" policy check "${box[@]}" --root . read "$second/whole/secret/key"
	[[ $status -eq 1 ]]
	allowed open-read "$second/whole/file"
	box=()
	for name in 'with space/key' 'with space/inner/key' whole/secret/key one; do
		there open-read "$second/$name"
		allowed open-read "$second/$name"
	done
}

@test "in the project, below it, and around it" {
	mkdir again deep
	echo secret >deep/key
	mounted "mount --bind '$elsewhere' again; mount --bind '$project' '$second'"
	box=(--deny-read "$elsewhere/secret" --deny-read "$project/deep")
	refused_each <<-ACTS
		open-read	again/secret/key
		open-read	$second/deep/key
		rename	again	moved
	ACTS
	box=()
	allowed open-read again/secret/key
	allowed open-read "$second/deep/key"
}

@test "where something else is mounted on top nothing is closed" {
	mounted "mount --bind '$elsewhere/secret' '$second'
		mount -t tmpfs none '$second'; echo other >'$second/key'"
	box=(--deny-read "$elsewhere/secret")
	refused open-read "$elsewhere/secret/key"
	allowed open-read "$second/key"
}

# bats test_tags=backend:view
@test "who denies another view of a disk does not mean the project, nor what a policy opens" {
	mounted "mount --bind '$BATS_TEST_TMPDIR' '$second'; mount --bind '$elsewhere/secret/inner' '$elsewhere/secret'"
	box=(--deny-read "$second")
	refused open-read "$second/elsewhere/file"
	allowed open-read file
	allowed open-read "$elsewhere/file"
	policy_where '
d["fs"]["deny_read"] = ["'"$elsewhere"'"]
d["fs"]["allow_read_within_deny"] = ["'"$second/elsewhere"'", "'"$elsewhere/secret"'"]
d["fs"]["deny_read"].append("'"$second"'")'
	refused open-read "$elsewhere/file"
	allowed open-read "$second/elsewhere/file"
	allowed open-read "$elsewhere/secret/key"
}

# Without a view such names are one place, which is open or not.
@test "where that cannot be told apart nothing runs" {
	load landlock
	use_landlock
	mounted "mount --bind '$BATS_TEST_TMPDIR' '$second'"
	box=("${landlock[@]}" --deny-read "$second")
	run run_box cat "$second/elsewhere/file"
	[[ $status -eq 125 && $output == *hidden_reads*'mounted elsewhere, too'* ]] || { echo "$output"; false; }
	box=("${landlock[@]}")
	run run_box cat "$second/elsewhere/file"
	[[ $output == there ]]
}

@test "nor where a part of what is hidden has a mount of its own" {
	load landlock
	use_landlock
	: >"$second/one"
	mkdir "$second/whole"
	mounted "mount --bind '$elsewhere/secret/key' '$second/one'; mount --bind '$elsewhere' '$second/whole'"
	box=("${landlock[@]}" --deny-read "$elsewhere/secret")
	run run_box cat "$second/whole/secret/key"
	[[ $status -eq 125 && $output == *hidden_reads*'mounted elsewhere, too'* ]] || { echo "$output"; false; }
	KODA_BIN=$BATS_TEST_TMPDIR/enter box=() # the twin: with a view only that part is open
	run "$KODA_BIN" "$KODA_PROGRAM" run --deny-read "$elsewhere/secret" -- \
		sh -c 'cat "$1/one"; cat "$1/whole/secret/key"' sh "$second"
	[[ $output == secret$'\n'*'Permission denied'* ]] || { echo "$output"; false; }
}

# bats test_tags=clause:private_dirs
@test "T-22, T-18: the host's temporary directories and processes by another mount" {
	mkdir "$second/tmp" "$second/run" "$second/proc" "$second/other"
	# An ordinary user cannot bind a directory without the mounts below it.
	mounted "mount --rbind /tmp '$second/tmp'; mount --rbind /run '$second/run'
		mount --rbind /proc '$second/proc'; echo here >'$second/tmp/koda-t88-$$'"
	refused_each <<-ACTS
		open-read	$second/tmp/koda-t88-$$
		open-read	$second/tmp
		open-read	$second/run
		open-read	$second/proc
		open-read	$second/proc/self/cmdline
	ACTS
	there open-read "$second/tmp/koda-t88-$$"
	there open-read "$second/proc/self/cmdline"
	allowed open-read "$second/other"
	rm "/tmp/koda-t88-$$"
}

# bats test_tags=needs:root,clause:private_dirs
@test "T-18: other file systems that tell of the host's processes" {
	mkdir "$second/proc"
	mounted "mount -t proc proc '$second/proc'"
	refused open-read "$second/proc/self/cmdline"
	there open-read "$second/proc/self/cmdline"
}

# bats test_tags=clause:write_protected
@test "what is protected cannot be written by a mount in the project" {
	git init -q .
	mkdir -p .vscode again home sub "$HOME/.ssh" "$HOME/bin" bin
	PATH=$HOME/bin:$PATH
	mounted "mount --bind '$project' again; mount --bind '$HOME' home; mount --bind '$HOME/bin' bin"
	refused_each <<-ACTS
		create	again/.vscode/tasks.json
		create	again/.git/hooks/pre-commit
		open-write	again/.git/config
		create	home/.ssh/authorized_keys
		create	home/project/.git/hooks/pre-commit
		create	home/bin/git
		create	bin/git
		rename	bin	moved
	ACTS
	allowed create again/sub/new
	allowed create home/project/sub/other
	there create home/.ssh/twin
	there create bin/twin
}

# bats test_tags=clause:missing_names
@test "a protected name that is missing cannot be made by a mount in the project" {
	mkdir again
	mounted "mount --bind '$project' again"
	refused create again/.envrc
	refused mkdir again/.vscode
	allowed create again/envrc
	rm envrc
	no_litter $'./again\n./file'
}

# bats test_tags=clause:sockets
@test "a socket of the host by another mount" {
	mkdir "$elsewhere/run"
	listen_unix "$elsewhere/run/s"
	mounted "mount --bind '$elsewhere/run' '$second'"
	refused connect-unix "$second/s"
	there connect-unix "$second/s"
}
