#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs and uninstalls below a directory of its own: nothing of the installation stays, and
# nothing else goes.
# Usage: tests/install/uninstall.sh PREFIX
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "$0")/../.."

prefix=$1
# shellcheck source=tests/install/check.bash
. tests/install/check.bash
root="$work/a root"
list=$root$prefix/share/koda-sandbox/installed-files
front() { make --no-print-directory "$@" PREFIX="$prefix" DESTDIR="$root"; }
listing() { (cd -- "$root" && find . | LC_ALL=C sort); }
# Every file, and every directory but DESTDIR itself, which was there.
lists_all() { diff <(listing | sed -n 's,^\./,/,p') "$list"; }
is_as_before() { diff "$work/before" <(listing); }
fails_saying() { ! front uninstall >"$work/said" 2>&1 && cat "$work/said" && grep -F -- "$1" "$work/said"; }

mkdir -- "$root"
listing >"$work/before"
check 'nothing to uninstall' fails_saying 'nothing is installed below'
check 'install' front install
check 'everything is on the list' lists_all
check 'uninstall' front uninstall
check 'nothing is left' is_as_before

# Directories with foreign files, an installation over another, and a file that went by itself.
mkdir -p -- "$root$prefix/share/man/man1" "$root$prefix/bin"
touch -- "$root$prefix/share/man/man1/other.1"
listing >"$work/before"
check 'install beside others' front install
check 'install once more' front install
rm -f -- "$root$prefix/bin/koda-sandbox"
touch -- "$root$prefix/share/koda-sandbox/foreign"
check 'uninstall the second time' front uninstall
check 'a foreign file stays' rm -- "$root$prefix/share/koda-sandbox/foreign"
check 'its directory stays' rmdir -- "$root$prefix/share/koda-sandbox"
check 'foreign files and directories stay' is_as_before

# A list with names of others is no list.
mkdir -p -- "$(dirname -- "$list")"
for path in /etc/passwd "$prefix/../passwd" relative; do
	touch -- "$root$prefix/bin/koda-sandbox"
	printf '%s\n' "$prefix/bin/koda-sandbox" "$path" >"$list"
	check "a list with $path" fails_saying 'nothing was removed'
	check "a list with $path removes nothing" test -e "$root$prefix/bin/koda-sandbox"
done

check_end
