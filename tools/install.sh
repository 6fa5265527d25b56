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
if [[ -f $build/build.ninja ]]; then
	meson configure "$build" "-Dprefix=$prefix" "-Dhelper_dir=$prefix/libexec/koda"
else
	meson setup "$build" -Dtests=false --strip "--prefix=$prefix" --libexecdir=libexec \
		"-Dhelper_dir=$prefix/libexec/koda"
fi
ninja -C "$build"
if [[ -n $destdir ]]; then
	destdir=$(realpath -m -- "$destdir")
	meson install -C "$build" --no-rebuild --destdir "$destdir"
else
	meson install -C "$build" --no-rebuild
fi
