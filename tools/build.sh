#!/bin/bash
# SPDX-License-Identifier: MIT
# Configures BUILDDIR if it is not yet, and builds the product there, or with "all" the tests too.
# Usage: tools/build.sh BUILDDIR product|all [MESON-SETUP-ARGUMENT...]
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/.."
. tools/build_dir.bash

build=$1
target=$2
shift 2
tests=false
[[ $target == product ]] || tests=true

build_dir_check "$build"
[[ -f $build/bin/koda-sandbox ]] || echo "build: $target into $build, a minute or two"
build_dir_configure "$build" "-Dtests=$tests" "$@"
if [[ $tests == true ]]; then
	build_dir_want_tests "$build"
fi
build_dir_make "$build" "$target"
