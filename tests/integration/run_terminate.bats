#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2154 # shells inside expand; https and origin come from origin.bash
# T-73, T-76: TLS that the proxy terminates (net.mitm), as a program inside sees it: the authority is in the
# file that the usual variables name, and its key is nowhere.

setup() {
	load helper
	load run_helper
	load origin
	new_project
	start_origin
	site=$BATS_TEST_TMPDIR/site
	mkdir "$site"
	(cd -- "$site" && authority site)
	cat "$site/site.pem" "$site/site.key" >"$site/whole.pem"
	# How the proxy verifies the origin.
	export SSL_CERT_FILE=$origin/ca.pem
	rm ca.pem
}

teardown() {
	end_origin
}

# terminate BUNDLE
terminate() {
	allow_listed 'd["net"]["mitm"] = {"ca_bundle": "'"$1"'", "socket_map": []}'
}

# In the project, where it could be seen.
bring_authority() {
	mkdir keys
	cp -- "$site"/* keys/
	terminate "$project/keys/$1"
}

@test "curl trusts what the variables name, and each request is an event" {
	terminate "$site/site.pem"
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello?secret=1"
	event 'e["method"] == "GET" and e["path"] == "/hello" and e["verdict"] == "allow"'
	run grep -c '"type":"egress".*secret' "$BATS_TEST_TMPDIR/events"
	[[ $output == 0 ]]
	client sh -c 'for v in SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE; do
		eval "echo \$$v"; done | uniq -c; ls -l "$SSL_CERT_FILE"'
	[[ $stdout == *4\ /run/koda/ca-bundle.pem* && $stdout == *-r--r--r--* ]]
}

@test "python, requests, node and git trust it as well" {
	terminate "$site/site.pem"
	gets 'hello from the origin' python3 -c '
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' \
		"https://listed.test:$https/hello"
	git_identity
	new_repository "$BATS_TEST_TMPDIR/source"
	git clone -q --bare "$BATS_TEST_TMPDIR/source" "$origin/www/source.git"
	git -C "$origin/www/source.git" update-server-info
	gets '' git clone -q "https://listed.test:$https/source.git" copy
	[[ -e copy/.git/HEAD ]]
	event '(e["path"] or "").startswith("/source.git/")'
	if /usr/bin/python3 -c 'import requests' 2>/dev/null; then
		gets 'hello from the origin' /usr/bin/python3 -c '
import requests, sys
print(requests.get(sys.argv[1], timeout=20).text)' "https://listed.test:$https/hello"
	fi
	if command -v node >/dev/null; then
		gets 'hello from the origin' node -e '
const http = require("http"), tls = require("tls"), name = process.argv[1];
http.request({ host: "127.0.0.1", port: 3128, method: "CONNECT", path: name, headers: { Host: name } })
	.on("connect", (_, socket) => {
		const inside = tls.connect({ socket, servername: "listed.test" }, () =>
			inside.write(`GET /hello HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`));
		inside.pipe(process.stdout);
	}).end();' "listed.test:$https"
	fi
}

@test "pip and npm fetch packages, and each request is an event" {
	local python
	terminate "$site/site.pem"
	make_index
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import pip' 2>/dev/null || continue
		rm -f hello-1.0-py3-none-any.whl
		gets 'hello from the wheel' sh -c '"$0" -m pip download -q --no-cache-dir --retries 0 \
			--disable-pip-version-check --index-url "https://listed.test:'"$https"'/simple/" hello &&
			PYTHONPATH=$PWD/hello-1.0-py3-none-any.whl "$0" -m hello' "$python"
		event 'e.get("path") == "/simple/hello/" and e["verdict"] == "allow"'
		event 'e.get("path") == "/simple/hello/hello-1.0-py3-none-any.whl"'
	done
	# The twin: who is not told about the authority does not trust it.
	if python3 -c 'import pip' 2>/dev/null; then
		client sh -c 'unset REQUESTS_CA_BUNDLE CURL_CA_BUNDLE SSL_CERT_FILE; exec "$@"' sh \
			python3 -m pip download -d other --no-cache-dir --retries 0 \
			--disable-pip-version-check --index-url "https://listed.test:$https/simple/" hello
		[[ $status -eq 1 && ! -e other/hello-1.0-py3-none-any.whl ]]
	fi
	command -v npm >/dev/null || return 0
	make_registry
	# A file that npm's own configuration names would be the only one it trusts.
	local npm=(npm --globalconfig /none/g --userconfig /none/u --cache /tmp/npm --fetch-retries 0
		--registry "https://listed.test:$https/npm/" view hello version)
	gets 1.2.3 "${npm[@]}"
	event 'e.get("path") == "/npm/hello" and e["method"] == "GET"'
	client sh -c 'unset NODE_EXTRA_CA_CERTS SSL_CERT_FILE; exec "$@"' sh "${npm[@]}"
	[[ $status -ne 0 && $stdout != *1.2.3* ]]
}

@test "--opaque leaves a host alone: its own certificate is what a client sees" {
	terminate "$site/site.pem"
	cp -- "$origin/ca.pem" ca.pem
	client --opaque listed.test curl -sS "https://listed.test:$https/hello"
	[[ $status -eq 60 ]] # the authority of the site does not vouch for it
	gets 'hello from the origin' --opaque listed.test \
		curl -sS --cacert ca.pem "https://listed.test:$https/hello"
	event '"method" not in e and e["bytes_down"] > 0'
	# The name is still checked, and other hosts are not meant.
	client --opaque listed.test curl -sS --cacert ca.pem "https://other.test:$https/hello"
	[[ $status -eq 56 ]]
	gets 'hello from the origin' --opaque '*.listed.test' curl -sS "https://listed.test:$https/hello"
	event 'e.get("path") == "/hello"'
	client --opaque 'not a host' true
	[[ $status -eq 125 && $stderr == *'not a host'* ]]
}

@test "twin: without net.mitm the same request is not trusted" {
	allow_listed
	client curl -sS "https://listed.test:$https/hello"
	[[ $status -eq 60 ]]
	client sh -c 'ls /run/koda'
	[[ $status -ne 0 ]]
}

@test "a server that the host does not trust is not trusted by way of the proxy" {
	terminate "$site/site.pem"
	(cd -- "$BATS_TEST_TMPDIR" && authority stranger)
	SSL_CERT_FILE=$BATS_TEST_TMPDIR/stranger.pem client curl -sSi "https://listed.test:$https/hello"
	[[ $stdout != *'from the origin'* ]]
	[[ $stdout == *502* || $status -ne 0 ]]
}

@test "the bundle has the system's certificates and the authority's, and no key" {
	terminate "$site/whole.pem"
	client cat /run/koda/ca-bundle.pem
	[[ $status -eq 0 && $stdout != *'PRIVATE KEY'* ]]
	[[ $stdout == *"$(<"$site/site.pem")"* ]]
	if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
		[[ $stdout == "$(</etc/ssl/certs/ca-certificates.crt)"* ]]
	fi
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello"
}

@test "the files of the authority cannot be read inside, nor replaced" {
	local name
	bring_authority site.pem
	ln -s keys/site.key link
	for name in keys/site.pem keys/site.key link; do
		[[ -r $name ]]
		client cat "$name"
		[[ $status -eq 1 && $stdout == '' && $stderr == *'Permission denied'* ]]
		client sh -c 'mv "$0" moved; rm -f "$0"; echo x >"$0"' "keys/${name#keys/}"
		[[ -r $name ]]
	done
	cmp keys/site.key "$site/site.key"
	cmp keys/site.pem "$site/site.pem"
	# The twin: another file beside them.
	client cat keys/whole.pem
	[[ $status -eq 0 && $stdout == *'PRIVATE KEY'* ]]
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello"
}

@test "a bundle behind a link is hidden where it really is" {
	mkdir keys
	cp -- "$site"/* keys/
	ln -s "$project/keys/whole.pem" "$BATS_TEST_TMPDIR/authority.pem"
	terminate "$BATS_TEST_TMPDIR/authority.pem"
	client cat keys/whole.pem
	[[ $status -eq 1 && $stdout == '' ]]
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello"
}

@test "another name of the key is found, or nothing runs" {
	bring_authority whole.pem
	ln keys/whole.pem other-name
	client cat other-name
	[[ $status -ne 0 && $stdout == '' ]]
	mv other-name "$BATS_TEST_TMPDIR/elsewhere"
	client true
	[[ $status -eq 125 && $stderr == *'hard link'* ]]
}

@test "policy check says the same" {
	bring_authority site.pem
	run "$KODA_BIN" policy check --policy-fd 9 read keys/site.key 9<"$BATS_TEST_TMPDIR/policy"
	[[ $status -eq 1 && $output == *floor.hidden_name* ]]
	run "$KODA_BIN" policy check --policy-fd 9 read keys/whole.pem 9<"$BATS_TEST_TMPDIR/policy"
	[[ $status -eq 0 ]]
}

@test "an authority that is missing or damaged: nothing runs, and one line says why" {
	terminate "$site/none.pem"
	client touch ran
	says 125 none.pem
	echo nonsense >"$site/nonsense.pem"
	terminate "$site/nonsense.pem"
	client touch ran
	says 125 nonsense.pem 'net.mitm'
	cp "$site/site.key" "$site/onlykey.pem"
	terminate "$site/onlykey.pem"
	client touch ran
	says 125 onlykey.pem 'there is no certificate'
	[[ ! -e ran ]]
}

@test "an authority that the proxy cannot use: nothing runs, and one line says why" {
	(cd -- "$site" && authority stranger && cat site.pem stranger.key >mixed.pem)
	cp -- "$site/site.pem" "$site/odd.pem"
	cp -- "$site/stranger.key" "$site/odd.key"
	cp -- "$site/site.pem" "$site/empty.pem"
	: >"$site/empty.key"
	cp -- "$site/site.pem" "$site/garbled.pem"
	echo nonsense >"$site/garbled.key"
	openssl ec -in "$site/site.key" -aes128 -passout pass:x -out "$site/closed.key" 2>/dev/null
	cp -- "$site/site.pem" "$site/closed.pem"
	openssl req -x509 -key "$site/site.key" -days 2 -subj /CN=leaf -addext basicConstraints=CA:FALSE \
		-out "$site/leaf.pem" 2>/dev/null
	cp -- "$site/site.key" "$site/leaf.key"
	for name in mixed odd empty garbled closed leaf; do
		terminate "$site/$name.pem"
		client touch ran
		says 125 "$name.pem" 'net.mitm'
	done
	# The twin: the same way, with one that it can use.
	[[ ! -e ran ]]
	terminate "$site/site.pem"
	client touch ran
	[[ $status -eq 0 && -e ran ]]
}

@test "a key that cannot be opened is not taken for none" {
	terminate "$site/site.pem"
	rm "$site/site.key"
	ln -s /nowhere/site.key "$site/site.key"
	client touch ran
	says 125 site.pem 'net.mitm'
	rm "$site/site.key"
	mkdir "$site/site.key"
	client touch ran
	says 125 site.pem 'net.mitm'
	[[ ! -e ran ]]
	# The twin: there really is none.
	rmdir "$site/site.key"
	client touch ran
	[[ $status -eq 0 && -e ran ]]
}

# What a site hands out whose own proxy looks into TLS: the origin's certificate is signed by that
# authority, as it would be there.
@test "certificates without a key: clients trust them, and tunnels stay opaque" {
	cp -- "$origin/ca.pem" "$site/corporate.pem"
	terminate "$site/corporate.pem"
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello?secret=1"
	event '"method" not in e and e["bytes_down"] > 0 and e["verdict"] == "allow"'
	python3 -c '
import json, sys
start = [json.loads(line) for line in open(sys.argv[1])][0]
sys.exit(start["type"] != "start" or start["tls"] != "opaque")' "$BATS_TEST_TMPDIR/events"
	client sh -c 'for v in SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE; do
		eval "echo \$$v"; done | uniq -c; cat "$SSL_CERT_FILE"'
	[[ $stdout == *4\ /run/koda/ca-bundle.pem* && $stdout == *"$(<"$site/corporate.pem")"* ]]
	gets 'hello from the origin' python3 -c '
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' \
		"https://listed.test:$https/hello"
	git_identity
	new_repository "$BATS_TEST_TMPDIR/source"
	git clone -q --bare "$BATS_TEST_TMPDIR/source" "$origin/www/source.git"
	git -C "$origin/www/source.git" update-server-info
	gets '' git clone -q "https://listed.test:$https/source.git" copy
	[[ -e copy/.git/HEAD ]]
	if command -v node >/dev/null; then
		gets 'hello from the origin' node -e '
const http = require("http"), tls = require("tls"), name = process.argv[1];
http.request({ host: "127.0.0.1", port: 3128, method: "CONNECT", path: name, headers: { Host: name } })
	.on("connect", (_, socket) => {
		const inside = tls.connect({ socket, servername: "listed.test" }, () =>
			inside.write(`GET /hello HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`));
		inside.pipe(process.stdout);
	}).end();' "listed.test:$https"
	fi
	# The name is checked as in every tunnel.
	client curl -sS "https://other.test:$https/hello"
	[[ $status -ne 0 ]]
	# The twin: another authority, and nobody trusts the origin.
	terminate "$site/site.pem"
	rm "$site/site.key"
	client curl -sS "https://listed.test:$https/hello"
	[[ $status -eq 60 ]]
}

@test "certificates without a key can be read inside, and not replaced" {
	mkdir keys
	cp -- "$origin/ca.pem" keys/corporate.pem
	terminate "$project/keys/corporate.pem"
	client cat keys/corporate.pem
	[[ $status -eq 0 && $stdout == "$(<"$origin/ca.pem")" ]]
	client sh -c 'mv "$0" moved; rm -f "$0"; echo x >"$0"; echo x >keys/corporate.key' keys/corporate.pem
	cmp keys/corporate.pem "$origin/ca.pem"
	[[ ! -s keys/corporate.key ]]
	gets 'hello from the origin' curl -sS "https://listed.test:$https/hello"
}

@test "a key that is no PEM block, but can be read as one, is not taken for none" {
	local name
	mkdir keys
	{ sed 's/^/ /' "$site/site.key" && cat "$site/site.pem"; } >keys/indented.pem
	{ cat "$site/site.pem" && sed 's/^/# /' "$site/site.key"; } >keys/comment.pem
	for name in indented comment; do
		terminate "$project/keys/$name.pem"
		client sh -c 'touch ran; cat "$0"' "keys/$name.pem"
		says 125 "$name.pem" 'net.mitm'
		[[ $stdout == '' && ! -e ran ]]
		koda proxy --listen "unix:$BATS_TEST_TMPDIR/socket" --policy-fd 9 9<"$BATS_TEST_TMPDIR/policy"
		refuses 'private key'
	done
	# The twin: the certificate alone.
	cp -- "$site/site.pem" keys/alone.pem
	terminate "$project/keys/alone.pem"
	client cat keys/alone.pem
	[[ $status -eq 0 && $stdout == "$(<"$site/site.pem")" ]]
}

@test "the start event says that TLS is terminated, and without net.mitm nothing" {
	terminate "$site/site.pem"
	client true
	grep -q '"type":"start".*"tls":"terminated"' "$BATS_TEST_TMPDIR/events"
	allow_listed
	client true
	run grep -c '"tls"' "$BATS_TEST_TMPDIR/events"
	[[ $output == 0 ]]
}

@test "the plan shows the file" {
	terminate "$site/site.pem"
	run "$KODA_BIN" plan --policy-fd 9 true 9<"$BATS_TEST_TMPDIR/policy"
	[[ $output == *'file         /run/koda/ca-bundle.pem size='*' mode=444'*'# net.mitm'* ]]
	koda plan --json --policy-fd 9 true 9<"$BATS_TEST_TMPDIR/policy"
	json_is '[s["mode"] for s in d["steps"] if s["op"] == "file"]' '["0444"]'
	json_is '[s["bytes"] > 500 for s in d["steps"] if s["op"] == "file"]' '[true]'
}
