#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds for PREFIX in a directory of its own and installs, below DESTDIR if that is not empty. Keeps
# a list of the files and of the directories it made, for tools/uninstall.sh.
# Usage: tools/install.sh PREFIX DESTDIR [BUILDDIR]
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

prefix=$1
destdir=$2
build=${3:-build-install}

if [[ $prefix != /* ]]; then
	echo "install: PREFIX must be an absolute path, not '$prefix'" >&2
	exit 1
fi
prefix=$(realpath -ms -- "$prefix")
if [[ -n $destdir ]]; then
	destdir=$(realpath -m -- "$destdir")
fi
top=$destdir$prefix
while [[ ! -e $top ]]; do
	top=$(dirname -- "$top")
done
if [[ ! -d $top || ! -w $top ]]; then
	echo "install: $top cannot be written; be root, or give another PREFIX or a DESTDIR" >&2
	exit 1
fi
where=("-Dprefix=$prefix" "-Dhelper_dir=$prefix/libexec/koda")
# meson asks dpkg-architecture for Debian's directory of libraries, and takes lib64 where that is
# not installed. Neither linker nor pkg-config look there.
if [[ -f /etc/debian_version ]] && triplet=$(gcc -print-multiarch) && [[ -n $triplet ]]; then
	where+=("-Dlibdir=lib/$triplet")
fi
if [[ -f $build/build.ninja ]]; then
	build_dir_check "$build"
	build_dir_quietly meson configure "$build" "${where[@]}"
else
	build_dir_configure "$build" -Dtests=false --strip --libexecdir=libexec "${where[@]}"
fi
build_dir_make "$build" product
build_dir_quietly env DESTDIR="$destdir" meson install -C "$build" --no-rebuild

# meson's log names files and directories that it made. An earlier installation made some of them,
# and may have had files that this one has not.
list=$destdir$prefix/share/koda-sandbox/installed-files
merged=$(mktemp)
trap 'rm -f -- "$merged"' EXIT
{
	grep -v '^#' "$build/meson-logs/install-log.txt" | while IFS= read -r path; do
		printf '%s\n' "${path#"$destdir"}"
	done
	echo "${list#"$destdir"}"
	[[ ! -f $list ]] || cat -- "$list"
} | grep -x '/.*' | sort -u >"$merged"
install -m 644 -- "$merged" "$list"

echo "install: $(grep -c . "$list") files and directories below $destdir$prefix; make uninstall removes them"
[[ -z $destdir ]] || exit 0

# The program needs no library. Programs that link to the library do, and the linker knows what its
# cache has.
PATH+=:/usr/sbin:/sbin
libdir=$(pkg-config --variable=libdir "$build/meson-private/koda-sandbox.pc")
((EUID != 0)) || ldconfig || true
if ! ldconfig -p | grep -F -- "=> $libdir/libkoda-sandbox.so.0" >/dev/null; then
	echo "install: $libdir is not searched for libraries; to build and run programs that use this one:"
	echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir"
fi
