#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a bats file in a directory of its own that the sandbox does not cover with a private one.
# Usage: run.sh as-is|as-user FILE. "as-user" gives up root first; for an ordinary user it has
# nothing to add and says so.
#
# Needs KODA_BIN, KODA_PROBE and KODA_HELPER; KODA_TEST_BASE may name the directory to work below.
# With KODA_TEST_MUST_RUN=1 nothing is skipped: what cannot be tried fails.
set -euo pipefail

as=$1 file=$2
nobody=65534
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

skip_all() {
	if [[ ${KODA_TEST_MUST_RUN-} == 1 ]]; then
		printf '1..1\nnot ok 1 - %s\n' "$1"
	else
		printf '1..0 # SKIP %s\n' "$1"
	fi
	exit 0
}

if [[ $as == as-user ]] && ((EUID != 0)); then
	printf '1..0 # SKIP this is an ordinary user already\n'
	exit 0
fi

base=
for dir in "${KODA_TEST_BASE-}" /srv /opt /var/lib "${HOME-}" "$PWD"; do
	case $(realpath -q -- "${dir:-/tmp}" || echo /tmp)/ in
	/tmp/* | /var/tmp/* | /run/* | /dev/* | /proc/*) continue ;;
	esac
	base=$(mktemp -d -- "$dir/koda-security.XXXXXX" 2>/dev/null) && break
	base=
done
[[ $base ]] || skip_all 'no directory to work in outside /tmp: set KODA_TEST_BASE'
# What a test made unreadable must go, too.
trap 'chmod -R u+rwX -- "$base" 2>/dev/null || true; rm -rf -- "$base"' EXIT
cp -- "$KODA_PROBE" "$base/probe"
chmod 755 "$base" "$base/probe"
export KODA_PROBE=$base/probe TMPDIR=$base HOME=$base
unset BATS_TMPDIR BATS_RUN_TMPDIR XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR

become=()
if [[ $as == as-user ]]; then
	become=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups --)
	chown -- "$nobody:$nobody" "$base"
	for program in "$KODA_BIN" "$KODA_HELPER" "$file"; do
		"${become[@]}" test -r "$program" -a -x "$(dirname -- "$program")" ||
			skip_all "an ordinary user cannot reach $program"
	done
fi
CDPATH='' cd -- "$base"
status=0
"${become[@]}" bats --formatter tap "$file" || status=$?
exit "$status"
