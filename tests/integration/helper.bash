# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests of the command line. KODA_BIN is the program under test; each test gets a
# home and a project of its own.

: "${KODA_BIN:?set KODA_BIN to the program under test}"
KODA_SOURCE=${KODA_SOURCE:-$(cd -- "$BATS_TEST_DIRNAME/../.." && pwd)}

new_project() {
	HOME=$BATS_TEST_TMPDIR/home
	project=$BATS_TEST_TMPDIR/project
	unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
	export HOME
	mkdir -p -- "$HOME" "$project/src"
	cd -- "$project" || return
	project=$(pwd -P) # rules are about resolved paths
}

# slurp VARIABLE FILE: the file up to a NUL, without final newlines; no fork, for speed.
slurp() {
	local -n slurped=$1
	IFS= read -r -d '' slurped <"$2" || true
	while [[ $slurped == *$'\n' ]]; do
		slurped=${slurped%$'\n'}
	done
}

# koda ARG...: runs the program. Afterwards: status, stdout and stderr without final newlines, and
# the exact bytes in $BATS_TEST_TMPDIR/out and err.
koda() {
	status=0 stdout='' stderr=''
	"$KODA_BIN" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

show_result() {
	printf 'exit %s\nstdout: %s\nstderr: %s\n' "$status" "$stdout" "$stderr"
}

# line_count FILE NUMBER: the file has so many lines, the last one complete.
line_count() {
	local -a lines
	mapfile lines <"$1"
	[[ ${#lines[@]} -eq $2 && ${lines[-1]} == *$'\n' ]]
}

# The run succeeded, printed something, and was silent on standard error.
succeeds() {
	if [[ $status -ne 0 || ! -s $BATS_TEST_TMPDIR/out || -s $BATS_TEST_TMPDIR/err ]]; then
		show_result
		return 1
	fi
}

# The run ended with a status and printed exactly one line.
answers() {
	if [[ $status -ne $1 || $stdout != "$2" || -s $BATS_TEST_TMPDIR/err ]] ||
		! line_count "$BATS_TEST_TMPDIR/out" 1; then
		show_result
		echo "expected exit $1: $2"
		return 1
	fi
}

# The run was refused: exit 125, nothing on standard output, one line without control bytes on
# standard error that begins with the program's name and contains each of the texts.
refuses() {
	local text
	if [[ $status -ne 125 || -s $BATS_TEST_TMPDIR/out || $stderr != koda-sandbox:\ * ]] ||
		[[ $stderr == *[[:cntrl:]]* ]] || ! line_count "$BATS_TEST_TMPDIR/err" 1; then
		show_result
		return 1
	fi
	for text in "$@"; do
		if [[ $stderr != *"$text"* ]]; then
			show_result
			echo "expected in it: $text"
			return 1
		fi
	done
}

# json EXPRESSION: a Python expression over d, the JSON document on standard output.
json() {
	python3 -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    d = json.load(file)
value = eval(sys.argv[2])
sys.stdout.reconfigure(encoding="utf-8") # whatever the locale
print(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))' "$BATS_TEST_TMPDIR/out" "$1"
}

# json_is EXPRESSION VALUE
json_is() {
	local found
	found=$(json "$1") || return
	if [[ $found != "$2" ]]; then
		printf '%s is %s, expected %s\n' "$1" "$found" "$2"
		return 1
	fi
}

# The pages that --help and the completions are made from.
manual_pages() {
	printf '%s\n' "$KODA_SOURCE"/doc/man/*.1.scd
}
