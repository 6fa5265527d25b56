#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2154 # shells inside expand; http, https, echo come from origin.bash
# Programs inside the sandbox reach an allowed host through the proxy, each in its own way and without
# being told more than a user would; of the other host they get a refusal that says why.

setup() {
	load helper
	load run_helper
	load origin
	new_project
	start_origin
	allow_listed
}

teardown() {
	end_origin
}

# What a refusal over plain HTTP says.
why='no rule of allowed_domains allows this host and port'

# installed PROGRAM...: not every machine has all clients.
installed() {
	local program
	for program; do
		if ! command -v "$program" >/dev/null; then
			echo "# $program is not installed" >&3
			return 1
		fi
	done
}

@test "curl: HTTP" {
	gets 'hello from the origin' curl -sS "http://listed.test:$http/hello"
	is_told "$why" curl -sS "http://other.test:$http/hello"
	is_told 'X-Koda-Reason: not_listed' curl -sSi "http://other.test:$http/hello"
}

@test "curl: HTTPS through CONNECT" {
	gets 'hello from the origin' curl -sS --cacert ca.pem "https://listed.test:$https/hello"
	is_told 'response 403' curl -sS --cacert ca.pem "https://other.test:$https/hello"
	[[ $status -eq 56 && $stderr == *'deny network-outbound other.test:'"$https"* ]]
	is_told 'X-Koda-Reason: not_listed' curl -sv --cacert ca.pem \
		"https://other.test:$https/hello"
}

@test "curl: SOCKS5, names left to the proxy" {
	gets 'hello from the origin' curl -sS -x socks5h://127.0.0.1:3128 \
		"http://listed.test:$http/hello"
	gets 'hello from the origin' curl -sS -x socks5h://127.0.0.1:3128 --cacert ca.pem \
		"https://listed.test:$https/hello"
	is_told '(2)' curl -sS -x socks5h://127.0.0.1:3128 "http://other.test:$http/hello"
	[[ $status -eq 97 ]]
}

@test "curl: an upload, and several requests on one connection" {
	head -c 300000 /dev/urandom >upload
	gets "$(sha256sum <upload)" -c 'curl -sS --data-binary @upload \
		"http://listed.test:'"$http"'/" | sha256sum'
	gets 'hello from the origin' curl -sS "http://listed.test:$http/hello" \
		"http://listed.test:$http/hello"
	[[ $stdout == *origin*origin* ]]
}

@test "an allowed host on another port is another matter" {
	allow_listed 'd["net"]["allowed_domains"] = ["listed.test:'"$https"'"]'
	client curl -sS "http://listed.test:$http/hello"
	[[ $stdout == *"$why"* ]]
	event 'e["host"] == "listed.test" and e["verdict"] == "deny"'
}

@test "wget: HTTP and HTTPS" {
	gets 'hello from the origin' wget -qO- "http://listed.test:$http/hello"
	gets 'hello from the origin' wget -qO- --ca-certificate=ca.pem \
		"https://listed.test:$https/hello"
	is_told 'ERROR 403' wget -nv -O- "http://other.test:$http/hello"
	is_told "$why" wget -qO- --content-on-error "http://other.test:$http/hello"
	is_told 'Forbidden' wget -nv -O- --ca-certificate=ca.pem "https://other.test:$https/hello"
}

@test "git: clone and fetch over HTTPS" {
	git_identity
	new_repository "$BATS_TEST_TMPDIR/source"
	git clone -q --bare "$BATS_TEST_TMPDIR/source" "$origin/www/source.git"
	git -C "$origin/www/source.git" update-server-info
	gets '' git -c http.sslCAInfo="$project/ca.pem" clone -q \
		"https://listed.test:$https/source.git" copy
	[[ $(git -C copy rev-parse HEAD) == "$(git -C "$BATS_TEST_TMPDIR/source" rev-parse HEAD)" ]]
	gets '' git -C copy -c http.sslCAInfo="$project/ca.pem" fetch -q
	is_told '403' git -c http.sslCAInfo="$project/ca.pem" clone -q \
		"https://other.test:$https/source.git" other
	[[ $status -eq 128 && ! -e other ]]
}

@test "ssh: koda-sandbox connect as its ProxyCommand" {
	cp -- "$KODA_BIN" koda
	gets 'SSH-2.0-koda_test'$'\r\n''ping' -c 'echo ping | ASAN_OPTIONS=detect_leaks=0 ./koda connect listed.test '"$echo"
	is_told "other.test:$echo: refused by the sandbox: not_listed: no rule" \
		-c 'echo ping | ASAN_OPTIONS=detect_leaks=0 ./koda connect other.test '"$echo"
	[[ $status -eq 125 ]]
	installed ssh || return 0
	client ssh -v -F none -o BatchMode=yes -o ProxyCommand='./koda connect %h %p' \
		-p "$echo" listed.test true
	[[ $stderr == *koda_test* ]]
	event 'e["host"] == "listed.test" and e["verdict"] == "allow" and e["bytes_down"] > 0'
}

@test "python: urllib" {
	local text='
import ssl, sys, urllib.error, urllib.request
trust = ssl.create_default_context(cafile="ca.pem")
try:
    print(urllib.request.urlopen(sys.argv[1], context=trust, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except urllib.error.URLError as error:
    print(error.reason)'
	gets 'hello from the origin' python3 -c "$text" "http://listed.test:$http/hello"
	gets 'hello from the origin' python3 -c "$text" "https://listed.test:$https/hello"
	is_told "403 koda-sandbox: not_listed" python3 -c "$text" "http://other.test:$http/hello"
	is_told '403 Forbidden' python3 -c "$text" "https://other.test:$https/hello"
}

@test "python: requests" {
	local text='
import sys
try:
    import requests
except ImportError:
    from pip._vendor import requests
try:
    print(requests.get(sys.argv[1], verify="ca.pem", timeout=20).text)
except requests.exceptions.ProxyError as error:
    print(error)'
	if ! python3 -c 'import requests' 2>/dev/null && ! python3 -c 'import pip._vendor.requests'; then
		echo '# requests is not installed' >&3
		return 0
	fi
	gets 'hello from the origin' python3 -c "$text" "http://listed.test:$http/hello"
	gets 'hello from the origin' python3 -c "$text" "https://listed.test:$https/hello"
	is_told "$why" python3 -c "$text" "http://other.test:$http/hello"
	is_told '403 Forbidden' python3 -c "$text" "https://other.test:$https/hello"
}

@test "pip: a package from an index" {
	if ! python3 -c 'import pip' 2>/dev/null; then
		echo '# pip is not installed' >&3
		return 0
	fi
	make_index
	gets 'hello from the wheel' -c 'python3 -m pip download -q --no-cache-dir --cert ca.pem \
		--disable-pip-version-check --index-url "https://listed.test:'"$https"'/simple/" hello &&
		PYTHONPATH=$PWD/hello-1.0-py3-none-any.whl python3 -m hello'
	is_told '403' python3 -m pip download -d other --no-cache-dir --disable-pip-version-check --retries 0 \
		"http://other.test:$http/simple/hello/hello-1.0-py3-none-any.whl"
	[[ $status -eq 1 ]]
}

@test "npm: a package from a registry" {
	installed npm || return 0
	make_registry
	gets 1.2.3 npm --cache /tmp/npm --registry "http://listed.test:$http/npm/" view hello version
	is_told 403 npm --cache /tmp/npm --registry "http://other.test:$http/npm/" view hello version
	[[ $status -eq 1 ]]
}

@test "node: fetch knows proxies only from 22.21 on; before, a request names it" {
	installed node || return 0
	local text='
const http = require("http");
const [host, port] = process.argv[1].split(":");
http.get({ host: "127.0.0.1", port: 3128, path: `http://${host}:${port}/hello`,
           headers: { host: `${host}:${port}` } },
         (answer) => { console.log(answer.statusCode); answer.pipe(process.stdout); });'
	gets 'hello from the origin' node -e "$text" "listed.test:$http"
	is_told "$why" node -e "$text" "other.test:$http"
	node -e 'const [a, b] = process.versions.node.split(".").map(Number);
		process.exit(a > 24 || a == 24 || (a == 22 && b >= 21) ? 0 : 1)' || return 0
	text='fetch(process.argv[1]).then((r) => r.text()).then(console.log, (e) => console.log(e.cause))'
	gets 'hello from the origin' sh -c 'NODE_USE_ENV_PROXY=1 node -e "$0" "$1"' \
		"$text" "http://listed.test:$http/hello"
}

@test "apt: a file" {
	local helper=/usr/lib/apt/apt-helper
	installed "$helper" || return 0
	gets 'hello from the origin' -c "$helper -q -o APT::Sandbox::User= download-file \
		http://listed.test:$http/hello /tmp/got >&2; cat /tmp/got"
	is_told 403 "$helper" -q -o APT::Sandbox::User= download-file \
		"http://other.test:$http/hello" /tmp/got
}
