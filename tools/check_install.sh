#!/bin/bash
# SPDX-License-Identifier: MIT
# Looks at an installation the way a user does: files in place, and a small program that finds the
# library through pkg-config and links it shared and static.
# Usage: tools/check_install.sh DESTDIR PREFIX
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")/.." && pwd)

root=$1$2
# shellcheck source=tests/install/check.bash
. "$here/tests/install/check.bash"
# Without package caches, whose copies would be kept in the user's own.
export HOME=$work

for file in bin/koda-sandbox include/koda/koda.h \
	share/man/man1/koda-sandbox.1 share/man/man1/koda-sandbox-policy.1 \
	share/man/man5/koda-sandbox-policy.5 share/man/man3/libkoda-sandbox.3 \
	share/bash-completion/completions/koda-sandbox share/zsh/site-functions/_koda-sandbox \
	share/fish/vendor_completions.d/koda-sandbox.fish \
	share/koda-sandbox/apparmor.d/koda-sandbox-stage2; do
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

# compile NAME SOURCE PKG-CONFIG-ARGUMENT... -- COMPILER-ARGUMENT...
compile() {
	local name=$1 source=$2 query=()
	shift 2
	while [[ $1 != -- ]]; do
		query+=("$1")
		shift
	done
	shift
	# shellcheck disable=SC2046 # pkg-config prints words
	cc -Wall -Wextra -Werror "$@" "$here/$source" -o "$work/$name" \
		$(config "${query[@]}" --cflags --libs koda-sandbox)
}
runs() { LD_LIBRARY_PATH=$libdir "$work/$1" | grep -F "koda-sandbox $version"; }

check 'pkg-config version' test "$(config --modversion koda-sandbox)" = "$version"
check 'compile shared' compile shared tests/install/consumer.c --
check 'run shared' runs shared
needs_soname() { readelf -d "$work/shared" | grep -F 'libkoda-sandbox.so.0'; }
check 'soname' needs_soname
check 'compile static' compile static tests/install/consumer.c --static -- -static
check 'run static' runs static

# The example starts the launcher where it is installed, which is not where it is staged: it is
# mounted there, in a mount namespace of its own.
runs_example() {
	local answer
	mkdir -p "$work/project"
	# shellcheck disable=SC2016 # for the inner shell
	answer=$(cd "$work/project" && LD_LIBRARY_PATH=$libdir unshare --user --map-root-user --mount \
		sh -euc 'mount --bind "$1/libexec" "$2/libexec"; exec "$3" "echo inside; echo x >file
			if echo x 2>/dev/null >/usr/no; then exit 1; fi; exit 7"' \
		sh "$root" "$2" "$work/$1" 2>"$work/said") && return 1
	cat "$work/said"
	[[ $answer == inside && -s $work/project/file ]] && grep -Fx \
		'exited with 7 after 7 bytes of output' "$work/said"
}
check 'compile the example' compile example examples/run.c -- -std=c11
check 'compile the example static' compile example_static examples/run.c --static -- -static
check 'run the example' runs_example example "$2"
check 'run the example static' runs_example example_static "$2"

runs_answer() {
	local answer
	# shellcheck disable=SC2016 # for the inner shell
	answer=$(cd "$work/project" && LD_LIBRARY_PATH=$libdir unshare --user --map-root-user --mount \
		sh -euc 'mount --bind "$1/libexec" "$2/libexec"; exec "$3" "echo loud; echo quiet >&3"' \
		sh "$root" "$1" "$work/answer" 2>"$work/said")
	[[ $answer == 'answer: quiet' ]] && grep -Fx loud "$work/said"
}
check 'compile the example of descriptors' compile answer examples/descriptor.c -- -std=c11
check 'run the example of descriptors' runs_answer "$2"

check_end
