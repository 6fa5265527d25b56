#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# --help, --version, and what happens when the words make no sense.

setup() {
	load helper
	new_project
}

commands=('' 'policy' 'policy show' 'policy compose' 'policy check' 'env' 'completion')

@test "every command has --help on standard output, at most 80 columns wide" {
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # the words of a command
		koda $command --help
		succeeds
		[[ $stdout == Usage:* ]]
		[[ $(wc -L <"$BATS_TEST_TMPDIR/out") -le 80 ]]
		[[ $stdout == *"Manual: man koda-sandbox"* ]]
	done
}

@test "-h is --help" {
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086
		koda $command --help
		succeeds
		long=$stdout
		# shellcheck disable=SC2086
		koda $command -h
		succeeds
		[[ $stdout == "$long" ]]
	done
}

@test "the program's help lists every command" {
	koda --help
	for command in "${commands[@]:2}"; do
		[[ $stdout == *"  $command "* ]]
	done
}

@test "--version prints the version of the tree" {
	koda --version
	answers 0 "koda-sandbox $(<"$KODA_SOURCE/VERSION")"
	koda -V
	answers 0 "koda-sandbox $(<"$KODA_SOURCE/VERSION")"
}

@test "every manual page is valid" {
	for page in "$KODA_SOURCE"/doc/man/*.scd; do
		scdoc <"$page" >"$BATS_TEST_TMPDIR/page"
		[[ -s $BATS_TEST_TMPDIR/page ]]
	done
}

@test "help as a word" {
	local name
	for name in '' run policy 'policy show'; do
		# shellcheck disable=SC2086 # the name may be two words
		koda $name --help
		succeeds
		local expected=$stdout
		# shellcheck disable=SC2086
		koda help $name
		succeeds
		[[ $stdout == "$expected" ]]
	done
	koda help rnu
	refuses "did you mean 'run'?"
	koda help run more
	refuses "run: unexpected argument 'more'"
}

@test "ports that connect does not take" {
	local port
	for port in 0 65536 99999 -1 http ''; do
		koda connect -- host.test "$port"
		refuses "port $port: must be 1 to 65535"
	done
}

@test "a missing command" {
	koda
	refuses "needs a command" "koda-sandbox --help"
	koda policy
	refuses "policy: needs a command" "koda-sandbox policy --help"
}

@test "an unknown command names its nearest match" {
	koda polcy
	refuses "'polcy'" "did you mean 'policy'? See 'koda-sandbox --help'"
	koda policy chekc
	refuses "policy: " "'chekc'" "did you mean 'check'"
	koda evn
	refuses "did you mean 'env'"
	koda completon bash
	refuses "did you mean 'completion'"
	koda check write file
	refuses "unknown command 'check': it is 'policy check'; see 'koda-sandbox --help'"
}

@test "an unknown command that resembles none" {
	koda xyzzy
	refuses "unknown command 'xyzzy'; see 'koda-sandbox --help'"
	[[ $stderr != *"did you mean"* ]]
	koda ruby # two of its four letters are those of run
	refuses "unknown command 'ruby'"
	[[ $stderr != *"did you mean"* ]]
	koda "$(printf 'x%.0s' {1..5000})"
	refuses "unknown command 'xxx" "koda-sandbox --help"
}

@test "command words are not joined or cut" {
	koda 'policy show'
	refuses "unknown command 'policy show'"
	koda ''
	refuses "unknown command ''"
	koda pol
	refuses "unknown command 'pol', did you mean 'policy'?"
}

@test "an unknown option names its nearest match and the help of its command" {
	koda policy show --trsut plan
	refuses "policy show: " "'--trsut'" "did you mean '--trust'" "koda-sandbox policy show --help"
	koda --verison
	refuses "did you mean '--version'"
	koda env --nul -c ls
	refuses "env: " "did you mean '--null'"
	koda run --memory lots -c true
	refuses "'lots' is not a size"
	koda run --wall 5 -c true
	refuses "run: " "'--wall'" "did you mean '--wall-time'"
	koda run --deny /etc -c true # several begin so
	refuses "run: " "'--deny'"
	[[ $stderr != *"did you mean"* ]]
	koda policy show -q
	refuses "policy show: unknown option '-q'"
	koda policy show "--$(printf 'x%.0s' {1..5000})"
	refuses "policy show: unknown option '--xxx" "koda-sandbox policy show --help"
}

@test "a shortened option is refused" {
	koda policy show --tru plan
	refuses "policy show: " "unknown option '--tru'"
	koda --vers
	refuses "unknown option '--vers'"
}

@test "options with and without arguments" {
	koda policy show --trust
	refuses "policy show: " "'--trust' needs an argument"
	koda policy show --read-only=yes
	refuses "policy show: " "'--read-only' takes no argument"
	koda --help=policy
	refuses "'--help' takes no argument"
	koda env -c
	refuses "env: " "'-c' needs an argument"
}

@test "operands that are missing or too many" {
	koda policy show extra
	refuses "policy show: " "'extra'"
	koda policy compose one.json
	refuses "policy compose: " "PARENT and CHILD"
	koda policy compose one.json two.json three.json
	refuses "policy compose: " "'three.json'"
	koda policy check read
	refuses "policy check: " "TARGET"
	koda policy check
	refuses "policy check: " "TARGET"
	koda policy check read /a /b
	refuses "policy check: " "'/b'"
	koda policy check read ''
	refuses "policy check: " "TARGET must not be empty"
	koda policy check raed /a
	refuses "policy check: " "did you mean 'read'"
	koda env
	refuses "env: " "-c COMMAND or a program"
	koda env -c ls ls
	refuses "env: " "not both"
	koda completion
	refuses "completion: " "bash, zsh or fish"
	koda completion fihs
	refuses "completion: " "did you mean 'fish'"
	koda completion bash zsh
	refuses "completion: " "'zsh'"
}

@test "what was typed cannot forge a line or drive a terminal" {
	koda $'evil\nkoda-sandbox: fine\e[2J'
	refuses '\x0a' '\x1b'
	koda policy show $'--tru\e]0;title\a=1'
	refuses 'policy show: ' '\x1b' '\x07'
	koda policy show $'-\e'
	refuses 'policy show: ' '\x1b'
}

@test "output that cannot be written is an error" {
	[[ -e /dev/full ]]
	for command in '--help' '--version' 'policy show' 'policy check read /' 'env ls' \
		'completion bash'; do
		status=0
		# shellcheck disable=SC2086
		"$KODA_BIN" $command >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
		[[ $status -eq 125 ]]
		[[ $(<"$BATS_TEST_TMPDIR/err") == "koda-sandbox: standard output: "* ]]
		status=0
		# shellcheck disable=SC2086
		"$KODA_BIN" $command >&- 2>"$BATS_TEST_TMPDIR/err" || status=$?
		[[ $status -eq 125 ]]
		[[ $(<"$BATS_TEST_TMPDIR/err") == "koda-sandbox: standard output: "* ]]
	done
}

@test "an error is an error even when nobody can be told" {
	status=0
	"$KODA_BIN" nonsense 2>&- || status=$?
	[[ $status -eq 125 ]]
	status=0
	"$KODA_BIN" nonsense 2>/dev/full || status=$?
	[[ $status -eq 125 ]]
}
