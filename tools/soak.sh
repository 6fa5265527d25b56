#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs agent loops of SOAK_COMMANDS commands through the library, on four threads and eight at once
# in one event loop, built with AddressSanitizer and UBSan, and again with ThreadSanitizer.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

tests=(use step)
passed=0 failed=0
export KODA_SOAK_COMMANDS=${SOAK_COMMANDS:-500}

# soak NAME SANITIZERS
soak() {
	local build=${BUILD:-build}-$1 test start
	build_dir_configure "$build" -Dtests=true -Dstatic_cli=false "-Db_sanitize=$2"
	ninja -C "$build" --quiet product "${tests[@]/#/tests/unit/test_command_}"
	for test in "${tests[@]}"; do
		start=$SECONDS
		if "$build/tests/unit/test_command_$test"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
		echo "$test, $KODA_SOAK_COMMANDS commands, $2: $((SECONDS - start)) s"
	done
}

soak asan address,undefined
soak tsan thread
echo "$passed passed, $failed failed"
((failed == 0))
