#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes each target for FUZZ_SECONDS with libFuzzer, AddressSanitizer and UBSan; 0 only replays the
# corpus. New inputs stay in build-fuzz/corpus/, so a finding reaches the repository only under a
# name that tells what it is.
# Usage: tools/fuzz.sh [TARGET...]
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

seconds=${FUZZ_SECONDS:-20}
build=${BUILD:-build}-fuzz
budget=("-max_total_time=$seconds")
# To libFuzzer, no seconds means for ever.
((seconds)) || budget=(-runs=0)

CC=clang build_dir_configure "$build" \
	-Dfuzz=true -Dtests=false -Dstatic_cli=false -Db_sanitize=address,undefined -Db_lundef=false
build_dir_make "$build" all

targets=("$@")
if ((!${#targets[@]})); then
	for source in tests/fuzz/fuzz_*.c; do
		target=${source##*/fuzz_}
		targets+=("${target%.c}")
	done
fi

passed=0 failed=0
for target in "${targets[@]}"; do
	mkdir -p "$build/corpus/$target" "$build/findings"
	dictionary=()
	[[ -f tests/fuzz/$target.dict ]] && dictionary=("-dict=tests/fuzz/$target.dict")
	echo "== fuzz_$target, $seconds s"
	if "$build/tests/fuzz/fuzz_$target" "${budget[@]}" -timeout=10 \
		-rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 "${dictionary[@]}" \
		-artifact_prefix="$build/findings/$target-" \
		"$build/corpus/$target" "tests/fuzz/corpus/$target"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "fuzz_$target failed; the input is in $build/findings/" >&2
	fi
done
echo "$passed passed, $failed failed"
((failed == 0))
