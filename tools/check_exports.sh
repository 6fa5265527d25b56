#!/bin/bash
# SPDX-License-Identifier: MIT
# The shared library exports exactly what its symbol file lists, and that is exactly what the public
# headers declare with KODA_API. libkoda-sandbox(3) names each of them, and each struct that may grow. The
# library calls nothing that would do to its host's process what it promises not to: fork it, end it, start
# threads in it, print, handle signals, move it elsewhere.
# Usage: tools/check_exports.sh LIBRARY.so
set -euo pipefail
export LC_ALL=C

library=$1
root=$(cd -- "$(dirname -- "$0")/.." && pwd)

listed() {
	# Names between "global:" and "local:", in every version node; comments are dropped.
	sed -e 's,/\*.*\*/,,; s/#.*//' "$root/src/libkoda-sandbox.sym" |
		awk '/global:/ { on = 1 } /local:|}/ { on = 0 } on' |
		grep -o 'koda_[a-z0-9_]*' | sort
}

exported() {
	# The version nodes themselves show up as absolute symbols ("A").
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

declared() {
	# Joined into one line, a declaration runs from KODA_API to the parenthesis after its name.
	cat "$root"/include/koda/*.h | grep -v '^#' | tr '\n\t' '  ' |
		grep -oE 'KODA_API [^;()]*\(' | grep -oE '[a-z0-9_]+ *\($' | tr -d ' (' | sort
}

# The page may break a line within a list of names, never within a name.
documented() {
	grep -oE '\*koda_[a-z0-9_]+\*\(\)' "$root/doc/man/libkoda-sandbox.3.scd" | tr -d '*()' | sort -u
}

# Structs whose first member is their size, and those that the page says may grow.
sized() {
	awk '/^struct koda_[a-z_]+ \{/ { name = $2; getline; if (/size_t size;/) print name }' \
		"$root"/include/koda/*.h | sort
}
growing() {
	sed -n '/^# COMPATIBILITY/,/^# ERRORS/p' "$root/doc/man/libkoda-sandbox.3.scd" |
		grep -oE 'struct koda_[a-z_]+' | cut -d ' ' -f 2 | sort -u
}

forbidden() {
	nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' |
		grep -xE '_?_?(v?fork|_Fork|clone|system|popen)|_*(exit|Exit|quick_exit)|pthread_create|thrd_create|(__)?v?(f|d)?printf(_chk)?|f?puts|perror|signal|sigaction|atexit|(set|put|unset|clear)env|f?chdir|umask'
}

status=0
compare() {
	if ! diff <(printf '%s\n' "$2") <(printf '%s\n' "$4") >/dev/null; then
		echo "$1 and $3 differ (< only $1, > only $3):"
		diff <(printf '%s\n' "$2") <(printf '%s\n' "$4") | grep '^[<>]'
		status=1
	fi
}

symbols=$(listed) || true
if [[ -z $symbols ]]; then
	echo "check_exports: the symbol file lists nothing"
	exit 1
fi
if calls=$(forbidden); then
	echo "the library calls what a library must not:" "$calls"
	status=1
fi
compare 'the symbol file' "$symbols" 'the library' "$(exported)"
compare 'the symbol file' "$symbols" 'the headers' "$(declared)"
compare 'the symbol file' "$symbols" 'libkoda-sandbox(3)' "$(documented)"
compare 'structs with a size' "$(sized)" 'COMPATIBILITY of libkoda-sandbox(3)' "$(growing)"
((status)) || echo 'check_exports: ok'
exit "$status"
