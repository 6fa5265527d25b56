#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout and stderr come from helper.bash
# koda-sandbox fs: one operation through the file worker, within the policy of a command.

load helper
load run_helper

setup() {
	new_project
}

# fs ARG...: koda-sandbox fs ARG... without anything to read.
fs() {
	koda fs "$@" </dev/null
}

# done_silently: the operation succeeded and printed nothing.
done_silently() {
	silent 0 && [[ ! -s $BATS_TEST_TMPDIR/out ]]
}

# answers_lines LINE...: the operation succeeded and printed these lines.
answers_lines() {
	[[ $stdout == "$(printf '%s\n' "$@")" ]] || {
		show_result
		return 1
	}
	silent 0
}

@test "write, read, edit: byte for byte, missing directories made" {
	printf 'a\0b\xff\r\n' >"$BATS_TEST_TMPDIR/bytes"
	koda fs write deep/er/file <"$BATS_TEST_TMPDIR/bytes"
	done_silently
	fs read deep/er/file
	silent 0
	cmp "$BATS_TEST_TMPDIR/bytes" "$BATS_TEST_TMPDIR/out"
	cmp "$BATS_TEST_TMPDIR/bytes" deep/er/file
	printf 'one\ntwo\none\n' >text
	fs edit text two 2
	done_silently
	fs edit text one 1
	says 1 "2 times"
	fs edit --all text one 1
	done_silently
	[[ $(<text) == $'1\n2\n1' ]]
	fs edit text none 1
	says 1 "not in the file"
	fs edit text '' 1
	says 1 "empty"
	[[ $(<text) == $'1\n2\n1' ]]
	fs --cwd deep read er/file
	cmp "$BATS_TEST_TMPDIR/bytes" "$BATS_TEST_TMPDIR/out"
}

@test "a large file passes in both directions" {
	head -c 5000001 /dev/urandom >"$BATS_TEST_TMPDIR/large"
	koda fs write large <"$BATS_TEST_TMPDIR/large"
	done_silently
	cmp "$BATS_TEST_TMPDIR/large" large
	fs read large
	cmp "$BATS_TEST_TMPDIR/large" "$BATS_TEST_TMPDIR/out"
}

@test "glob, grep, list, stat: sorted lines, or objects" {
	mkdir -p b/ignored
	printf 'x\thit\n' >b/2.c
	printf 'hit\n' >1.c
	printf 'hit\n' >b/ignored/3.c
	printf 'hit\n' >n.txt
	echo ignored >.gitignore
	fs glob '**/*.c'
	answers_lines 1.c b/2.c
	fs grep --include '*.c' h.t
	answers_lines 1.c:1:hit $'b/2.c:1:x\thit'
	fs grep --literal h.t
	done_silently
	fs --json grep --include '*.c' '^hit'
	answers 0 '{"path":"1.c","line":1,"text":"hit"}'
	fs list b
	answers_lines 2.c ignored/
	fs --json list b/ignored
	answers 0 '{"name":"3.c","type":"file"}'
	chmod 640 n.txt
	fs stat n.txt
	answers 0 "file 0640 4 $project/n.txt"
	ln -s n.txt link
	fs stat link
	[[ $stdout == "link "*" $project/link -> n.txt" ]]
	fs stat --follow link
	[[ $stdout == "file 0640 4 "* ]]
	fs grep '('
	says 1 "the pattern is wrong"
	fs grep --include "$(printf "{a,b}%.0s" {1..40})" x
	says 1 "the names to search: the braces"
}

@test "mkdir, rename, remove" {
	fs mkdir a/b
	says 1 "no such file"
	fs mkdir --parents a/b
	done_silently
	echo from >from
	echo to >to
	fs rename --new from to
	says 1 "exists"
	fs rename from to
	done_silently
	[[ $(<to) == from && ! -e from ]]
	fs remove a
	says 1 "not empty"
	fs remove --recursive a
	done_silently
	[[ ! -e a ]]
}

@test "names of every kind" {
	local name
	for name in $'new\nline' '%41' '-dash' $'\xff' "$(printf 'n%.0s' {1..255})" $'\u202ebidi'; do
		koda fs write -- "./$name" <<<1
		done_silently
		[[ $(<"./$name") == 1 ]]
		fs --json stat -- "./$name"
		[[ $status -eq 0 && $stdout == '{"path":'*'"type":"file"'* ]]
	done
	fs list .
	[[ $stdout == *'new\x0aline'* ]]
}

@test "what a command may not, fs may not" {
	echo secret >hidden
	fs --deny-read hidden read hidden
	says 1 "the policy refuses it (fs.deny_read)"
	fs --deny-read hidden grep secret
	done_silently
	fs --read-only write new
	says 1 "the policy refuses it"
	fs write /var/x
	says 1 "the policy refuses it"
	fs write .git/hooks/pre-commit
	says 1 "the policy refuses it"
	[[ ! -e .git && ! -e new ]]
	mkfifo fifo
	fs read fifo
	says 1 "not a regular file"
	ln -s hidden link
	fs write link
	says 1 "is a symbolic link"
	fs --deny-read hidden read link
	says 1 "the policy refuses it"
	[[ $(<hidden) == secret ]]
}

@test "symlink_escape_is_denied" {
	mkdir "$BATS_TEST_TMPDIR/outside"
	ln -s "$BATS_TEST_TMPDIR/outside" escape
	koda fs write escape/file <<<x
	says 1 "the policy refuses it"
	[[ ! -e $BATS_TEST_TMPDIR/outside/file ]]
	mkdir inside
	ln -s inside in
	koda fs write in/file <<<x
	done_silently
	[[ -e inside/file ]]
}

@test "a denial is a violation of the worker" {
	echo secret >hidden
	fs --deny-read hidden --events "$BATS_TEST_TMPDIR/events" read hidden
	[[ $status -eq 1 ]]
	grep -q '"type":"violation".*"kind":"file_read","target":"'"$project"'/hidden","rule":"fs.deny_read '"$project"'/hidden","source":"worker","command":"koda-fs-worker","call":"read"' "$BATS_TEST_TMPDIR/events"
}

@test "on every backend that works here" {
	local backend
	echo x >file
	for backend in native bwrap; do
		inside --backend "$backend" true
		[[ $status -eq 0 ]] || continue
		fs --backend "$backend" read file
		answers 0 x
	done
	fs --trust safe --yes --no-sandbox read file
	[[ $status -eq 0 && $stdout == x ]]
}

@test "without namespaces, files are written where a command may write them" {
	local landlock=(--backend landlock --trust safe --yes --accept missing_names --accept private_dirs
		--accept second_layer)
	mkdir dir
	echo old >dir/file
	chmod 640 dir/file
	koda run "${landlock[@]}" -- true
	[[ $status -eq 0 ]] || skip "the landlock backend: $stderr"
	koda fs "${landlock[@]}" write dir/file <<<new
	silent 0
	[[ $(<dir/file) == new && $(stat -c %a dir/file) == 640 ]]
	koda fs "${landlock[@]}" write dir/other <<<other
	silent 0
	[[ $(<dir/other) == other ]]
}

@test "wrong requests do nothing" {
	fs
	refuses "needs an operation"
	fs raed x
	refuses "did you mean 'read'"
	fs read
	refuses "PATH"
	fs read a b
	refuses "fs: "
	fs read --all a
	refuses "read does not take --all"
	fs list --include x a
	refuses "does not take --include"
	fs --trust plan read x
	says 1 "no such file"
}

@test "no variable names another worker" {
	printf '#!/bin/sh\ntouch %s/ran\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/other"
	chmod +x "$BATS_TEST_TMPDIR/other"
	"$BATS_TEST_TMPDIR/other"
	[[ -e $BATS_TEST_TMPDIR/ran ]]
	rm "$BATS_TEST_TMPDIR/ran"
	echo x >file
	KODA_FS_WORKER_BIN=$BATS_TEST_TMPDIR/other fs read file
	answers 0 x
	[[ ! -e $BATS_TEST_TMPDIR/ran ]]
	if grep -rl KODA_FS_WORKER_BIN "$KODA_SOURCE/src" "$KODA_SOURCE/cli" "$KODA_SOURCE/libexec"; then
		false
	fi
}
