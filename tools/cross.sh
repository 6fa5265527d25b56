#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds everything for another architecture, with warnings as errors, and runs the unit tests there
# under qemu-user. Closes with "N passed, N failed". The libraries are below BUILDDIR/sysroot.
# Usage: tools/cross.sh aarch64 BUILDDIR
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

machine=$1
build=$2
if [[ $(uname -m) == "$machine" ]]; then
	echo "cross: this machine is $machine itself: make test" >&2
	exit 1
fi
for tool in "$machine-linux-gnu-gcc" "qemu-$machine"; do
	if ! command -v "$tool" >/dev/null; then
		echo "cross: no $tool; tools/setup.sh $machine installs it on Debian" >&2
		exit 1
	fi
done

build_dir_check "$build"
tools/sysroot.sh "$machine" "$build/sysroot"
[[ -f $build/bin/koda-sandbox ]] || echo "cross: building for $machine into $build, a minute or two"
build_dir_configure "$build" -Dwerror=true \
	--cross-file "tools/cross/$machine.ini" --cross-file "$build/sysroot/cross.ini"
build_dir_make "$build" all
KODA_TEST_CANNOT_PASS=tests/cross/qemu_user.txt tools/test.sh "$build" --suite unit
