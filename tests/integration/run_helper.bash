# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # project comes from helper.bash
# shellcheck disable=SC2034 # status, stdout and stderr are for the tests
# Shared by the tests of koda-sandbox run, on top of helper.bash.

# inside ARG...: koda-sandbox run ARG... without anything to read.
inside() {
	koda run "$@" </dev/null
}

# silent STATUS: the run ended so and left standard error alone.
silent() {
	if [[ $status -ne $1 || -s $BATS_TEST_TMPDIR/err ]]; then
		show_result
		echo "expected exit $1 and a silent standard error"
		return 1
	fi
}

# says STATUS TEXT...: the run ended so, with exactly one line of the runner's own on standard error.
says() {
	local expected=$1 text
	shift
	if [[ $status -ne $expected || $stderr != koda-sandbox:\ * || $stderr == *[[:cntrl:]]* ]] ||
		! line_count "$BATS_TEST_TMPDIR/err" 1; then
		show_result
		echo "expected exit $expected and one line"
		return 1
	fi
	for text in "$@"; do
		if [[ $stderr != *"$text"* ]]; then
			show_result
			echo "expected in it: $text"
			return 1
		fi
	done
}

# start ARG...: koda-sandbox run ARG... in the background; its number is in runner. The shell ignores
# the keyboard's signals for what it starts so; the runner would go on ignoring them.
start() {
	env --default-signal=INT,QUIT "$KODA_BIN" run "$@" </dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	runner=$!
}

# Waits for the runner and takes its result in, as koda does.
finish() {
	status=0 stdout='' stderr=''
	wait "$runner" || status=$?
	runner=
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# For teardown: a failed test must not leave its runner behind. The rest goes with it.
end_runner() {
	if [[ -n ${runner:-} ]]; then
		kill -KILL "$runner" 2>/dev/null || true
		wait "$runner" || true
	fi
}

# eventually COMMAND...: it succeeds within thirty seconds.
eventually() {
	local end=$((SECONDS + 30))
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.05
	done
}

appears() {
	eventually test -e "$1" && return
	echo "$1 did not appear"
	return 1
}

# family PID: the process and its descendants, as this machine numbers them; one a line, with the
# time each was started, because numbers are used again. Who ended and was not collected is left out.
family() {
	python3 -c '
import os, sys

def processes():
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except (OSError, ValueError):
            continue
        if name.isdigit() and words[0] not in (b"Z", b"X"):
            yield int(name), int(words[1]), words[19].decode()

table = {pid: (parent, start) for pid, parent, start in processes()}
wanted = {int(sys.argv[1])}
while True:
    more = {pid for pid, (parent, _) in table.items() if parent in wanted} - wanted
    if not more:
        break
    wanted |= more
for pid in sorted(wanted & table.keys()):
    print(pid, table[pid][1])' "$1"
}

# all_gone FILE: within thirty seconds nothing that family listed there runs any more.
all_gone() {
	python3 -c '
import sys, time

def runs(pid, start):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return words[0] not in (b"Z", b"X") and words[19].decode() == start

with open(sys.argv[1], encoding="ascii") as file:
    listed = [line.split() for line in file]
end = time.monotonic() + 30
while any(runs(*entry) for entry in listed) and time.monotonic() < end:
    time.sleep(0.02)
left = [pid for pid, start in listed if runs(pid, start)]
if left:
    print("still there:", *left)
sys.exit(bool(left))' "$1"
}

# The guardian is the one child of the runner.
guardian_of() {
	local children
	read -ra children <"/proc/$1/task/$1/children"
	[[ ${#children[@]} -eq 1 ]] && echo "${children[0]}"
}

# remember, unchanged: every name below the project with its kind, mode and size, .git included.
remember() {
	find "$project" -printf '%y %m %s %p\0' | sort -z >"$BATS_TEST_TMPDIR/before"
}

unchanged() {
	find "$project" -printf '%y %m %s %p\0' | sort -z >"$BATS_TEST_TMPDIR/after"
	cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || {
		diff <(tr '\0' '\n' <"$BATS_TEST_TMPDIR/before") \
			<(tr '\0' '\n' <"$BATS_TEST_TMPDIR/after")
		return 1
	}
}

# A git that reads no settings of this machine, for use on the host and inside.
git_identity() {
	export GIT_CONFIG_NOSYSTEM=1
	export GIT_AUTHOR_NAME='A U Thor' GIT_AUTHOR_EMAIL=author@example.org
	export GIT_COMMITTER_NAME='C O Mitter' GIT_COMMITTER_EMAIL=committer@example.org
}

# new_repository DIR: with one commit on the branch "main".
new_repository() {
	git -c init.defaultBranch=main init -q -- "$1"
	echo one >"$1/file"
	git -C "$1" add file
	git -C "$1" commit -q -m first
}
