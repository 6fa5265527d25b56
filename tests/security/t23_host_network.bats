#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:network
# shellcheck disable=SC2016,SC2030,SC2031,SC2034 # box is the helper's; shells inside expand
# T-23: the network of the host is reached without the proxy.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# A listener on the loopback of the host; sets port.
listen_tcp() {
	python3 -c '
import os, socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(60)' "$BATS_TEST_TMPDIR/port" 3>&- &
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/port"
	port=$(<"$BATS_TEST_TMPDIR/port")
}

@test "a service on the host's loopback cannot be reached" {
	listen_tcp
	outside connect-tcp 127.0.0.1 "$port"
	refused connect-tcp 127.0.0.1 "$port"
	box=(--no-network)
	refused connect-tcp 127.0.0.1 "$port"
}

# bats test_tags=backend:view
@test "no interface but the loopback is there" {
	run run_box sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "'
	[[ $output == lo ]]
	refused_with ENETUNREACH connect-tcp 192.0.2.1 80
	refused socket 2 3 1
}

# bats test_tags=backend:view
@test "binding needs the policy's permission" {
	box=(--trust plan --yes)
	refused_with 'EACCES|EPERM' bind-tcp
	box=()
	allowed bind-tcp
}

# bats test_tags=backend:view
@test "twin: the loopback inside works" {
	run run_box python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(1)
socket.create_connection(s.getsockname(), 5)
print("connected")'
	[[ $output == connected ]]
}
