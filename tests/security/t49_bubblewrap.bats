#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:none,backend:native
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154,SC2317 # project comes from helper.bash; shells inside expand
# T-49: bubblewrap, which makes the namespaces where we may not, is not bubblewrap, or does not do what it
# was told, or cannot hold what was asked for. And T-48: the fallback, and nothing below its end.

setup() {
	load helper
	new_project
	: "${KODA_WITHOUT:?set KODA_WITHOUT to tests/security/without}" "${KODA_WEAKEN_BWRAP:?}"
	cp -- "$KODA_WITHOUT" "$BATS_TEST_TMPDIR/without"
	[[ -x /usr/bin/bwrap ]] || lacking bubblewrap
	answer=
	lack=()
}

teardown() {
	end_background
}

# attempt OPTION...: a command that leaves a file behind; its status is in status, the backend that
# the start event names in backend.
attempt() {
	rm -f ran
	status=0
	"${lack[@]}" "$KODA_BIN" run --wall-time 30 --yes --events "$BATS_TEST_TMPDIR/events" "$@" \
		-c 'echo in; touch ran 2>/dev/null; :' \
		</dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	backend=$(sed -n 's/.*"type":"start".*"backend":"\([a-z]*\)".*/\1/p' "$BATS_TEST_TMPDIR/events" | tail -1)
	rm -f "$BATS_TEST_TMPDIR/events"
}

# did_not_run TEXT...: it did not run, and one line says why.
did_not_run() {
	local text
	if [[ $status -ne 125 || -s $BATS_TEST_TMPDIR/out || -e ran ||
		$(wc -l <"$BATS_TEST_TMPDIR/err") -ne 1 ]]; then
		explain 'it ran'
		return 1
	fi
	for text in "$@"; do
		grep -qF -- "$text" "$BATS_TEST_TMPDIR/err" || explain "not said: $text" || return
	done
	no_litter ./file
}

# did_run BACKEND
did_run() {
	[[ $status -eq 0 && $(<"$BATS_TEST_TMPDIR/out") == in && $backend == "$1" ]] ||
		explain "it did not run in $1, but in ${backend:-none}"
}

# Only bubblewrap may make namespaces, as AppArmor has it on some distributions.
only_bubblewrap() {
	lack=("$BATS_TEST_TMPDIR/without" own-namespaces)
}

# among PROGRAM COMMAND...: where PROGRAM is /usr/bin/bwrap. Needs root: in a namespace of its own an
# ordinary user owns nothing that counts as root's.
among() {
	unshare --mount --propagation private sh -c \
		'mount --bind "$1" /usr/bin/bwrap && shift && exec "$@"' sh "$@"
}

@test "twin: it is chosen by name, and not otherwise" {
	attempt
	did_run native
	attempt --backend bwrap
	did_run bwrap
	attempt --backend native
	did_run native
}

# bats test_tags=needs:user
@test "fallback: bubblewrap where only that may" {
	only_bubblewrap
	for trust in plan safe auto; do
		attempt --trust "$trust"
		did_run bwrap
	done
	attempt --backend native
	did_not_run 'user namespaces, which hold files, processes and network'
}

# bats test_tags=needs:root
@test "root's devices cannot be closed then, and nothing runs" {
	only_bubblewrap
	attempt
	did_not_run 'user namespaces'
	attempt --backend bwrap
	did_not_run /dev/null
}

@test "a program of that name in PATH, in the project or at home is never run" {
	mkdir -p "$HOME/bin" "$HOME/.local/bin" bin
	for dir in "$HOME/bin" "$HOME/.local/bin" "$project/bin" "$project"; do
		printf '#!/bin/sh\ntouch %q\nexec /usr/bin/bwrap "$@"\n' "$BATS_TEST_TMPDIR/planted" >"$dir/bwrap"
		chmod 755 "$dir/bwrap"
	done
	export PATH=$project:$project/bin:$HOME/bin:$HOME/.local/bin:$PATH
	attempt --backend bwrap
	did_run bwrap
	is_root || only_bubblewrap
	attempt --backend auto
	[[ $status -eq 0 ]]
	"${lack[@]}" "$KODA_BIN" doctor >/dev/null || true
	[[ ! -e $BATS_TEST_TMPDIR/planted ]]
	# Twin: somebody who looks there would find it.
	bwrap --version
	[[ -e $BATS_TEST_TMPDIR/planted ]]
}

# bats test_tags=needs:root
@test "one that is not root's alone is not run" {
	cp /usr/bin/bwrap "$elsewhere/bwrap"
	chmod 755 "$elsewhere/bwrap"
	lack=(among "$elsewhere/bwrap")
	attempt --backend bwrap
	did_run bwrap
	chmod 775 "$elsewhere/bwrap"
	attempt --backend bwrap
	did_not_run "bubblewrap is not a program that only root can change" package
	chmod 755 "$elsewhere/bwrap"
	chown 65534 "$elsewhere/bwrap"
	attempt --backend bwrap
	did_not_run "bubblewrap is not a program that only root can change"
}

# bats test_tags=needs:root
@test "one that fails, is none or is too old is said in one line" {
	cp /bin/false "$elsewhere/false"
	printf '#!/bin/sh\necho "bwrap: Unknown option --size" >&2\nexit 1\n' >"$elsewhere/script"
	chmod 755 "$elsewhere/script"
	lack=(among "$elsewhere/false")
	attempt --backend bwrap
	did_not_run 'bubblewrap cannot make the sandbox'
	lack=(among "$elsewhere/script")
	attempt --backend bwrap
	did_not_run bubblewrap
	attempt
	did_run native
}

# bats test_tags=needs:root
@test "without any, the fallback ends, and doctor says what to install" {
	mount -t tmpfs none "$elsewhere" || lacking 'a mount'
	mkdir "$elsewhere/up" "$elsewhere/work"
	mknod "$elsewhere/up/bwrap" c 0 0
	missing() {
		unshare --mount --propagation private sh -c '
			mount -t overlay -o "lowerdir=/usr/bin,upperdir=$1/up,workdir=$1/work" none /usr/bin &&
			shift && exec "$@"' sh "$elsewhere" "$@"
	}
	lack=(missing)
	attempt --backend bwrap
	did_not_run 'bubblewrap is not installed' 'install the package'
	run missing "$KODA_BIN" doctor
	umount "$elsewhere"
	[[ $output == *$'\nbwrap: does not work:'*'install the package bubblewrap'* ]]
}

@test "a link in a protected place is more than it can hold: auto refuses, the others ask" {
	mkdir conf
	ln -s conf .vscode
	attempt --backend bwrap
	[[ $status -eq 125 && ! -e ran ]]
	grep -q 'link_names: ' "$BATS_TEST_TMPDIR/err"
	attempt --backend bwrap --trust safe
	[[ $status -eq 125 && ! -e ran ]]
	grep -q -- '--accept link_names' "$BATS_TEST_TMPDIR/err"
	attempt --backend bwrap --trust safe --accept link_names
	did_run bwrap
	attempt
	did_run native
	if ! is_root; then
		only_bubblewrap
		attempt
		[[ $status -eq 125 && ! -e ran ]]
		grep -q 'link_names: .*; native: ' "$BATS_TEST_TMPDIR/err"
	fi
}

@test "the refusal names the link" {
	echo 'use' >real
	ln -s real .envrc
	attempt --backend bwrap
	[[ $status -eq 125 && ! -e ran ]]
	grep -qF 'link_names: .envrc: a protected name is a link' "$BATS_TEST_TMPDIR/err"
	ln -s real .mcp.json
	attempt --backend bwrap
	[[ $status -eq 125 && ! -e ran ]]
	grep -q 'link_names: .* (and 1 more): a protected name is a link' "$BATS_TEST_TMPDIR/err"
	rm .envrc .mcp.json
	attempt --backend bwrap
	[[ $status -eq 0 && -e ran ]]
}

@test "no user namespaces: by a filter, by a limit" {
	lack=("$BATS_TEST_TMPDIR/without" user-namespaces)
	attempt
	did_not_run 'user namespaces: nothing ran' 'files, processes and network' 'seccomp profile'
	none_allowed() {
		unshare --user --map-root-user sh -c \
			'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$@"
	}
	lack=(none_allowed)
	attempt
	did_not_run 'user namespaces: nothing ran' 'sysctl user.max_user_namespaces'
	attempt --backend bwrap
	did_not_run bubblewrap
	# Twin: the same namespace without the limit.
	lack=(unshare --user --map-root-user)
	attempt
	did_run native
}

@test "no Landlock: bubblewrap does not stand in for it" {
	lack=("$BATS_TEST_TMPDIR/without" landlock)
	for choice in auto bwrap; do
		attempt --backend "$choice"
		did_not_run Landlock 'second layer' CONFIG_SECURITY_LANDLOCK
	done
	attempt --backend bwrap --trust safe --accept second_layer
	did_not_run Landlock
}

@test "a container that masks /proc" {
	contained() {
		unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c \
			'mount -t tmpfs none /proc/fs && exec "$@"' sh "$@"
	}
	lack=(contained)
	attempt
	did_not_run 'user namespaces: nothing ran' /proc
	contained() {
		unshare --user --map-root-user --mount --pid --fork --mount-proc "$@"
	}
	attempt
	did_run native
}

# bats test_tags=needs:user
@test "T-34: no descriptor leaves a view that cannot be locked" {
	only_bubblewrap
	mkdir -p sub/.git/hooks
	for place in own sub/own "$project/sub/.git/own"; do
		run "${lack[@]}" "$KODA_BIN" run python3 -c \
			'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$place"
		[[ $status -eq 1 && $output == *PermissionError* ]] || { echo "$output"; false; }
	done
	# In what is the command's own, they can be made.
	run "${lack[@]}" "$KODA_BIN" run python3 -c \
		'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' /tmp/own
	[[ $status -eq 0 ]]
	# A project below /tmp, which is the command's own otherwise.
	below=$(mktemp -d /tmp/koda-t49.XXXXXX)
	run "${lack[@]}" "$KODA_BIN" run --root "$below" python3 -c \
		'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' own
	rmdir "$below"
	[[ $status -eq 1 && $output == *PermissionError* ]] || { echo "$output"; false; }
	# Twin: in a view that is locked it can be done in the project as well.
	lack=()
	run "$KODA_BIN" run --backend bwrap python3 -c \
		'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' own
	[[ $status -eq 0 ]]
}

@test "whatever bubblewrap leaves out or does by halves is noticed" {
	mkdir -p hidden veiled/a/hole closed .git/hooks nested/.git/hooks "$HOME/.cache"
	echo secret >secret
	run "$KODA_WEAKEN_BWRAP" "$project" "$HOME"
	[[ $status -eq 0 && $output == *' 0 not noticed' ]] || { echo "$output"; false; }
	if ! is_root; then
		only_bubblewrap
		mkdir -p "$HOME/hidden" "$HOME/veiled/a/hole"
		echo secret >"$HOME/secret"
		run "${lack[@]}" "$KODA_WEAKEN_BWRAP" "$project" "$HOME" open
		[[ $status -eq 0 && $output == *' 0 not noticed' ]] || { echo "$output"; false; }
	fi
}

@test "what bubblewrap has to say is not the command's to say, nor its descriptors to have" {
	run "$KODA_BIN" run --backend bwrap -- ls /proc/self/fd
	[[ ${#lines[@]} -eq 4 ]] || { echo "$output"; false; } # 0 to 2, and the listing
	run "$KODA_BIN" run --backend bwrap -- sh -c 'readlink /proc/self/fd/2; env'
	[[ $output != *memfd* && $output != *bwrap* ]]
}

# As the first process of a container, that collects nobody but its own.
@test "nobody is left to be collected by others" {
	local reaper='
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL)
try:
    print("left", os.waitpid(-1, 0))
except ChildProcessError:
    print("nobody")'
	[[ $(python3 -c "$reaper" sh -c 'sleep 0.2 &') == left* ]] # the twin
	[[ $(python3 -c "$reaper" "$KODA_BIN" run --backend bwrap true) == nobody ]]
	[[ $(python3 -c "$reaper" "$KODA_BIN" run --backend bwrap --wall-time 1 \
		-c 'setsid sleep 600 & sleep 600' 2>/dev/null) == nobody ]]
	if [[ $EUID -ne 0 ]]; then
		only_bubblewrap
		[[ $(python3 -c "$reaper" "${lack[@]}" "$KODA_BIN" run true) == nobody ]]
	fi
}

@test "the end of the runner is the end of everything, and of the placeholders" {
	"$KODA_BIN" run --backend bwrap --wall-time 60 -- sh -c 'sleep 60 & echo up >up; sleep 60' \
		</dev/null >/dev/null 2>&1 3>&- &
	runner=$!
	wait_for up
	[[ -e .envrc ]]
	kill -KILL "$runner"
	wait "$runner" || true
	rm -f up
	eventually no_litter ./file >/dev/null || no_litter ./file
}

# exchange A B: two names change places, again and again, while $BATS_TEST_TMPDIR/go is there.
exchange() {
	touch "$BATS_TEST_TMPDIR/go"
	python3 - "$1" "$2" "$BATS_TEST_TMPDIR/go" <<-'END' 3>&- &
		import ctypes, os, sys, time
		libc = ctypes.CDLL(None)
		a, b = (os.fsencode(name) for name in sys.argv[1:3])
		for turn in range(60000):
		    if not os.path.exists(sys.argv[3]):
		        break
		    libc.renameat2(-100, a, -100, b, 2)
		    time.sleep(0.0005 * (1 + turn % 5))
	END
	exchanger=$!
}

# run_meanwhile OPTION...: thirty runs; each runs or refuses, and none makes anything at $HOME/made.
run_meanwhile() {
	for ((i = 0; i < 30; i++)); do
		status=0
		"$KODA_BIN" run --backend bwrap --wall-time 30 --yes "$@" true </dev/null >/dev/null \
			2>"$BATS_TEST_TMPDIR/err" || status=$?
		[[ $status -eq 0 || $status -eq 125 ]] || explain "it ended with $status" || break
		[[ ! -e $HOME/made ]] || explain 'a file was made outside' || break
	done
	rm "$BATS_TEST_TMPDIR/go"
	wait "$exchanger"
	[[ $i -eq 30 ]]
}

@test "a path that another changes meanwhile: nothing is made where it leads" {
	mkdir sub
	echo secret >sub/s
	ln -s "/oldroot$HOME/made" sub/l
	exchange sub/s sub/l
	run_meanwhile --deny-read "$project/sub/s"
	# The same for a file that is only not to be written.
	exchange sub/s sub/l
	run_meanwhile --deny-write "$project/sub/s"
	# Twin: where nobody does, what is hidden is hidden, and what is closed is closed.
	rm -rf sub
	mkdir sub
	echo secret >sub/s
	run "$KODA_BIN" run --backend bwrap --deny-read "$project/sub/s" cat sub/s
	[[ $status -ne 0 && $output != *secret* ]]
	run "$KODA_BIN" run --backend bwrap --deny-write "$project/sub/s" sh -c 'cat sub/s; echo >sub/s'
	[[ $status -ne 0 && $output == secret* && $(<sub/s) == secret ]]
	run "$KODA_BIN" run --backend bwrap sh -c 'cat sub/s; echo new >sub/s'
	[[ $status -eq 0 && $output == secret && $(<sub/s) == new ]]
	[[ ! -e $HOME/made ]]
}

@test "bubblewrap itself would: it follows the link and makes the file" {
	ln -s "/oldroot$HOME/made" l
	bwrap --bind / / --ro-bind-data 9 "$project/l" true 9</dev/null || true
	[[ -e $HOME/made ]]
	rm "$HOME/made"
}

# bats test_tags=needs:user
@test "where the launcher may not mount, nothing is hidden in the project, and that is said" {
	only_bubblewrap
	attempt --backend bwrap --deny-read "$project/file"
	did_not_run 'bubblewrap cannot safely hide a file in a writable tree' "$project/file"
	# Twin: outside the project it is.
	echo contents >"$HOME/secret"
	run "${lack[@]}" "$KODA_BIN" run --backend bwrap cat "$HOME/secret"
	[[ $status -eq 0 && $output == contents ]]
	run "${lack[@]}" "$KODA_BIN" run --backend bwrap --deny-read "$HOME/secret" cat "$HOME/secret"
	[[ $status -eq 1 && $output != *contents* ]]
}
