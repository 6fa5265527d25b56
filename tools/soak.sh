#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs agent loops of SOAK_COMMANDS commands through the library, on four threads and eight at once
# in one event loop, built with AddressSanitizer and UBSan, and again with ThreadSanitizer. The file
# worker does SOAK_FILE_OPERATIONS operations while names are exchanged, and passes a file of 1 GiB.
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

# soak_fsworker TEST VARIABLE VALUE
soak_fsworker() {
	local build=${BUILD:-build} start=$SECONDS
	build_dir_configure "$build"
	build_dir_want_tests "$build"
	ninja -C "$build" --quiet bin/koda-fs-worker "tests/fsworker/test_fsworker_$1"
	if env "$2=$3" KODA_FS_WORKER="$(realpath -- "$build/bin/koda-fs-worker")" "$build/tests/fsworker/test_fsworker_$1"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	echo "fsworker $1, $3: $((SECONDS - start)) s"
}

soak_fsworker race KODA_FSWORKER_OPS "${SOAK_FILE_OPERATIONS:-100000}"
soak_fsworker space KODA_FSWORKER_MIB 1024
soak asan address,undefined
soak tsan thread
echo "$passed passed, $failed failed"
((failed == 0))
