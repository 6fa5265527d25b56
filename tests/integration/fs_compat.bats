#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # project and so on come from helper.bash
# T-108. koda-fs-worker-compat, asked by a client that speaks the older protocol.

load helper
load run_helper

setup() {
	new_project
	compat=${KODA_BIN%/*}/koda-fs-worker-compat
	# Names of sockets are short.
	home_of_socket=$(mktemp -d /tmp/koda-compat-XXXXXX)
	socket=$home_of_socket/s
	unset KODA_FS_WORKER_POLICY
}

teardown() {
	end_runner
	rm -rf -- "$home_of_socket"
}

# serve [NAME=VALUE...]: starts the program, and waits until it is ready.
serve() {
	rm -f -- "$BATS_TEST_TMPDIR/ready"
	: >"$BATS_TEST_TMPDIR/out" # finish reads it
	env "$@" "$compat" --socket "$socket" --root "$project" >"$BATS_TEST_TMPDIR/ready" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	runner=$!
	eventually test -s "$BATS_TEST_TMPDIR/ready"
	[[ $(<"$BATS_TEST_TMPDIR/ready") == ready ]]
}

# ask LINE...: one client sends these requests; its lines are in replies.
ask() {
	mapfile -t replies < <(printf '%s\n' "$@" | python3 "$BATS_TEST_DIRNAME/fs_compat_client.py" "$socket")
}

# listen_in_project: the socket is in the project from here on.
listen_in_project() {
	socket=$project/s
}

# replied NUMBER TEXT: that reply is exactly this.
replied() {
	[[ ${replies[$1]} == "$2" ]] && return
	printf 'reply %s is %s\nexpected      %s\n' "$1" "${replies[$1]}" "$2"
	return 1
}

# failed NUMBER CODE [TEXT]: that reply is an error with this code, and the text is in it.
failed() {
	[[ ${replies[$1]} == '{"kind":"error","code":"'"$2"'","message":"'*"${3:-}"*'"}' ]] && return
	printf 'reply %s is %s\nexpected the error %s %s\n' "$1" "${replies[$1]}" "$2" "${3:-}"
	return 1
}

# ends STATUS: the program ends so, and its socket is gone.
ends() {
	finish
	[[ $status -eq $1 && ! -e $socket ]] && return
	show_result
	return 1
}

# refused TEXT: the program does not start, says why in one line, and leaves no socket.
refused() {
	status=0
	"$compat" --socket "$socket" --root "$project" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
	[[ $status -eq 1 && ! -e $socket && -z $stdout && $stderr == koda-fs-worker-compat:*"$1"* ]] &&
		line_count "$BATS_TEST_TMPDIR/err" 1 && return
	show_result
	return 1
}

@test "the nine requests, and their replies byte for byte" {
	serve
	ask hex:0000000f7b226b696e64223a2270696e67227d \
		'{"kind":"write","path":"'"$project"'/a/b.txt","content":[104,105,10,255]}' \
		'{"kind":"read","path":"'"$project"'/a/b.txt","max_bytes":null}' \
		'{"max_bytes":2,"path":"'"$project"'/a/b.txt","kind":"read"}' \
		'{"kind":"read","path":"'"$project"'/a/b.txt","max_bytes":0}' \
		'{"kind":"write","path":"'"$project"'/a/c.c","content":[111,110,101,10,116,119,111]}' \
		'{"kind":"edit","path":"'"$project"'/a/c.c","old_string":"two","new_string":"2"}' \
		'{"kind":"glob","pattern":"**/*.c","root":"'"$project"'"}' \
		'{"kind":"glob","pattern":"'"$project"'/a/*","root":"elsewhere"}' \
		'{"kind":"grep","pattern":"^.$","root":"'"$project"'","include":"*.c"}' \
		'{"kind":"grep","pattern":"nowhere","root":"'"$project"'","include":null}' \
		'{"kind":"stat","path":"'"$project"'/a/c.c"}' \
		'{"kind":"get_env","names":["HOME","KODA_NOT_THERE"]}' \
		'{"kind":"shutdown"}'
	replied 0 '{"kind":"pong"}'
	replied 1 '{"kind":"write","bytes_written":4}'
	replied 2 '{"kind":"read","content":[104,105,10,255]}'
	replied 3 '{"kind":"read","content":[104,105]}'
	replied 4 '{"kind":"read","content":[]}'
	replied 5 '{"kind":"write","bytes_written":7}'
	replied 6 '{"kind":"edit","replacements":1}'
	replied 7 '{"kind":"glob","paths":["'"$project"'/a/c.c"]}'
	replied 8 '{"kind":"glob","paths":["'"$project"'/a/b.txt","'"$project"'/a/c.c"]}'
	replied 9 '{"kind":"grep","matches":[{"path":"'"$project"'/a/c.c","line":2,"text":"2"}]}'
	replied 10 '{"kind":"grep","matches":[]}'
	replied 11 '{"kind":"stat","size":5,"is_dir":false,"is_symlink":false}'
	replied 12 '{"kind":"get_env","values":["'"$HOME"'",null]}'
	replied 13 '{"kind":"pong"}'
	[[ ${#replies[@]} -eq 14 && $(<a/c.c) == $'one\n2' ]]
	ends 0
	[[ ! -s $BATS_TEST_TMPDIR/err ]]
}

@test "stat does not follow, paths begin at the working directory, odd names are shown" {
	mkdir dir
	ln -s dir link
	echo x >$'dir/\xff\n"'
	serve
	ask '{"kind":"stat","path":"dir"}' '{"kind":"stat","path":"'"$project"'/link"}' \
		'{"kind":"glob","pattern":"*","root":"dir/"}' '{"kind":"grep","pattern":"x","root":"dir"}'
	[[ ${replies[0]} == '{"kind":"stat","size":'*',"is_dir":true,"is_symlink":false}' ]]
	replied 1 '{"kind":"stat","size":3,"is_dir":false,"is_symlink":true}'
	replied 2 '{"kind":"glob","paths":["dir/'$'\xef\xbf\xbd''\u000A\""]}'
	replied 3 '{"kind":"grep","matches":[{"path":"dir/'$'\xef\xbf\xbd''\u000A\"","line":1,"text":"x"}]}'
}

@test "failures are errors with a code, and the next request is served" {
	printf 'a a' >twice
	mkfifo fifo
	head -c 600000 /dev/zero >large
	serve
	ask '{"kind":"read","path":"'"$project"'/missing"}' \
		'{"kind":"read","path":"'"$project"'/fifo"}' \
		'{"kind":"read","path":"'"$project"'/large"}' \
		'{"kind":"read","path":""}' \
		'{"kind":"edit","path":"twice","old_string":"b","new_string":"c"}' \
		'{"kind":"edit","path":"twice","old_string":"a","new_string":"c"}' \
		'{"kind":"edit","path":"twice","old_string":"","new_string":"c"}' \
		'{"kind":"glob","pattern":"[","root":"."}' \
		'{"kind":"grep","pattern":"(","root":"."}' \
		'{"kind":"stat","path":"'"$(printf 'n%.0s' {1..5000})"'"}' \
		'{"kind":"ping","of":"a later client"}'
	failed 0 io "missing: there is no such file"
	failed 1 io "not a regular file"
	failed 2 io "over 1 MiB"
	failed 3 io
	failed 4 io "not in the file"
	failed 5 io "more than once"
	failed 6 io
	failed 7 protocol "pattern"
	failed 8 protocol "pattern"
	failed 9 io
	replied 10 '{"kind":"pong"}'
	[[ $(<twice) == "a a" ]]
	ends 0
}

@test "without a policy the root is writable, and nothing outside, by whatever path" {
	mkdir "$BATS_TEST_TMPDIR/outside" "$project/inside"
	ln -s "$BATS_TEST_TMPDIR/outside" escape
	ln -s inside in
	serve
	ask '{"kind":"write","path":"/etc/koda","content":[]}' \
		'{"kind":"write","path":"'"$BATS_TEST_TMPDIR"'/outside/x","content":[]}' \
		'{"kind":"write","path":"'"$project"'/escape/x","content":[]}' \
		'{"kind":"write","path":"'"$project"'/src/../../outside/x","content":[]}' \
		'{"kind":"write","path":"'"$project"'/new/../../outside/x","content":[]}' \
		'{"kind":"write","path":"'"$project"'/.git/hooks/pre-commit","content":[]}' \
		'{"kind":"write","path":"'"$project"'/in/x","content":[]}'
	failed 0 policy_denied "/etc/koda: the policy refuses it"
	failed 1 policy_denied
	failed 2 policy_denied
	failed 3 policy_denied
	failed 4 io
	failed 5 policy_denied
	replied 6 '{"kind":"write","bytes_written":0}'
	[[ -e inside/x && ! -e new && -z $(ls -A "$BATS_TEST_TMPDIR/outside") ]]
}

@test "the policy of the variable holds for reads and writes" {
	local outside=$BATS_TEST_TMPDIR/outside
	mkdir "$outside" closed
	echo secret >hidden
	serve KODA_FS_WORKER_POLICY='{"fs":{"deny_read":["'"$project"'/hidden"],"allow_write":["'"$outside"'"],
		"deny_write_within_allow":["'"$project"'/closed"]},"trust":"require"}'
	ask '{"kind":"read","path":"hidden"}' '{"kind":"stat","path":"hidden"}' '{"kind":"write","path":"closed/x","content":[]}' \
		'{"kind":"grep","pattern":"secret","root":"."}' \
		'{"kind":"write","path":"'"$outside"'/x","content":[]}' '{"kind":"write","path":"x","content":[]}'
	failed 0 policy_denied "fs.deny_read"
	failed 1 policy_denied
	failed 2 policy_denied "fs.deny_write_within_allow"
	replied 3 '{"kind":"grep","matches":[]}'
	replied 4 '{"kind":"write","bytes_written":0}'
	replied 5 '{"kind":"write","bytes_written":0}'
	ends 0
	serve
	ask '{"kind":"grep","pattern":"secret","root":"."}' '{"kind":"write","path":"closed/x","content":[]}'
	replied 0 '{"kind":"grep","matches":[{"path":"./hidden","line":1,"text":"secret"}]}'
	replied 1 '{"kind":"write","bytes_written":0}'
}

@test "a policy that is wrong in any way is refused" {
	KODA_FS_WORKER_POLICY='{"fs":{"deny_raed":[]}}' refused /fs/deny_raed
	KODA_FS_WORKER_POLICY='{' refused KODA_FS_WORKER_POLICY
	KODA_FS_WORKER_POLICY='' refused KODA_FS_WORKER_POLICY
	KODA_FS_WORKER_POLICY='{"fs":{"allow_write":["relative"]}}' refused /fs/allow_write/0
	KODA_FS_WORKER_POLICY='{"trust":"forbid"}' refused forbid
	project=/ refused ''
	KODA_FS_WORKER_POLICY='{"fs":{"deny_read":[]}}' serve
}

@test "what is no request is told, and ends the connection" {
	local bad # tests/unit/test_fscompat.c has more of them
	for bad in '{"kind":' hex:00100001 '{"kind":"raed"}' '{"kind":"write","path":"x","content":[256]}'; do
		serve
		ask "$bad" '{"kind":"ping"}'
		failed 0 protocol
		replied 1 end
		ends 1
		line_count "$BATS_TEST_TMPDIR/err" 1
	done
	[[ ! -e x ]]
}

@test "a connection that ends within a message" {
	local cut
	for cut in 000000 0000000f7b; do
		serve
		ask "cut:$cut"
		failed 0 protocol "within a message"
		ends 1
	done
}

@test "a message of exactly 1 MiB is taken" {
	serve
	python3 -c '
line = "{\"kind\":\"write\",\"path\":\"x\",\"content\":[1%s]}"
print(line % (" " * (1048576 - len(line) + 2)))' >"$BATS_TEST_TMPDIR/lines"
	mapfile -t replies < <(python3 "$BATS_TEST_DIRNAME/fs_compat_client.py" "$socket" <"$BATS_TEST_TMPDIR/lines")
	replied 0 '{"kind":"write","bytes_written":1}'
	ends 0
}

@test "the socket is for one client of this user, and goes with the program" {
	serve
	[[ $(stat -c %a "$socket") == 600 ]]
	# A second program leaves it alone.
	status=0
	"$compat" --socket "$socket" --root "$project" 2>"$BATS_TEST_TMPDIR/second" || status=$?
	[[ $status -eq 1 && -S $socket && $(<"$BATS_TEST_TMPDIR/second") == *"cannot be made a socket"* ]]
	kill -TERM "$runner"
	ends 143
	# A file that is no socket stays.
	echo mine >"$socket"
	status=0
	"$compat" --socket "$socket" --root "$project" 2>"$BATS_TEST_TMPDIR/second" || status=$?
	[[ $status -eq 1 && $(<"$socket") == mine ]]
	rm "$socket"
	# What a killed one left is replaced.
	serve
	kill -KILL "$runner"
	wait "$runner" || true
	[[ -S $socket ]]
	serve
	ask '{"kind":"ping"}'
	replied 0 '{"kind":"pong"}'
	ends 0
}

@test "a signal ends the program while its client is connected" {
	serve
	mkfifo "$BATS_TEST_TMPDIR/requests"
	python3 "$BATS_TEST_DIRNAME/fs_compat_client.py" "$socket" <"$BATS_TEST_TMPDIR/requests" >"$BATS_TEST_TMPDIR/replies" 3>&- &
	exec 4>"$BATS_TEST_TMPDIR/requests"
	printf '{"kind":"ping"}\n' >&4
	eventually test -s "$BATS_TEST_TMPDIR/replies"
	# There is no second client.
	run python3 "$BATS_TEST_DIRNAME/fs_compat_client.py" "$socket" <<<'{"kind":"ping"}'
	[[ $status -ne 0 ]]
	kill -TERM "$runner"
	ends 143
	exec 4>&-
}

# bats test_tags=needs:root
@test "another user's client is not served" {
	serve
	chmod 755 "$home_of_socket"
	chmod 666 "$socket"
	[[ $(python3 -c '
import os, socket, sys
os.chdir(sys.argv[1])
os.setuid(65534)
client = socket.socket(socket.AF_UNIX)
client.settimeout(30)
client.connect("s")
print(client.recv(1))' "$home_of_socket") == "b''" ]]
	ask '{"kind":"ping"}'
	replied 0 '{"kind":"pong"}'
}

# try_inside SOCKET: prints what becomes of connecting to it from a command.
try_inside() {
	inside -- python3 -c '
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    print("connected")
except OSError as error:
    print("refused")' "$1"
}

@test "a command does not find the socket" {
	serve
	try_inside "$socket"
	[[ $status -eq 0 && $stdout == refused ]]
	# It would have been the one client.
	ask '{"kind":"ping"}'
	replied 0 '{"kind":"pong"}'
	ends 0
	# Neither in the project, where it could be hidden only if it was there before.
	listen_in_project
	serve
	try_inside "$socket"
	[[ $stdout != connected ]]
	ask '{"kind":"ping"}'
	replied 0 '{"kind":"pong"}'
}

# worker: the process of the file worker.
worker() {
	local pid
	while read -r pid _; do
		if [[ $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) == 'koda-fs-worker '* ]]; then
			echo "$pid"
		fi
	done < <(family "$runner")
}

@test "a worker that dies is told, and the next request has a new one" {
	serve
	kill -KILL "$(worker)"
	eventually test -z "$(worker)"
	ask '{"kind":"stat","path":"src"}' '{"kind":"ping"}'
	failed 0 internal
	replied 1 '{"kind":"pong"}'
	ends 0
}

@test "the environment: proxies pass, secrets do not, and no variable names another worker" {
	printf '#!/bin/sh\ntouch %s/ran\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/other"
	chmod +x "$BATS_TEST_TMPDIR/other"
	serve KODA_FS_WORKER_BIN="$BATS_TEST_TMPDIR/other" HTTPS_PROXY=http://127.0.0.1:1 \
		ALL_PROXY=http://user:secret@127.0.0.1:1 API_TOKEN=secret SSL_CERT_FILE=/ca.pem
	ask '{"kind":"get_env","names":["HTTPS_PROXY","ALL_PROXY","API_TOKEN","SSL_CERT_FILE","KODA_FS_WORKER_POLICY"]}'
	replied 0 '{"kind":"get_env","values":["http://127.0.0.1:1",null,null,"/ca.pem",null]}'
	[[ ! -e $BATS_TEST_TMPDIR/ran ]]
	ends 0
}

@test "wrong arguments" {
	local -a arguments
	for arguments in '' "--socket $socket" "--root ." "--socket $socket --root" "--socket $socket --root . --other x"; do
		status=0
		# shellcheck disable=SC2086 # words
		"$compat" $arguments 2>"$BATS_TEST_TMPDIR/err" || status=$?
		[[ $status -eq 2 && $(<"$BATS_TEST_TMPDIR/err") == usage:* ]]
	done
}
