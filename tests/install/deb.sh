#!/bin/bash
# SPDX-License-Identifier: MIT
# Looks into the packages of `make deb`, installs them with dpkg in a test root, uses them there, and
# removes them again.
# Usage: tests/install/deb.sh DIRECTORY
set -euo pipefail
here=$(cd -- "$(dirname -- "$0")/../.." && pwd)
PATH+=:/usr/sbin:/sbin

debs=$(cd -- "$1" && pwd)
# shellcheck source=tests/install/check.bash
. "$here/tests/install/check.bash"
# Without package caches, whose copies would be kept in the user's own.
export HOME=$work
version=$(cat "$here/VERSION")
arch=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch)
names=(koda-sandbox libkoda-sandbox0 libkoda-sandbox-dev)

deb() { echo "$debs/$1_${version}_$arch.deb"; }
field() { dpkg-deb -f "$(deb "$1")" "$2"; }

has_control_data() {
	dpkg-deb -I "$(deb "$1")" && [[ $(field "$1" Package) == "$1" && $(field "$1" Version) == "$version" &&
		$(field "$1" Architecture) == "$arch" && -n $(field "$1" Description) && -n $(field "$1" Depends) ]]
}
# Files of root's only, which only root can write.
is_roots() { ! dpkg-deb -c "$(deb "$1")" | grep -Ev '^([-d]rw[-x]r-[-x]r-[-x]|lrwxrwxrwx) root/root '; }
files_match() {
	for name in "${names[@]}"; do
		echo "$name:"
		dpkg-deb --fsys-tarfile "$(deb "$name")" | tar -tf - | grep -v '/$' | LC_ALL=C sort
	done | sed "s,/$triplet/,/TRIPLET/," | diff "$here/tests/install/deb_files.txt" -
}
for name in "${names[@]}"; do
	check "control data of $name" has_control_data "$name"
	check "owner and modes of $name" is_roots "$name"
done
check 'files' files_match
check 'libraries of the egress proxy' grep -E 'libssl3.*libuv1' <<<"$(field koda-sandbox Depends)"
check 'the library needs the helpers' grep -F "koda-sandbox (= $version)" <<<"$(field libkoda-sandbox0 Depends)"

for name in "${names[@]}"; do
	check "unpack $name" dpkg-deb -x "$(deb "$name")" "$work/unpacked"
done
check 'installation' "$here/tools/check_install.sh" "$work/unpacked" /usr

# A root of its own, with a database that knows no package: dependencies are those of this machine.
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers" "$work/project"
touch "$root/var/lib/dpkg/status"
in_namespace() { unshare --user --map-root-user --mount "$@"; }
manage() { in_namespace dpkg --root="$root" --log=/dev/null --force-depends "$@"; }
intact() { [[ -z $(manage --verify) && $(manage -l | grep -c '^ii') == 3 ]]; }
check 'dpkg -i' manage -i "$(deb koda-sandbox)" "$(deb libkoda-sandbox0)" "$(deb libkoda-sandbox-dev)"
check 'dpkg --verify' intact

# used COMMAND: runs it where the packages' files are below the /usr of this machine.
used() {
	# shellcheck disable=SC2016 # for the inner shell
	(cd -- "$work/project" && in_namespace sh -euc 'mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr
		exec bash -euc "$2"' sh "$root" "$1")
}
check 'run' used '/usr/bin/koda-sandbox run -c "echo in >file && ! echo x 2>/dev/null >/usr/no && cat file" | grep -Fx in'
check 'egress proxy' used '/usr/bin/koda-sandbox run -c "curl -s http://example.org/" | grep -F not_listed'
check 'doctor' used '/usr/bin/koda-sandbox doctor'
check 'compile and run' used "cc '$here/tests/install/consumer.c' -o '$work/consumer' \$(pkg-config --cflags --libs koda-sandbox)
	'$work/consumer' | grep -F 'koda-sandbox $version'"
check 'dpkg -P' manage -P "${names[@]}"
check 'nothing is left' test -z "$(find "$root" ! -type d ! -path "$root/var/lib/dpkg/*")"

check_end
