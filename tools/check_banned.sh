#!/bin/bash
# SPDX-License-Identifier: MIT
# banned.h does what it says under both compilers: every name in it is refused when called, also
# from a static inline function and with fortified libc headers, and nothing else is in the way.
set -euo pipefail
export LC_ALL=C
CDPATH='' cd -- "$(dirname -- "$0")/.."

flags=(-std=gnu17 -D_GNU_SOURCE -O2 -D_FORTIFY_SOURCE=3 -fsyntax-only -x c
	-include src/base/banned.h)
mapfile -t names < <(sed -n 's/^#undef //p' src/base/banned.h)

calls=''
for name in "${names[@]}"; do
	calls+="static inline void use_$name(void) { (void)$name(); }"$'\n'
done

# Headers of every kind after the bans, and the spelling that stays legal.
harmless='
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
struct table { int access; int (*exit)(int); };
static int ok(const struct table *t) { char b[8]; return snprintf(b, sizeof(b), "%d", t->access); }
int main(void) { struct table t = { 0 }; return ok(&t) == 0; }
'

status=0
for compiler in gcc clang; do
	# clang stops after 20 errors unless told otherwise; gcc does not know the option.
	limit=()
	[[ $compiler == clang ]] && limit=(-ferror-limit=0)
	refused=$("$compiler" "${flags[@]}" "${limit[@]}" - <<<"$calls" 2>&1) || true
	for name in "${names[@]}"; do
		if [[ $refused != *"\"$name() is banned: "* ]]; then
			echo "$compiler: $name() is not refused"
			status=1
		fi
	done
	if ! "$compiler" "${flags[@]}" -Wall -Wextra -Werror - <<<"$harmless"; then
		echo "$compiler: banned.h breaks harmless code"
		status=1
	fi
done
((status)) || echo "check_banned: ok, ${#names[@]} names"
exit "$status"
