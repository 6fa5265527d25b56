#!/bin/bash
# SPDX-License-Identifier: MIT
# Removes what tools/install.sh put below PREFIX: the files on its list, and the directories that it
# made as far as they are empty. Needs no build directory.
# Usage: tools/uninstall.sh PREFIX DESTDIR
set -euo pipefail

if [[ $1 != /* ]]; then
	echo "uninstall: PREFIX must be an absolute path, not '$1'" >&2
	exit 1
fi
prefix=$(realpath -ms -- "$1")
destdir=${2:+$(realpath -m -- "$2")}
list=$destdir$prefix/share/koda-sandbox/installed-files

if [[ ! -f $list ]]; then
	echo "uninstall: nothing is installed below $destdir$prefix: there is no $list" >&2
	exit 1
fi
if [[ ! -w $(dirname -- "$list") ]]; then
	echo "uninstall: $destdir$prefix cannot be written; be root" >&2
	exit 1
fi

# In reverse order a directory comes after everything in it.
mapfile -t paths < <(LC_ALL=C sort -r -- "$list")
for path in "${paths[@]}"; do
	# Only names below PREFIX, and the directories that lead there.
	if [[ /$path/ == */../* || ($path != "$prefix"/* && $prefix/ != "$path"/*) ]]; then
		echo "uninstall: $list names '$path', which is not below $prefix; nothing was removed" >&2
		exit 1
	fi
done
removed=0
for path in "${paths[@]}"; do
	path=$destdir$path
	if [[ -d $path && ! -L $path ]]; then
		rmdir --ignore-fail-on-non-empty -- "$path"
	elif [[ -e $path || -L $path ]]; then
		rm -f -- "$path"
		removed=$((removed + 1))
	fi
done

# The cache of the linker names the library until it is made anew.
PATH+=:/usr/sbin:/sbin
[[ -n $destdir || $EUID -ne 0 ]] || ldconfig || true
echo "uninstall: $removed files removed below $destdir$prefix"
