# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Functions about build directories, for the scripts beside it. Their working directory is the
# source tree.

# build_dir_check DIR: fails with one line that says what to do, if DIR cannot be built in: it was
# configured for another place, or cannot be written.
build_dir_check() {
	local dir=$1 top=$1 info=$1/meson-info/meson-info.json moved
	if [[ -f $dir/build.ninja && -f $info ]]; then
		moved=$(python3 -c '
import json, os, sys
places = json.load(open(sys.argv[1], encoding="utf-8"))["directories"]
for place, here in (places["source"], "."), (places["build"], sys.argv[2]):
    if os.path.realpath(place) != os.path.realpath(here):
        print(place)
        break
' "$info" "$dir") || moved='another place'
		if [[ -n $moved ]]; then
			echo "build: $dir was configured for $moved, and paths are fixed in it; remove it (make clean), then try again" >&2
			return 1
		fi
	fi
	while [[ ! -e $top ]]; do
		top=$(dirname -- "$top")
	done
	if [[ ! -d $top || ! -w $top ]]; then
		echo "build: $(realpath -- "$top") cannot be written; name a build directory elsewhere: make BUILD=/tmp/koda-build ..." >&2
		return 1
	fi
}

# build_dir_quietly COMMAND...: shows the command's output only if it fails.
build_dir_quietly() {
	local said
	if ! said=$("$@" 2>&1); then
		printf '%s\n' "$said" >&2
		return 1
	fi
}

# build_dir_configure DIR MESON-ARGUMENT...: runs `meson setup` unless DIR is configured already.
build_dir_configure() {
	local dir=$1
	shift
	build_dir_check "$dir" || return
	[[ -f $dir/build.ninja ]] || build_dir_quietly meson setup "$dir" "$@"
}

# build_dir_want_tests DIR: turns the tests on in a directory that was configured without them.
build_dir_want_tests() {
	local options=$1/meson-info/intro-buildoptions.json
	if python3 -c '
import json, sys
options = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(not any(o["name"] == "tests" and o["value"] is False for o in options))
' "$options"; then
		build_dir_quietly meson configure "$1" -Dtests=true
	fi
}

# build_dir_make DIR TARGET: builds. On a terminal ninja shows one line of progress, elsewhere only
# output of the compilers.
build_dir_make() {
	# A changed meson.build or option configures anew, which prints a screenful.
	build_dir_quietly ninja -C "$1" build.ninja || return
	if [[ -t 1 ]]; then
		ninja -C "$1" "$2"
	else
		ninja -C "$1" --quiet "$2" | sed '/^ninja: no work to do\.$/d'
		return "${PIPESTATUS[0]}"
	fi
}
