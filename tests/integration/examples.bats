#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2030,SC2031 # status and output come from run, in each test its own
# The programs of libkoda-sandbox(3), of README.md and of examples/, compiled against the library that
# was built, and run: as the user who runs the tests and, if that is root, as an ordinary user.

setup() {
	load helper
	work=$(mktemp -d "${TMPDIR:-/tmp}/koda-examples.XXXXXX")
	project=$work/project
	mkdir "$work/home" "$project"
	chmod 755 "$work"
	export HOME=$work/home KODA_SANDBOX=$KODA_BIN
	cd -- "$project" || return
}

teardown() {
	rm -rf -- "$work"
}

# compile SOURCE NAME
compile() {
	local sanitizers=()
	# A library with AddressSanitizer needs its runtime in the program.
	! grep -aq __asan_init "$KODA_LIBDIR/libkoda-sandbox.so" ||
		sanitizers=(-fsanitize=address -fsanitize=undefined)
	cc -std=c11 -Wall -Wextra -Werror "${sanitizers[@]}" -I"$KODA_SOURCE/include" "$1" -o "$work/$2" \
		-L"$KODA_LIBDIR" -lkoda-sandbox -Wl,-rpath,"$KODA_LIBDIR"
}

# each_user FUNCTION ARG...: calls it with become, the words before a program, set for each user.
each_user() {
	become=()
	# A command of root's cannot write where another user owns the files.
	chown -R "$EUID" "$work"
	"$@" || return
	if [[ $EUID -eq 0 ]]; then
		become=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
		rm -rf -- "${project:?}"/*
		chown -R 65534:65534 "$work"
		"${become[@]}" test -x "$KODA_LIBDIR" || return 0 # a tree that is closed to others
		"$@"
	fi
}

prints_expected() {
	"${become[@]}" "$work/$1" >"$work/got" && diff "$work/$1.expected" "$work/got"
}

# compiles_all PAGE NUMBER: that many programs, each compiled and run.
compiles_all() {
	local source name count=0
	python3 "$BATS_TEST_DIRNAME/man_programs.py" "$1" "$work"
	for source in "$work"/*.c; do
		name=$(basename -- "$source" .c)
		compile "$source" "$name"
		each_user prints_expected "$name"
		count=$((count + 1))
	done
	[[ $count -eq $2 ]]
}

@test "libkoda-sandbox(3): every program prints what the page says" {
	compiles_all "$KODA_SOURCE/doc/man/libkoda-sandbox.3.scd" 7
}

@test "README.md: the program prints what its comment says" {
	compiles_all "$KODA_SOURCE/README.md" 1
}

runs_one() {
	run "${become[@]}" "$work/run" 'echo inside; exit 7'
	[[ $status -eq 7 && $output == *inside* && $output == *'exited with 7 after 7 bytes of output'* ]]
}

@test "examples/run.c: the command's status and output" {
	compile "$KODA_SOURCE/examples/run.c" run
	each_user runs_one
}

answers_apart() {
	[[ $("${become[@]}" "$work/descriptor" 'echo loud; echo quiet >&3' 2>/dev/null) == 'answer: quiet' ]]
}

@test "examples/descriptor.c: the answer does not mix with the output" {
	compile "$KODA_SOURCE/examples/descriptor.c" descriptor
	each_user answers_apart
}

# tells_all PROGRAM...: three commands at once; one is denied a write.
tells_all() {
	run "${become[@]}" "$@" 'echo one' 'touch /usr/no' 'exit 3'
	echo "$output"
	[[ $status -eq 0 && $output == *one* && $output == *'deny file-write* /usr/no'* ]]
	[[ $output == *'[3] exited'*3* && ! -e /usr/no ]]
}

refuses_unapproved() {
	run "${become[@]}" "$work/agent" 'echo x >made'
	[[ $status -eq 125 && $output == *'an approval is required'* && ! -e made ]]
}

# The command says that it runs, and only then the signal comes.
cancels() {
	local agent
	rm -f made
	"${become[@]}" "$work/agent" -y 'echo x >made; sleep 60' >"$work/got" 3>&- &
	agent=$!
	until [[ -s made ]]; do
		kill -0 "$agent" || return
		sleep 0.05
	done
	kill -INT "$agent"
	wait "$agent"
	grep -Fx '[1] cancelled' "$work/got"
}

@test "examples/agent.c: several commands, approvals, violations, cancellation" {
	[[ $(wc -l <"$KODA_SOURCE/examples/agent.c") -lt 200 ]]
	compile "$KODA_SOURCE/examples/agent.c" agent
	each_user tells_all "$work/agent" -y
	each_user refuses_unapproved
	each_user cancels
}

@test "examples/agent.py: several commands over the command line" {
	[[ $(wc -l <"$KODA_SOURCE/examples/agent.py") -lt 30 ]]
	each_user tells_all /usr/bin/python3 "$KODA_SOURCE/examples/agent.py"
}

@test "examples/agent.mjs: several commands over the command line" {
	[[ $(wc -l <"$KODA_SOURCE/examples/agent.mjs") -lt 30 ]]
	each_user tells_all /usr/bin/node "$KODA_SOURCE/examples/agent.mjs"
}
