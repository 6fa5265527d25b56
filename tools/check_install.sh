#!/bin/bash
# SPDX-License-Identifier: MIT
# Looks at an installation the way a user does: files in place, and a small program that finds the
# library through pkg-config and links it shared and static.
# Usage: tools/check_install.sh DESTDIR PREFIX
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")/.." && pwd)

root=$1$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

passed=0 failed=0
# check NAME COMMAND...
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

for file in bin/koda-sandbox include/koda/sandbox.h \
	share/man/man1/koda-sandbox.1 share/man/man1/koda-sandbox-policy.1 \
	share/man/man5/koda-sandbox-policy.5 share/man/man3/libkoda-sandbox.3 \
	share/bash-completion/completions/koda-sandbox share/zsh/site-functions/_koda-sandbox \
	share/fish/vendor_completions.d/koda-sandbox.fish; do
	# Manual pages may be compressed on installation.
	check "$file" test -s "$root/$file" -o -s "$root/$file.gz"
done

version=$(cat "$here/VERSION")
says_version() { "$root/bin/koda-sandbox" --version | grep -F "$version"; }
check 'koda-sandbox --version' says_version

pc=$(find "$root" -name koda-sandbox.pc | head -n 1)
libdir=$(dirname "$(dirname -- "$pc")")
check 'koda-sandbox.pc' test -n "$pc"

# Staged in DESTDIR, so the prefix inside the .pc file is not where the files are yet.
config() { PKG_CONFIG_PATH=$(dirname -- "$pc") pkg-config "--define-variable=prefix=$root" "$@"; }

# compile NAME PKG-CONFIG-ARGUMENT... -- COMPILER-ARGUMENT...
compile() {
	local name=$1 query=()
	shift
	while [[ $1 != -- ]]; do
		query+=("$1")
		shift
	done
	shift
	# shellcheck disable=SC2046 # pkg-config prints words
	cc -Wall -Wextra -Werror "$@" "$here/tests/install/consumer.c" -o "$work/$name" \
		$(config "${query[@]}" --cflags --libs koda-sandbox)
}
runs() { LD_LIBRARY_PATH=$libdir "$work/$1" | grep -F "koda-sandbox $version"; }

check 'pkg-config version' test "$(config --modversion koda-sandbox)" = "$version"
check 'compile shared' compile shared --
check 'run shared' runs shared
needs_soname() { readelf -d "$work/shared" | grep -F 'libkoda-sandbox.so.0'; }
check 'soname' needs_soname
check 'compile static' compile static --static -- -static
check 'run static' runs static

echo "$passed passed, $failed failed"
((failed == 0))
