#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the tests of a build directory and closes with "N passed, N failed", counted over single
# test cases. Turns the tests on where only the product was built. Further arguments go to `meson
# test`. KODA_TEST_CANNOT_PASS may name a file of cases that cannot pass here, see test_summary.py.
# Usage: tools/test.sh BUILDDIR [MESON-TEST-ARGUMENT...]
set -euo pipefail

here=$(dirname -- "$0")
build=$1
shift
# shellcheck source=tools/build_dir.bash
. "$here/build_dir.bash"
build_dir_want_tests "$build"

log=$build/meson-logs/testlog.json
rm -f -- "$log"
status=0
# Most tests wait half of their time, for a deadline or for the kernel to remove namespaces, so there are
# twice as many as processors, and one. Signals as after a login: what nohup or a service has ignored
# would stay so, and the tests send it.
env --default-signal meson test -C "$build" --print-errorlogs \
	--num-processes $((2 * $(nproc) + 1)) "$@" || status=$?

# The summary knows better than meson what failed, but not whether meson itself was killed.
"$here/test_summary.py" "$log" ${KODA_TEST_CANNOT_PASS:+"$KODA_TEST_CANNOT_PASS"} || exit 1
((status < 126))
