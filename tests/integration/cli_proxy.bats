#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2030,SC2031,SC2154 # status, stdout, stderr, http and https come from the helpers
# koda-sandbox proxy: where it listens, whom it serves, how it ends.

setup() {
	load helper
	load run_helper
	load origin
	new_project
	start_origin
	allow_listed
}

teardown() {
	end_proxy
	end_origin
}

# start_proxy WHERE OPTION...: in the background; sets proxy, its number, and where it listens.
start_proxy() {
	local i
	: >"$BATS_TEST_TMPDIR/out"
	unshare -Urm "${hosts[@]}" "$KODA_BIN" proxy --listen "$@" --policy-fd 9 \
		9<"$BATS_TEST_TMPDIR/policy" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	proxy=$!
	for ((i = 0; i < 600; i++)); do
		slurp stdout "$BATS_TEST_TMPDIR/out"
		[[ ! $stdout ]] || break
		kill -0 "$proxy" || break
		sleep 0.05
	done
	where=${stdout#listening on }
	[[ $where != "$stdout" ]]
}

# end_proxy [SIGNAL]: its exit status is in status.
end_proxy() {
	[[ ${proxy:-} ]] || return 0
	status=0
	kill -"${1:-KILL}" "$proxy" 2>/dev/null || true
	wait "$proxy" || status=$?
	proxy=
}

# get ARG...: curl; what it says is in output.
get() {
	run curl -sS --noproxy '' --max-time 20 "$@"
}

@test "a port of 0 becomes a free one, and both ends speak HTTP and SOCKS5 there" {
	start_proxy 127.0.0.1:0
	[[ $where =~ ^127\.0\.0\.1:[1-9][0-9]*$ ]]
	line_count "$BATS_TEST_TMPDIR/out" 1
	get -x "http://$where" "http://listed.test:$http/hello"
	[[ $status -eq 0 && $output == 'hello from the origin' ]]
	get -x "http://$where" --cacert ca.pem "https://listed.test:$https/hello"
	[[ $status -eq 0 && $output == 'hello from the origin' ]]
	get -x "socks5h://$where" "http://listed.test:$http/hello"
	[[ $status -eq 0 && $output == 'hello from the origin' ]]
	get -x "http://$where" "http://other.test:$http/hello"
	[[ $output == *not_listed* ]]
	get -x "socks5h://$where" "http://other.test:$http/hello"
	[[ $status -eq 97 ]]
	end_proxy TERM
	[[ $status -eq 0 && ! -s $BATS_TEST_TMPDIR/err ]]
}

@test "a path is for the user alone, and gone afterwards" {
	local socket=$BATS_TEST_TMPDIR/socket
	umask 0
	start_proxy "unix:$socket"
	[[ $where == "unix:$socket" && $(stat -c '%F %a' "$socket") == 'socket 600' ]]
	run python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(f"GET http://{sys.argv[2]}/hello HTTP/1.1\r\nHost: {sys.argv[2]}\r\n"
          "Connection: close\r\n\r\n".encode())
while data := s.recv(4096):
    sys.stdout.write(data.decode())' "$socket" "listed.test:$http"
	[[ $output == 'HTTP/1.1 200 '*'hello from the origin'* ]]
	end_proxy INT
	[[ $status -eq 0 && ! -e $socket ]]
}

@test "SIGHUP ends it as well, and its process with it" {
	local helper
	start_proxy 127.0.0.1:0
	helper=$(pgrep -P "$proxy" koda-egress)
	[[ $helper =~ ^[0-9]+$ ]]
	end_proxy HUP
	[[ $status -eq 0 && ! -e /proc/$helper ]]
}

@test "events of the connections" {
	: >"$BATS_TEST_TMPDIR/events"
	start_proxy 127.0.0.1:0 --events "$BATS_TEST_TMPDIR/events"
	get -x "http://$where" "http://listed.test:$http/hello?secret"
	get -x "http://$where" "http://other.test:$http/hello"
	end_proxy TERM
	event 'e["host"] == "listed.test" and e["verdict"] == "allow" and e["bytes_down"] > 0'
	event 'e["host"] == "other.test" and e["verdict"] == "deny" and e["reason"] == "not_listed"'
	run grep -c secret "$BATS_TEST_TMPDIR/events"
	[[ $output == 0 ]]
}

@test "without anything allowed everything is refused" {
	start_proxy 127.0.0.1:0 --no-network
	get -x "http://$where" "http://listed.test:$http/hello"
	[[ $output == *'koda-sandbox: '* && $output != *'from the origin'* ]]
}

@test "other addresses are not served" {
	local where
	for where in 0.0.0.0:0 192.0.2.1:80 10.0.0.1:80 126.255.255.255:1 128.0.0.1:1; do
		koda proxy --listen "$where"
		refuses "--listen $where" '127.x.x.x'
	done
	for where in '' : 127.0.0.1 127.0.0.1: 127.0.0.1:65536 127.0.0.1:x localhost:80 '[::1]:80' \
		127.1:80 unix unix:; do
		koda proxy --listen "$where"
		refuses '--listen'
	done
	koda proxy --listen "unix:/$(printf 'x%.0s' {1..200})"
	refuses 'too long'
	koda proxy
	refuses '--listen is missing'
	koda proxy --listen 127.0.0.1:0 --listen 127.0.0.1:0
	refuses 'only once'
}

@test "a path that is taken stays as it is" {
	echo mine >taken
	koda proxy --listen unix:taken
	refuses 'unix:taken' 'cannot be listened on'
	[[ $(<taken) == mine ]]
	koda proxy --listen unix:none/there
	refuses 'unix:none/there'
}

@test "a port that is taken is refused" {
	start_proxy 127.0.0.1:0
	koda proxy --listen "$where"
	refuses "$where" 'cannot be listened on'
}

# refuses_authority NAME TEXT: the bundle of that name is no good, and one line says why.
refuses_authority() {
	allow_listed 'd["net"]["mitm"] = {"ca_bundle": "'"$BATS_TEST_TMPDIR/$1.pem"'",
		"socket_map": []}'
	koda proxy --listen "unix:$BATS_TEST_TMPDIR/socket" --policy-fd 9 9<"$BATS_TEST_TMPDIR/policy"
	refuses "$2"
	[[ ! -e $BATS_TEST_TMPDIR/socket ]]
}

@test "an authority that cannot be used: one line, before anybody connects" {
	(
		cd -- "$BATS_TEST_TMPDIR"
		authority one
		authority two
		cp one.pem alone.pem
		cp one.pem mixed.pem
		cp two.key mixed.key
		cp one.key keys.pem
		openssl x509 -in one.pem -days -1 -signkey one.key -out old.pem 2>/dev/null
		cp one.key old.key
		cat one.pem one.key >closed.pem
		chmod 0 closed.pem
		mkdir directory.pem
		echo nonsense >nonsense.pem
	)
	refuses_authority none 'No such file'
	refuses_authority directory 'is a directory'
	refuses_authority nonsense 'the CA files: '
	refuses_authority mixed 'does not belong'
	refuses_authority keys 'no certificate'
	refuses_authority old 'expired'
	[[ -r $BATS_TEST_TMPDIR/closed.pem ]] || refuses_authority closed 'Permission denied'
	# The twin.
	allow_listed 'd["net"]["mitm"] = {"ca_bundle": "'"$BATS_TEST_TMPDIR"'/one.pem", "socket_map": []}'
	SSL_CERT_FILE=$origin/ca.pem start_proxy 127.0.0.1:0
	get -x "http://$where" --cacert "$BATS_TEST_TMPDIR/one.pem" "https://listed.test:$https/hello"
	[[ $output == 'hello from the origin' ]]
	end_proxy
	# Certificates alone are for clients to trust, and TLS is opaque.
	allow_listed 'd["net"]["mitm"] = {"ca_bundle": "'"$BATS_TEST_TMPDIR"'/alone.pem", "socket_map": []}'
	start_proxy 127.0.0.1:0
	get -x "http://$where" --cacert "$origin/ca.pem" "https://listed.test:$https/hello"
	[[ $output == 'hello from the origin' ]]
	end_proxy
	koda proxy --listen 127.0.0.1:0 --opaque listed.test --policy-fd 9 9<"$BATS_TEST_TMPDIR/policy"
	refuses 'opaque anyway'
}

@test "an upstream proxy that makes no sense: one line, before anybody connects" {
	local value
	for value in https://proxy.test:1 socks5://proxy.test:1 http://proxy.test:99999 http://; do
		HTTPS_PROXY=$value koda proxy --listen 127.0.0.1:0
		refuses 'HTTPS_PROXY'
	done
}

@test "an upstream proxy that cannot be reached: 502, and nothing goes around it" {
	HTTPS_PROXY=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1 start_proxy 127.0.0.1:0
	get -x "http://$where" "http://listed.test:$http/hello"
	[[ $output == *upstream_failed* && $output != *'from the origin'* ]]
	get -i -x "http://$where" --cacert ca.pem "https://listed.test:$https/hello"
	[[ $output == *' 502 '*'X-Koda-Reason: upstream_failed'* && $output != *'from the origin'* ]]
	# The twin: not for these hosts.
	end_proxy
	HTTPS_PROXY=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1 NO_PROXY=.test start_proxy 127.0.0.1:0
	get -x "http://$where" "http://listed.test:$http/hello"
	[[ $output == 'hello from the origin' ]]
}

@test "a resolver that is down: 502, and addresses still work" {
	allow_listed 'd["net"]["allowed_domains"] += ["unknown.test", "127.0.0.1"]'
	printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$BATS_TEST_TMPDIR/resolv"
	# shellcheck disable=SC2016
	hosts=(sh -c 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"' sh
		"$BATS_TEST_TMPDIR/resolv")
	start_proxy 127.0.0.1:0
	get -i -x "http://$where" "http://unknown.test:$http/hello"
	[[ $output == *' 502 '*'X-Koda-Reason: resolve_failed'* ]]
	get -i -x "http://$where" "https://unknown.test:$https/hello"
	[[ $output == *' 502 '*'X-Koda-Reason: resolve_failed'* ]]
	get -x "http://$where" "http://127.0.0.1:$http/hello"
	[[ $output == 'hello from the origin' ]]
}

@test "options that say nothing about connections are not taken" {
	local option
	for option in --read-only --deny-read=/x --deny-write=/x --wall-time=1 --memory=1G \
		--max-output=1M --max-procs=5 --cwd=.; do
		koda proxy --listen 127.0.0.1:0 "$option"
		refuses "${option%%=*}"
	done
	koda proxy --listen 127.0.0.1:0 --opaque 'not a host'
	refuses --opaque
	koda proxy --listen 127.0.0.1:0 --opaque '*'
	refuses '--opaque: the policy has no net.mitm'
}

@test "a proxy process that does not start: one line" {
	local helper
	helper=$(dirname -- "$KODA_BIN")/koda-egress
	status=0
	# shellcheck disable=SC2016
	timeout 60 unshare -Urm sh -c 'mount --bind /bin/false "$1" && exec "$2" proxy --listen 127.0.0.1:0' sh \
		"$helper" "$KODA_BIN" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stderr "$BATS_TEST_TMPDIR/err"
	refuses 'the proxy does not start'
}
