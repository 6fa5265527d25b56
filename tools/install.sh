#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds for PREFIX in a directory of its own and installs, below DESTDIR if that is not empty.
# Usage: tools/install.sh PREFIX DESTDIR
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."

prefix=$1
destdir=$2
build='build-install'

if [[ $prefix != /* ]]; then
	echo "install: PREFIX must be an absolute path, not '$prefix'" >&2
	exit 1
fi
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
if [[ -f $build/build.ninja ]]; then
	meson configure "$build" "-Dprefix=$prefix" "-Dhelper_dir=$prefix/libexec/koda"
else
	meson setup "$build" -Dtests=false --strip "--prefix=$prefix" --libexecdir=libexec \
		"-Dhelper_dir=$prefix/libexec/koda"
fi
ninja -C "$build"
if [[ -n $destdir ]]; then
	meson install -C "$build" --no-rebuild --destdir "$destdir"
	exit 0
fi
meson install -C "$build" --no-rebuild

# The program needs no library. Whoever links to ours does, and the linker knows what its cache has.
PATH+=:/usr/sbin:/sbin
libdir=$(pkg-config --variable=libdir "$build/meson-private/koda-sandbox.pc")
((EUID != 0)) || ldconfig || true
if ! ldconfig -p | grep -F -- "=> $libdir/libkoda-sandbox.so.0" >/dev/null; then
	echo "install: $libdir is not searched for libraries; to build and run programs that use this one:"
	echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir"
fi
