# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the attempts. Each has the act inside the sandbox, where it must be refused, and its
# twin, the same act where it is allowed, so that a broken probe cannot pass.
#
#   box=(--deny-read X)   options of the sandbox
#   refused ACT ARG...    inside; must be refused. The errno's name is left in $answer.
#   allowed ACT ARG...    inside; must succeed
#   outside ACT ARG...    without a sandbox; must succeed

: "${KODA_BIN:?set KODA_BIN to the program under test}"
: "${KODA_PROBE:?set KODA_PROBE to the probe}"

box=()
policy=/dev/null
background=()

new_project() {
	HOME=$BATS_TEST_TMPDIR/home
	project=$HOME/project
	elsewhere=$BATS_TEST_TMPDIR/elsewhere
	export HOME
	mkdir -p -- "$project" "$elsewhere"
	cd -- "$project" || return
	echo here >file
	echo there >"$elsewhere/file"
}

# Ends what the test started, by number.
end_background() {
	local pid
	for pid in "${background[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	background=()
}

# lacking WHAT: skips, or fails where everything must run.
lacking() {
	if [[ ${KODA_TEST_MUST_RUN-} == 1 ]]; then
		echo "cannot be tried here: $1"
		return 1
	fi
	skip "$1"
}

# run_box COMMAND...: in the sandbox. Descriptor 9 is the policy, for --policy-fd 9.
run_box() {
	"$KODA_BIN" run --wall-time 120 "${box[@]}" -- "$@" 9<"$policy"
}

# policy_where STATEMENT: the sandbox gets what trust auto gives, changed by Python over d.
policy_where() {
	policy=$BATS_TEST_TMPDIR/policy.json
	"$KODA_BIN" policy show | python3 -c '
import json, sys
d = json.load(sys.stdin)
exec(sys.argv[1])
json.dump(d, sys.stdout)' "$1" >"$policy"
	box=(--policy-fd 9)
}

inside() {
	status=0
	answer=$(run_box "$KODA_PROBE" "$@" 2>"$BATS_TEST_TMPDIR/err") || status=$?
}

explain() {
	printf '%s: exit %s, answer: %s\n' "$*" "$status" "$answer"
	sed 's/^/  /' "$BATS_TEST_TMPDIR/err"
	return 1
}

refused() {
	inside "$@"
	[[ $status -eq 1 && ${answer##*$'\n'} =~ ^E[A-Z0-9]+$ ]] || explain "not refused: $*"
}

# refused_with ERRNO ACT ARG...
refused_with() {
	local errno=$1
	shift
	refused "$@" || return
	[[ ${answer##*$'\n'} =~ ^($errno)$ ]] || explain "refused, but not with $errno: $*"
}

allowed() {
	inside "$@"
	[[ $status -eq 0 ]] || explain "not allowed: $*"
}

outside() {
	status=0
	: >"$BATS_TEST_TMPDIR/err"
	answer=$("$KODA_PROBE" "$@" 2>&1) || status=$?
	[[ $status -eq 0 ]] || explain "the twin failed: $*"
}

# each_inside: "ACT<tab>ARG..." lines from standard input, tried in one sandbox; the answers are in
# the array answers, the acts in acts.
each_inside() {
	mapfile -t acts
	status=0
	printf '%s\n' "${acts[@]}" >"$BATS_TEST_TMPDIR/acts"
	run_box "$KODA_PROBE" each <"$BATS_TEST_TMPDIR/acts" \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	mapfile -t answers <"$BATS_TEST_TMPDIR/out"
	answer="${answers[*]}"
	[[ ${#answers[@]} -eq ${#acts[@]} && $status -le 1 ]] || explain 'not every act was tried'
}

# Every act of standard input is refused inside, in one sandbox.
refused_each() {
	local i
	each_inside || return
	for i in "${!acts[@]}"; do
		[[ ${answers[i]} =~ ^E[A-Z0-9]+$ ]] ||
			explain "not refused: ${acts[i]//$'\t'/ }: ${answers[i]}" || return
	done
}

# Every act of standard input succeeds without a sandbox.
outside_each() {
	local -a words
	while IFS=$'\t' read -r -a words; do
		outside "${words[@]}" || return
	done
}

is_root() {
	((EUID == 0))
}

# listen_unix PATH...: a process outside that listens there until the test ends.
listen_unix() {
	python3 -c '
import os, socket, sys, time
kept = []
for path in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0" + path[1:] if path.startswith("@") else path)
    s.listen(8)
    kept.append(s)
open(sys.argv[1], "w").close()
time.sleep(60)' "$BATS_TEST_TMPDIR/listening" "$@" 3>&- &
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/listening"
}

# eventually COMMAND...: it succeeds within thirty seconds.
eventually() {
	local end=$((SECONDS + 30))
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.02
	done
}

wait_for() {
	eventually test -e "$1" && return
	echo "$1 did not appear"
	return 1
}

# Nothing of ours is left in the project.
no_litter() {
	local left
	left=$(cd -- "$project" && find . -mindepth 1 | LC_ALL=C sort)
	if [[ $left != "$1" ]]; then
		printf 'left in the project:\n%s\nexpected:\n%s\n' "$left" "$1"
		return 1
	fi
}

# opened COMMAND...: root's, in a mount namespace in which every user reaches the test's directory and the
# programs, also if they lie below a directory that is closed to others.
# shellcheck disable=SC2016 # the shell inside expands it
opened() {
	unshare --mount --propagation private bash -ec '
		# Prints the topmost directory on the way to $1 that others cannot search.
		closed() {
			local dir=$1 top=
			while [[ $dir != / ]]; do
				(($(stat -c %a -- "$dir") % 2)) || top=$dir
				dir=$(dirname -- "$dir")
			done
			printf %s "$top"
		}
		files=$1 programs=$2
		shift 2
		exec 5<"$files" 6<"$programs"
		above_files=$(closed "$files") above_programs=$(closed "$programs")
		[[ ! $above_files ]] || mount -t tmpfs -o mode=755 none "$above_files"
		[[ ! $above_programs || $above_programs == "$above_files" ]] ||
			mount -t tmpfs -o mode=755 none "$above_programs"
		mask=$(umask)
		umask 022
		if [[ $above_files ]]; then
			mkdir -p -- "$files"
			mount --no-canonicalize --bind /proc/self/fd/5 "$files"
		fi
		if [[ $above_programs ]]; then
			mkdir -p -- "$programs"
			for file in /proc/self/fd/6/koda-*; do
				[[ ! -f $file ]] || install -m 755 -- "$file" "$programs"
			done
		fi
		umask "$mask"
		exec 5<&- 6<&-
		cd -- "$PWD"
		exec "$@"' bash "$TMPDIR" "$(dirname -- "$(realpath -- "$KODA_PROGRAM")")" "$@"
}
