#!/bin/bash
# SPDX-License-Identifier: MIT
# `make run` in a copy of the tree, as after a clone: builds the product only and says little. Then
# the copy is moved, and made read-only.
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")/../.." && pwd)

# shellcheck source=tests/install/check.bash
. "$here/tests/install/check.bash"
tree="$work/with space"
mkdir -- "$tree"
tar -C "$here" -cf - --exclude=./.git --exclude=./build --exclude='./build-*' . | tar -xf - -C "$tree"
front() { make --no-print-directory -C "$tree" "$@"; }

runs() { front run >"$work/said" 2>&1 || { cat "$work/said"; false; }; }
# As a program reads it: a terminal shows the progress of ninja.
says_little() {
	sed '/^A project in /,$d' "$work/said"
	grep '^A project in ' "$work/said" && (($(sed '/^A project in /,$d' "$work/said" | wc -l) <= 5))
}
builds_no_tests() {
	[[ ! -e $tree/build/tests ]] && ! ninja -C "$tree/build" -t commands product | grep -E 'tests/|cmocka'
}
check 'make run' runs
check 'make run says little' says_little
check 'make run builds no tests' builds_no_tests
check 'make run a second time' runs
says_nothing() { front build >"$work/said" 2>&1 && cat "$work/said" && [[ ! -s $work/said ]]; }
check 'make build has nothing to do' says_nothing

# one_line TEXT COMMAND...: it fails, with one line (and that of make) that has the text.
one_line() {
	local text=$1
	shift
	! "$@" >"$work/said" 2>&1 && cat "$work/said" && grep -F -- "$text" "$work/said" &&
		(($(grep -vc '^make: ' "$work/said") == 1))
}
mv -- "$tree" "$work/moved"
tree=$work/moved
check 'moved checkout' one_line "was configured for $work/with space" front build
check 'moved checkout, make run' one_line 'make clean' front run
check 'make clean' front clean
check 'make clean removes it' test ! -e "$tree/build"

# A mount is read-only to root as well.
read_only() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --user --map-root-user --mount sh -euc 'mount --bind "$1" "$1"
		mount -o remount,bind,ro "$1"; shift; exec make --no-print-directory "$@"' sh "$tree" -C "$tree" "$@"
}
for target in build run test install deb; do
	check "make $target in a read-only tree" one_line "$tree cannot be written" read_only "$target" PREFIX="$work/prefix"
done
check 'read-only tree, BUILD elsewhere' read_only build BUILD="$work/else where"
check 'the program is there' test -x "$work/else where/bin/koda-sandbox"

check_end
