#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=clause:network
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # box is the helper's; shells inside expand
# T-33: a command reaches the network without the proxy, or the proxy's failure opens a way.

setup() {
	load helper
	new_project
}

teardown() {
	end_background
}

# A host that answers by TCP and UDP, over IPv4 and IPv6, on one port; sets port. To "GET" it says
# "origin" and closes; to anything else it says nothing and keeps the connection.
start_origin() {
	python3 - "$BATS_TEST_TMPDIR/port" 3>&- <<-'EOF' &
		import os, selectors, socket, sys, time
		def bind(family, type, address, port):
		    s = socket.socket(family, type)
		    s.bind((address, port))
		    if type == socket.SOCK_STREAM:
		        s.listen(8)
		    return s
		for _ in range(50):
		    first = bind(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", 0)
		    port = first.getsockname()[1]
		    try:
		        all = [first, bind(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1", port),
		               bind(socket.AF_INET6, socket.SOCK_STREAM, "::1", port),
		               bind(socket.AF_INET6, socket.SOCK_DGRAM, "::1", port)]
		        break
		    except OSError:
		        pass
		poll = selectors.DefaultSelector()
		for s in all:
		    poll.register(s, selectors.EVENT_READ, "host")
		with open(sys.argv[1] + ".new", "w") as f:
		    f.write(str(port))
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		end = time.monotonic() + 90
		while time.monotonic() < end:
		    for key, _ in poll.select(1):
		        s = key.fileobj
		        if key.data == "host" and s.type == socket.SOCK_DGRAM:
		            s.sendto(b"!", s.recvfrom(64)[1])
		        elif key.data == "host":
		            poll.register(s.accept()[0], selectors.EVENT_READ, "peer")
		        else:
		            try:
		                data = s.recv(4096)
		            except ConnectionError:
		                data = b""
		            if data.startswith(b"GET"):
		                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\norigin\n")
		            if not data or data.startswith(b"GET"):
		                poll.unregister(s)
		                s.close()
	EOF
	background+=($!)
	wait_for "$BATS_TEST_TMPDIR/port"
	port=$(<"$BATS_TEST_TMPDIR/port")
}

# The policy lets the command reach the origin, through the proxy.
allow_origin() {
	start_origin
	policy_where 'd["net"]["allowed_domains"] = ["127.0.0.1:'"$port"'", "[::1]:'"$port"'"]'
}

# A tunnel through the proxy, from inside. The file "open" appears when it is there; then the far end
# is waited for, as many seconds as the second word says, and how it went is printed, and whether
# another one opens. The proxy is started for the first, which may take its time.
# shellcheck disable=SC2089
tunnels='
import socket, sys
def tunnel():
    s = socket.create_connection(("127.0.0.1", 3128), 40)
    s.sendall(b"CONNECT 127.0.0.1:%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n"
              % (sys.argv[1].encode(), sys.argv[1].encode()))
    return s, s.recv(4096).split(b"\r\n")[0].decode()
s, line = tunnel()
print(line, flush=True)
open("open", "w").close()
s.settimeout(float(sys.argv[2]))
try:
    print("lost" if s.recv(1) == b"" else "data", flush=True)
except ConnectionResetError:
    print("lost", flush=True)
except TimeoutError:
    print("hangs", flush=True)
print(tunnel()[1], flush=True)
'

# children PID NAME: those with this name.
children() {
	local pid
	for pid in $(<"/proc/$1/task/$1/children"); do
		[[ $(<"/proc/$pid/comm") != "$2" ]] || echo "$pid"
	done
}

# has_ended PID: it is gone, or waits to be collected.
has_ended() {
	! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null
}

@test "an allowed host is not reached directly, by TCP or UDP, over IPv4 or IPv6" {
	local address act
	allow_origin
	for act in connect-tcp ask-udp; do
		for address in 127.0.0.1 ::1; do
			outside "$act" "$address" "$port"
			refused_with 'ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH|EACCES' "$act" "$address" "$port"
		done
	done
	run run_box curl -sS --max-time 20 "http://127.0.0.1:$port/" --noproxy '' \
		-x http://127.0.0.1:3128
	[[ $status -eq 0 && $output == origin ]]
}

@test "there is no route to anywhere, and no way to ask for a name" {
	local act address
	for act in connect-tcp ask-udp; do
		for address in 192.0.2.1 198.51.100.53 2001:db8::1; do
			for number in 53 443; do
				printf '%s\t%s\t%s\n' "$act" "$address" "$number"
			done
		done
	done >"$BATS_TEST_TMPDIR/list"
	refused_each <"$BATS_TEST_TMPDIR/list"
	[[ ${#answers[@]} -eq 12 && ! " ${answers[*]} " == *" EAGAIN "* ]]
	run run_box python3 -c '
import socket
print(socket.gethostbyname("localhost"))
try:
    print(socket.gethostbyname("name.koda-test.example"))
except socket.gaierror:
    print("no such name")'
	[[ $output == 127.0.0.1$'\n''no such name' ]]
}

@test "ICMP, raw, packet and vsock sockets are not to be had" {
	refused socket 2 3 1
	refused socket 10 3 58
	refused socket 2 2 1
	refused socket 10 2 58
	refused socket 17 3 768
	refused socket 40 1 0
	# The twin has privileges over a network of its own.
	unshare -Urn "$KODA_PROBE" socket 2 3 1
	unshare -Urn "$KODA_PROBE" socket 10 3 58
	unshare -Urn "$KODA_PROBE" socket 17 3 768
	outside socket 2 2 0
}

# bats test_tags=backend:view
@test "what else listens inside is not passed out" {
	allow_origin
	"$KODA_BIN" run --wall-time 30 "${box[@]}" -- python3 -c '
import os, socket, time
tcp = socket.socket()
tcp.bind(("127.0.0.1", 0))
tcp.listen(1)
name = socket.socket(socket.AF_UNIX)
name.bind("\0koda-t33-" + str(os.getpid()))
name.listen(1)
socket.create_connection(tcp.getsockname(), 5)
s = socket.socket(socket.AF_UNIX)
s.connect(name.getsockname())
with open("new", "w") as f:
    print(tcp.getsockname()[1], name.getsockname().decode()[1:], file=f)
os.rename("new", "where")
for _ in range(400):
    if os.path.exists("done"):
        break
    time.sleep(0.05)' 9<"$policy" 3>&- &
	background+=($!)
	wait_for where
	read -r number name <where
	run "$KODA_PROBE" connect-tcp 127.0.0.1 "$number"
	[[ $status -eq 1 && $output == ECONNREFUSED ]]
	run "$KODA_PROBE" abstract-connect "$name"
	[[ $status -eq 1 && $output == ECONNREFUSED ]]
	run "$KODA_PROBE" connect-tcp 127.0.0.1 3128
	[[ $status -eq 1 ]]
	touch ./done
}

@test "a proxy that dies takes its connections along, and the next one gets another proxy" {
	local first second
	allow_origin
	"$KODA_BIN" run --wall-time 60 "${box[@]}" -- python3 -c "$tunnels" "$port" 40 \
		9<"$policy" >"$BATS_TEST_TMPDIR/said" 3>&- &
	runner=$!
	background+=("$runner")
	wait_for open
	first=$(children "$runner" koda-egress)
	[[ $first =~ ^[0-9]+$ ]]
	kill -KILL "$first"
	wait "$runner"
	background=("${background[@]:0:1}")
	cat "$BATS_TEST_TMPDIR/said"
	mapfile -t said <"$BATS_TEST_TMPDIR/said"
	[[ ${#said[@]} -eq 3 ]]
	[[ ${said[0]} == 'HTTP/1.1 200 '* && ${said[1]} == lost && ${said[2]} == 'HTTP/1.1 200 '* ]]
}

@test "twin: a tunnel whose proxy lives is not lost" {
	allow_origin
	run run_box python3 -c "$tunnels" "$port" 1
	[[ $status -eq 0 && ${lines[0]} == 'HTTP/1.1 200 '* && ${lines[1]} == hangs ]]
}

# without_proxy REPLACEMENT COMMAND...: where koda-egress is something else.
without_proxy() {
	local proxy replacement=$1
	proxy=$(dirname -- "$KODA_PROGRAM")/koda-egress
	shift
	unshare -Urm sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh \
		"$replacement" "$proxy" "$@"
}

# In the namespace of its own that it makes, root's programs are nobody's, bubblewrap among them.
# bats test_tags=backend:native
@test "a proxy that cannot be started leaves nothing open" {
	local replacement
	allow_origin
	printf '#!/bin/sh\nexit 1\n' >"$elsewhere/ends"
	printf 'not a program\n' >"$elsewhere/text"
	printf '#!/bin/sh\nexec cat /dev/zero >&3\n' >"$elsewhere/babbles"
	chmod 755 "$elsewhere/ends" "$elsewhere/text" "$elsewhere/babbles"
	: >"$elsewhere/empty"
	for replacement in ends text babbles empty; do
		run without_proxy "$elsewhere/$replacement" "$KODA_BIN" run --wall-time 30 \
			"${box[@]}" -- curl -sS --max-time 20 "http://127.0.0.1:$port/" \
			--noproxy '' -x http://127.0.0.1:3128 9<"$policy"
		echo "$replacement: $status $output"
		# 7: refused, 52: closed without an answer, 55: reset before curl wrote its request, 56: reset
		# after that. Not 28, which is a timeout.
		[[ $status == 7 || $status == 52 || $status == 55 || $status == 56 ]]
		[[ $output != *origin* ]]
	done
	run without_proxy "$(dirname -- "$KODA_PROGRAM")/koda-egress" "$KODA_BIN" run --wall-time 30 \
		"${box[@]}" -- curl -sS --max-time 20 "http://127.0.0.1:$port/" \
		--noproxy '' -x http://127.0.0.1:3128 9<"$policy"
	[[ $status -eq 0 && $output == origin ]]
}

@test "without a network nothing listens" {
	local options
	for options in --no-network '--trust plan' '--deny-domain *'; do
		set -f
		# shellcheck disable=SC2206
		box=($options)
		set +f
		refused_with ECONNREFUSED connect-tcp 127.0.0.1 3128
	done
	box=()
	allowed connect-tcp 127.0.0.1 3128
}

@test "the way out does not stay when the command has ended" {
	local runner
	allow_origin
	"$KODA_BIN" run --wall-time 60 "${box[@]}" -- python3 -c "$tunnels" "$port" 40 \
		9<"$policy" >"$BATS_TEST_TMPDIR/said" 3>&- &
	runner=$!
	background+=("$runner")
	wait_for open
	proxy=$(children "$runner" koda-egress)
	[[ $proxy =~ ^[0-9]+$ ]]
	kill -KILL "$runner"
	wait "$runner" || true
	eventually has_ended "$proxy"
}
