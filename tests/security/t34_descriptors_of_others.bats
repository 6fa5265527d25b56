#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:write_protected,clause:hidden_reads
# shellcheck disable=SC2030,SC2031,SC2154 # project comes from helper.bash
# T-34: descriptors from another sandbox show what its view covered, once it is gone; a lock taken
# from inside keeps other sandboxes from starting or from tidying up.

setup() {
	load helper
	new_project
	git -c init.defaultBranch=main init -q .
	echo topsecret >"$elsewhere/secret"
	cat >giver.py <<-'PY'
		import array, os, socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		for i in range(600):
		    try:
		        s.connect("chan")
		        break
		    except OSError:
		        time.sleep(0.05)
		with open("view", "w") as f:
		    f.write(os.readlink("/proc/self/ns/mnt"))
		fds = array.array("i", [os.open(p, os.O_PATH | os.O_DIRECTORY) for p in (".", "/")])
		s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
		if sys.argv[1:] == ["stay"]:
		    s.recv(1)
	PY
	cat >taker.py <<-'PY'
		import array, os, socket, sys, time
		secret = sys.argv[1]
		s = socket.socket(socket.AF_UNIX)
		s.bind("chan")
		s.listen(1)
		s.settimeout(30)
		c, _ = s.accept()
		_, anc, _, _ = c.recvmsg(10, 1000)
		fds = array.array("i")
		fds.frombytes(anc[0][2])
		project, root = fds
		c.recv(1)  # it has ended
		while not os.path.exists("gone"):  # and its view, too
		    time.sleep(0.02)
		os.unlink("chan")

		def attempt(name, act):
		    try:
		        print(name, "done", act())
		    except OSError as e:
		        print(name, "refused", e.errno)

		def write(path):
		    os.write(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755, dir_fd=project), b"#")

		attempt("plain", lambda: write("plain"))
		attempt("hook", lambda: write(".git/hooks/pre-commit"))
		attempt("envrc", lambda: write(".envrc"))
		attempt("secret", lambda: os.read(os.open(secret[1:], 0, dir_fd=root), 50))
		attempt("processes", lambda: sum(n.isdigit() for n in os.listdir(os.open("proc", 0, dir_fd=root))))
	PY
}

teardown() {
	end_background
}

# No process of this machine has that mount namespace.
is_gone() {
	! readlink /proc/[0-9]*/ns/mnt | grep -qxF -- "$1"
}

# Where views cannot be locked none leaves; t49_bubblewrap.bats has that.
# bats test_tags=backend:locked,backend:view
@test "what another sandbox covered stays covered when it has gone" {
	"$KODA_BIN" run --wall-time 60 --deny-read "$elsewhere/secret" \
		python3 taker.py "$elsewhere/secret" >"$BATS_TEST_TMPDIR/taken" 2>&1 </dev/null 3>&- &
	taker=$!
	"$KODA_BIN" run --wall-time 60 --deny-read "$elsewhere/secret" python3 giver.py </dev/null
	eventually is_gone "$(<view)"
	touch gone
	wait "$taker"
	cat "$BATS_TEST_TMPDIR/taken"
	# Twin: the descriptors work, for what the other sandbox could write.
	grep -q '^plain done' "$BATS_TEST_TMPDIR/taken"
	grep -q '^hook refused' "$BATS_TEST_TMPDIR/taken"
	grep -q '^envrc refused' "$BATS_TEST_TMPDIR/taken"
	grep -q '^secret refused' "$BATS_TEST_TMPDIR/taken"
	[[ ! -e .git/hooks/pre-commit ]]
	# Its processes are gone with it; the host's were never there.
	run grep '^processes done' "$BATS_TEST_TMPDIR/taken"
	[[ $status -ne 0 || ${output##* } -le 3 ]]
}

# lock_with HOW: another sandbox locks the project, until let_go.
lock_with() {
	mkdir -p "$elsewhere/other"
	(cd "$elsewhere/other" && exec "$KODA_BIN" run --wall-time 60 python3 -c '
import fcntl, os, sys, time
for path in sys.argv[2:]:
    fcntl.flock(os.open(path, os.O_RDONLY), getattr(fcntl, sys.argv[1]))
print("locked", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)' "$1" "$project" "$project/.git") \
		>"$BATS_TEST_TMPDIR/locked" 2>&1 </dev/null 3>&- &
	background+=("$!")
	eventually grep -q locked "$BATS_TEST_TMPDIR/locked" && return
	cat "$BATS_TEST_TMPDIR/locked"
	return 1
}

let_go() {
	touch "$elsewhere/other/go"
}

# bats test_tags=backend:view
@test "a lock from inside another sandbox does not outlast the wall time" {
	lock_with LOCK_EX
	run timeout -s KILL 40 "$KODA_BIN" run --wall-time 1 -c 'echo ran'
	[[ $output != ran && $status -ne 0 && $status -ne 137 ]] || { echo "$status $output"; false; }
	end_background
	# Twin: without it the same command runs.
	run "$KODA_BIN" run --wall-time 30 -c 'echo ran'
	[[ $output == ran ]] || { echo "$status $output"; false; }
}

# passes_on PID SIGNAL: the runner catches it by now, and does not die of it.
passes_on() {
	local caught
	caught=$(awk '$1 == "SigCgt:" { print $2 }' "/proc/$1/status")
	((0x$caught >> ($(kill -l "$2") - 1) & 1))
}

# bats test_tags=backend:native
@test "a lock from inside another sandbox is waited for, whatever signals come" {
	local runner i
	lock_with LOCK_EX
	"$KODA_BIN" run --wall-time 60 --events "$BATS_TEST_TMPDIR/events" -c 'echo ran' </dev/null \
		>"$BATS_TEST_TMPDIR/waited" 2>&1 3>&- &
	runner=$!
	background+=("$runner")
	eventually passes_on "$runner" USR1
	for ((i = 0; i < 4; i++)); do
		kill -USR1 "$runner"
		sleep 0.2
	done
	kill -0 "$runner" # it still waits
	let_go
	status=0
	wait "$runner" || status=$?
	cat "$BATS_TEST_TMPDIR/waited" "$BATS_TEST_TMPDIR/events"
	# They are the command's, from the moment there is one: it may end by them.
	if [[ $status -eq 0 ]]; then
		[[ $(<"$BATS_TEST_TMPDIR/waited") == ran ]]
	else
		[[ $status -eq 138 ]]
		grep -q '"type":"exit".*"signal":10,"reason":"signal"' "$BATS_TEST_TMPDIR/events"
	fi
}

@test "a lock from inside another sandbox does not leave placeholders behind" {
	lock_with LOCK_SH
	"$KODA_BIN" run true </dev/null
	let_go
	# No process waits for the lock; the journal tells the next run that finds it free.
	tidied() {
		"$KODA_BIN" run true </dev/null
		[[ ! -e .envrc && ! -e .git/commondir ]]
	}
	eventually tidied
	run git status --short --ignored
	[[ $output != *.envrc* && $output != *.koda* ]]
	[[ ! -e .envrc && ! -e .mcp.json && ! -e .git/commondir && ! -e .git/modules ]]
}

# meeting BACKEND: a sandbox of that backend waits at sub/deep/k, if it can, for whoever connects.
meeting() {
	mkdir -p sub/deep
	rm -f sub/ready
	"$KODA_BIN" run --wall-time 60 "${landlock[@]/#landlock/$1}" -- python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
try:
    s.bind("sub/deep/k")
    s.listen(8)
except OSError:
    pass
open("sub/ready", "w").close()
s.settimeout(50)
while True:
    c, _ = s.accept()
    with open("sub/met", "a") as f:
        f.write("somebody\n")' >"$BATS_TEST_TMPDIR/meeting" 2>&1 </dev/null 3>&- &
	background+=("$!")
	wait_for sub/ready || { cat "$BATS_TEST_TMPDIR/meeting"; return 1; }
}

# A command without namespaces has the host's root and network to give away.
# bats test_tags=backend:native
@test "a sandbox without a view meets no other, whoever made the socket" {
	load landlock
	use_landlock
	local backend backends=(native landlock)
	if command -v bwrap; then
		backends+=(bwrap)
	fi
	for backend in "${backends[@]}"; do
		meeting "$backend"
		python '
import os, socket
scratch = os.environ["TMPDIR"]
def attempt(what, act):
    try:
        act()
        print("not refused:", what)
    except OSError:
        pass
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
def bind(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(1)
    return s
attempt("bind", lambda: bind("sub/own"))
# The twin: in the directory that nobody else sees.
os.mkdir(scratch + "/dir")
s = bind(scratch + "/dir/s")
connect(scratch + "/dir/s")
# Nor does it leave from there.
attempt("rename out", lambda: os.rename(scratch + "/dir/s", "sub/out"))
attempt("link out", lambda: os.link(scratch + "/dir/s", "sub/out"))
attempt("rename its directory out", lambda: os.rename(scratch + "/dir", "sub/out"))
attempt("connect", lambda: connect("sub/deep/k"))
os.symlink(os.getcwd() + "/sub/deep/k", scratch + "/link")
attempt("connect by a link", lambda: connect(scratch + "/link"))
# Nor does another enter.
attempt("link in", lambda: os.link("sub/deep/k", scratch + "/k"))
attempt("connect to what was linked in", lambda: connect(scratch + "/k"))
attempt("rename in", lambda: os.rename("sub/deep/k", scratch + "/moved"))
attempt("rename its directory in", lambda: os.rename("sub/deep", scratch + "/deep"))
attempt("connect to what was moved in", lambda: connect(scratch + "/deep/k"))
print("done")'
		echo "$backend: $output"
		[[ $output == 'done' && ! -e sub/met ]]
		# The twin: somebody is there, and would answer.
		if [[ $backend != landlock ]]; then
			outside connect-unix sub/deep/k
			wait_for sub/met
		fi
		end_background
		rm -rf sub
	done
}
