#!/bin/bash
# SPDX-License-Identifier: MIT
# Is the AppArmor profile one that AppArmor takes, for the launcher and with user namespaces? Parsers
# before 4.0 know neither those nor the interface that has them; what they know of the rest they check.
# Usage: tools/check_apparmor.sh PROFILE
set -euo pipefail

profile=$1
lines=$(grep -cE '^profile koda-sandbox-stage2 "/[^"@]+/koda-sandbox-stage2" flags=\(unconfined\) \{$' "$profile") || true
if [[ $lines -ne 1 ]] || ! grep -qx '  userns,' "$profile" || [[ $(grep -c '[{}]$' "$profile") -ne 2 ]]; then
	echo "$profile: not a profile with user namespaces for the launcher"
	exit 1
fi
parser=$(command -v apparmor_parser || echo /sbin/apparmor_parser)
if [[ ! -x $parser ]]; then
	echo 'check_apparmor: ok, without a parser'
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
if [[ -e /etc/apparmor.d/abi/4.0 ]]; then
	cp -- "$profile" "$work/profile"
else
	sed -e '/^  userns,$/d' -e 's:abi/4\.0:abi/3.0:' "$profile" >"$work/profile"
fi
"$parser" --skip-kernel-load --skip-cache "$work/profile" 2>"$work/said" || {
	cat "$work/said"
	exit 1
}
echo 'check_apparmor: ok'
