#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=backend:locked,clause:write_protected
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-96: the file that a policy is read from.

setup() {
	load helper
	new_project
	umask 022
	kept=$HOME/.config/koda/policies
	mkdir -p "$kept" "$HOME/.config/other"
	# Everything of the user's can be written but what the floor keeps.
	(cd "$HOME" && "$KODA_BIN" policy show --root "$project" --allow-write "$HOME") >"$kept/my.json"
}

teardown() {
	end_background
}

# named FILE: the program refuses the policy, or is silent.
named() {
	status=0
	"$KODA_BIN" run --policy "$1" -- true 2>"$BATS_TEST_TMPDIR/err" >&2 || status=$?
	answer=$(<"$BATS_TEST_TMPDIR/err")
}

turned_down() {
	named "$1"
	[[ $status -eq 125 && $answer == "koda-sandbox: --policy "*"$2"* ]] || explain "not refused: $1"
}

taken() {
	named "$1"
	[[ $status -eq 0 && ! $answer ]] || explain "refused: $1"
}

@test "commands cannot change a policy that is kept where it belongs" {
	box=(--policy "$kept/my.json")
	refused_each <<-ACTS
		open-write	$kept/my.json
		create	$kept/new
		unlink	$kept/my.json
		rename	$kept/my.json	$HOME/moved
		rename	$kept	$HOME/moved
		rename	$HOME/.config/koda	$HOME/moved
		rename	$HOME/.config	$HOME/moved
	ACTS
	allowed open-read "$kept/my.json"
	# Twins: what lies beside it, and without a sandbox.
	allowed create "$HOME/.config/other/new"
	outside open-write "$kept/my.json"
	taken "$kept/my.json"
}

# bats test_tags=clause:missing_names
@test "commands cannot make the directory for policies either" {
	cp "$kept/my.json" "$elsewhere/my.json"
	rm -r "$HOME/.config/koda"
	box=(--policy "$elsewhere/my.json")
	refused mkdir "$HOME/.config/koda"
	refused mkdir "$HOME/.config/koda/policies"
	[[ ! -e $HOME/.config/koda ]]
	allowed mkdir "$HOME/.config/another"
}

@test "a policy in the project, or where it lets commands write, is refused" {
	cp "$kept/my.json" policy.json
	cp "$kept/my.json" "$HOME/policy.json"
	turned_down policy.json 'lies in the project; put it into ~/.config/koda/policies'
	turned_down "$project/policy.json" 'lies in the project'
	turned_down "$HOME/policy.json" 'lies where the policy lets commands write'
	# The act that this is about: the command writes it for the next.
	box=(--policy "$kept/my.json")
	allowed open-write "$HOME/policy.json"
	# Read-only for this command is not enough: the next is another.
	"$KODA_BIN" policy show --trust plan >plan.json
	turned_down plan.json 'lies in the project'
	# Twin: the same words on a descriptor are the caller's.
	"$KODA_BIN" run --policy-fd 9 -- true 9<policy.json
}

@test "a link that a command could turn is refused, wherever it leads" {
	cp "$kept/my.json" "$elsewhere/my.json"
	ln -s "$kept/my.json" here.json
	ln -s "$kept" here
	ln -s "$elsewhere/my.json" "$HOME/link.json"
	mkdir "$elsewhere/dir"
	ln -s "$HOME/link.json" "$elsewhere/dir/chain.json"
	ln -s "$project/file" "$kept/out.json"
	turned_down here.json 'a link to it, lies in the project'
	turned_down here/my.json 'a link to it, lies in the project'
	turned_down "$HOME/link.json" 'a link to it, lies where the policy lets commands write'
	turned_down "$elsewhere/dir/chain.json" 'a link to it, lies where'
	cp "$kept/my.json" file
	turned_down "$kept/out.json" 'lies in the project'
	# Twin: a link that no command can turn.
	ln -s "$elsewhere/my.json" "$kept/linked.json"
	taken "$kept/linked.json"
	taken "$elsewhere/my.json"
}

@test "a policy that has another name, or is everybody's, is refused" {
	ln "$kept/my.json" "$project/other-name"
	turned_down "$kept/my.json" 'further names'
	rm "$project/other-name"
	taken "$kept/my.json"
	chmod 666 "$kept/my.json"
	turned_down "$kept/my.json" 'every user can write it'
	chmod 664 "$kept/my.json"
	taken "$kept/my.json"
	chmod 777 "$kept"
	turned_down "$kept/my.json" 'every user can replace it'
	chmod 1777 "$kept"
	taken "$kept/my.json"
}

# bats test_tags=needs:root
@test "a policy of another user is refused" {
	chown 12345 "$kept/my.json"
	turned_down "$kept/my.json" 'belongs to another user'
	chown 0 "$kept/my.json"
	taken "$kept/my.json"
}

@test "only files are policies" {
	mkfifo "$kept/fifo"
	turned_down "$kept/fifo" ''
	turned_down "$kept" 'directory'
	turned_down "$kept/none" 'No such file'
	turned_down '' 'must not be empty'
	: >"$kept/empty"
	turned_down "$kept/empty" ''
	turned_down /dev/null ''
}
