#!/bin/bash
# SPDX-License-Identifier: MIT
# Formatters, static analysers and the project's own gates. Runs all of them, shows the output of
# those that fail, and closes with "N passed, N failed".
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

build=${BUILD:-build}-clang
jobs=$(nproc)
output=$(mktemp)
trap 'rm -f -- "$output"' EXIT
passed=0 failed=0

# step NAME COMMAND...
step() {
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$output" 2>&1; then
		passed=$((passed + 1))
		printf '  ok    %-14s %3d s\n' "$name" $((SECONDS - start))
	else
		failed=$((failed + 1))
		printf '  FAIL  %-14s %3d s\n' "$name" $((SECONDS - start))
		sed 's/^/        /' "$output"
	fi
}

mapfile -t c_files < <(find include src libexec cli tests examples -name '*.[ch]' 2>/dev/null | sort)
mapfile -t product < <(find src libexec cli -name '*.c' 2>/dev/null | sort)
mapfile -t shell_files < <(find .ci tools tests -name '*.sh' -o -name '*.bash' -o -path .ci/run |
	sort)
mapfile -t bats_files < <(find tests -name '*.bats' | sort)

# clang warns about other things than gcc; the analysers need its compile commands anyway.
clang_build() {
	CC=clang build_dir_configure "$build" -Dwerror=true || return
	ninja -C "$build"
}

tidy() {
	printf '%s\0' "${product[@]}" |
		xargs -0 -n 1 -P "$jobs" clang-tidy -p "$build" --quiet
}

check_c() {
	cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr \
		--suppress=memleak --suppress=resourceLeak --suppress=readdirCalled --suppress=missingIncludeSystem \
		--library=posix,gnu --error-exitcode=1 -j "$jobs" -D_GNU_SOURCE -D__x86_64__ '-DKODA_VERSION=""' '-DKODA_HELPER_DIR=""' '-DKODA_PROFILE_DIR=""' \
		-I include -I src -I libexec/stage2 -I libexec/egress -I "$build/cli" -I "$build/src" "${product[@]}"
}

check_shell() {
	shellcheck "${shell_files[@]}" || return
	# SC2154: what a test reads, its helper has set, and shellcheck does not follow "load".
	((!${#bats_files[@]})) || shellcheck --exclude=SC2154 "${bats_files[@]}"
}

spelling() {
	codespell --ignore-words tools/codespell_ignore.txt --skip './.git,./build,./build-*,*/corpus/*' .
}

step 'clang -Werror' clang_build
step clang-format clang-format --dry-run -Werror "${c_files[@]}"
step clang-tidy tidy
step cppcheck check_c
step shellcheck check_shell
step codespell spelling
for gate in clauses layers sizes parse_sites prose threats wired words; do
	step "$gate" python3 "tools/check_$gate.py"
done
step calls python3 tools/check_calls.py "$build"
step portable python3 tools/check_portable.py "$build/src"
step apparmor tools/check_apparmor.sh "$build/data/koda-sandbox-stage2"
step exports tools/check_exports.sh "$build/src/libkoda-sandbox.so"
step standalone tools/check_standalone.sh "$build/cli" "$build/src"
step banned tools/check_banned.sh

echo "$passed passed, $failed failed"
((failed == 0))
