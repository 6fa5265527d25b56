#!/bin/bash
# SPDX-License-Identifier: MIT
# Every header compiles on its own, and every .c file compiles without the force-included banned.h,
# whose own includes would hide a missing one. Public headers also have to be C11 and C++.
# Usage: tools/check_standalone.sh [INCLUDE-DIRECTORY...]   (for generated headers)
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."

flags=(-fsyntax-only -Wall -Wextra -Werror -Iinclude -Isrc)
gnu=(-std=gnu17 -D_GNU_SOURCE -DKODA_VERSION='""' -DKODA_HELPER_DIR='""' -DKODA_PROFILE_DIR='""')
for dir in "$@"; do
	flags+=("-I$dir")
done

status=0
try() {
	local what=$1
	shift
	"$@" || {
		echo "$what does not stand alone"
		status=1
	}
}

while read -r header; do
	name=${header#include/}
	try "$header" gcc -std=c11 -x c -pedantic "${flags[@]}" - <<<"#include <$name>"
	try "$header" clang++ -std=c++17 -x c++ -pedantic "${flags[@]}" - <<<"#include <$name>"
done < <(find include -name '*.h' | sort)

while read -r header; do
	try "$header" gcc "${gnu[@]}" "${flags[@]}" -x c - <<<"#include \"${header#src/}\""
done < <(find src -name '*.h' | sort)

# A program of libexec names its own headers from its own folder.
while read -r header; do
	program=${header#libexec/}
	program=libexec/${program%%/*}
	try "$header" gcc "${gnu[@]}" "${flags[@]}" "-I$program" -x c - <<<"#include \"${header#"$program"/}\""
done < <(find libexec -name '*.h' | sort)

while read -r source; do
	program=${source#libexec/}
	try "$source" gcc "${gnu[@]}" "${flags[@]}" "-Ilibexec/${program%%/*}" "$source"
done < <(find libexec -name '*.c' | sort)

while read -r source; do
	try "$source" gcc "${gnu[@]}" "${flags[@]}" "$source"
done < <(find src cli -name '*.c' | sort)

((status)) || echo 'check_standalone: ok'
exit "$status"
