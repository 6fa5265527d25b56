# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Counts the checks of a script. The one that sources it has "check_end" as its last line, and a
# directory for its files in $work, which is removed at the end.

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
passed=0 failed=0

# check NAME COMMAND...: shows the output of a command that fails.
check() {
	local name=$1
	shift
	if "$@" >"$work/output" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		cat "$work/output"
	fi
}

check_end() {
	echo "$passed passed, $failed failed"
	((failed == 0))
}
