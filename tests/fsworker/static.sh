#!/bin/bash
# SPDX-License-Identifier: MIT
# The file worker is one file: it has no interpreter and needs no library, and nothing of jansson,
# libseccomp, OpenSSL or libuv is in it. PCRE2 is.
# Usage: static.sh WORKER OTHER; OTHER is a program that needs libraries.
set -euo pipefail

worker=$1 other=$2
fail() {
	echo "static: $*" >&2
	exit 1
}

readelf --dynamic "$other" | grep -qF '(NEEDED)' || fail "readelf tells nothing of $other"
if readelf --dynamic "$worker" | grep -F '(NEEDED)'; then
	fail 'the worker needs libraries'
fi
if readelf --program-headers "$worker" | grep -w INTERP; then
	fail 'the worker has an interpreter'
fi
strings -a "$worker" >"${TMPDIR:-/tmp}/koda-static.$$"
trap 'rm -f -- "${TMPDIR:-/tmp}/koda-static.$$"' EXIT
grep -q pcre2 "${TMPDIR:-/tmp}/koda-static.$$" || fail 'PCRE2 is not in it'
if grep -E '^(json_load|seccomp_|SSL_|uv_)' "${TMPDIR:-/tmp}/koda-static.$$"; then
	fail 'more than libc and PCRE2 is in it'
fi
