#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2154 # shells inside expand; http, https, hosts come from origin.bash
# Clients that not every machine has, and a server of their own for ssh. A client that is not
# installed is left out, and said so.

setup() {
	load helper
	load run_helper
	load origin
	new_project
	start_origin
	allow_listed
}

teardown() {
	end_ssh
	end_origin
}

lacks() {
	[[ ${KODA_TEST_MUST_RUN-} != 1 ]] || { echo "$1 is not installed"; return 1; }
	skip "$1 is not installed"
}

# start_ssh [PORT...]: an ssh server for the user who runs this, on a port of its own, or on the first
# of these that is free; it is ssh_port. The client's key is in the project.
start_ssh() {
	local i
	ssh=$BATS_TEST_TMPDIR/ssh
	mkdir "$ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$project/key"
	cp -- key.pub "$ssh/authorized"
	ssh_port=$(python3 -c 'import socket, sys
for port in sys.argv[1:] or ["0"]:
    try:
        s = socket.create_server(("127.0.0.1", int(port)))
    except OSError:
        continue
    print(s.getsockname()[1])
    break' "$@")
	printf '%s\n' "Port $ssh_port" 'ListenAddress 127.0.0.1' "HostKey \"$ssh/host\"" \
		"AuthorizedKeysFile \"$ssh/authorized\"" 'StrictModes no' 'UsePAM no' 'PidFile none' \
		'PasswordAuthentication no' 'PermitRootLogin yes' >"$ssh/config"
	echo "[listed.test]:$ssh_port $(<"$ssh/host.pub")" >known
	# As root it wants a directory that only an installed service makes.
	if [[ $EUID -eq 0 ]]; then
		unshare -m sh -c 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"' sh \
			/usr/sbin/sshd -D -e -f "$ssh/config" 2>"$ssh/log" 3>&- &
	else
		/usr/sbin/sshd -D -e -f "$ssh/config" 2>"$ssh/log" 3>&- &
	fi
	ssh_pid=$!
	for ((i = 0; i < 600; i++)); do
		if grep -q 'listening' "$ssh/log"; then
			return 0
		fi
		sleep 0.05
	done
	cat -- "$ssh/log"
	return 1
}

end_ssh() {
	if [[ ${ssh_pid:-} ]]; then
		kill "$ssh_pid" 2>/dev/null || true
		wait "$ssh_pid" || true
		ssh_pid=
	fi
}

@test "ssh and git over ssh, to a real server, by koda-sandbox connect" {
	local command user
	if [[ ! -x /usr/sbin/sshd ]] || ! command -v ssh >/dev/null; then
		lacks 'an ssh client or server'
	fi
	user=$(id -un)
	cp -- "$KODA_BIN" koda
	start_ssh
	allow_listed 'd["net"]["allowed_domains"].append("listed.test:'"$ssh_port"'")'
	command="ssh -F none -i key -o IdentitiesOnly=yes -o BatchMode=yes -o 'UserKnownHostsFile=\"$PWD/known\"'"
	command+=" -o GlobalKnownHostsFile=none -o ProxyCommand='env ASAN_OPTIONS=detect_leaks=0 \"$PWD/koda\" connect %h %p'"
	gets 'a word from outside' -c "$command -p $ssh_port $user@listed.test echo a word from outside"
	# Much in both directions.
	head -c 3000000 /dev/urandom >bytes
	gets "$(sha256sum <bytes)" -c "$command -p $ssh_port $user@listed.test cat <bytes | sha256sum"
	git_identity
	new_repository "$BATS_TEST_TMPDIR/source"
	gets '' sh -c 'GIT_SSH_COMMAND="$0" git clone -q "$1" copy' "${command/-i key/-i \'$PWD/key\'}" \
		"ssh://$user@listed.test:$ssh_port$BATS_TEST_TMPDIR/source"
	[[ $(git -C copy rev-parse HEAD) == "$(git -C "$BATS_TEST_TMPDIR/source" rev-parse HEAD)" ]]
	client -c "$command -p $ssh_port $user@other.test true"
	[[ $status -eq 255 && $stderr == *'refused by the sandbox: not_listed'* ]]
	# Without the helper there is no way at all.
	client -c "${command%% -o ProxyCommand*} -o ConnectTimeout=5 -p $ssh_port $user@127.0.0.1 true"
	[[ $status -eq 255 ]]
}

# As ssh.github.com and altssh.gitlab.com have it on 443: on a port where everything else that is
# neither HTTP nor TLS is refused.
@test "ssh and git over ssh on a port that is for the web" {
	local command user
	if [[ ! -x /usr/sbin/sshd ]] || ! command -v ssh >/dev/null; then
		lacks 'an ssh client or server'
	fi
	user=$(id -un)
	cp -- "$KODA_BIN" koda
	start_ssh 8443 8008 8888 8000 5000 3000
	allow_listed 'd["net"]["allowed_domains"].append("listed.test:'"$ssh_port"'")'
	command="ssh -F none -i '$PWD/key' -o IdentitiesOnly=yes -o BatchMode=yes -o 'UserKnownHostsFile=\"$PWD/known\"'"
	command+=" -o GlobalKnownHostsFile=none -o ProxyCommand='env ASAN_OPTIONS=detect_leaks=0 \"$PWD/koda\" connect %h %p'"
	gets 'a word from outside' -c "$command -p $ssh_port $user@listed.test echo a word from outside"
	git_identity
	new_repository "$BATS_TEST_TMPDIR/source"
	gets '' sh -c 'GIT_SSH_COMMAND="$0" git clone -q "$1" copy' "$command" \
		"ssh://$user@listed.test:$ssh_port$BATS_TEST_TMPDIR/source"
	[[ $(git -C copy rev-parse HEAD) == "$(git -C "$BATS_TEST_TMPDIR/source" rev-parse HEAD)" ]]
	client -c "$command -p $ssh_port $user@other.test true"
	[[ $status -eq 255 && $stderr == *'refused by the sandbox: not_listed'* ]]
}

@test "python: httpx" {
	local python text='
import httpx, ssl, sys
trust = ssl.create_default_context(cafile="ca.pem")
try:
    print(httpx.get(sys.argv[1], verify=trust, timeout=20).text)
except httpx.ProxyError as error:
    print(error)'
	python=
	for name in python3 /usr/bin/python3; do
		"$name" -c 'import httpx' 2>/dev/null && python=$name
	done
	if [[ ! $python ]]; then
		lacks httpx
	fi
	# It does not even start where ALL_PROXY has a scheme that it does not know.
	gets 'hello from the origin' "$python" -c "$text" "http://listed.test:$http/hello"
	gets 'hello from the origin' "$python" -c "$text" "https://listed.test:$https/hello"
	is_told 'not_listed' "$python" -c "$text" "http://other.test:$http/hello"
	is_told '403 Forbidden' "$python" -c "$text" "https://other.test:$https/hello"
}

@test "Go: net/http" {
	if ! command -v go >/dev/null; then
		lacks Go
	fi
	mkdir -p "$BATS_TEST_TMPDIR/go"
	cat >"$BATS_TEST_TMPDIR/go/main.go" <<-'EOF'
		package main

		import (
			"fmt"
			"io"
			"net/http"
			"os"
		)

		func main() {
			answer, err := http.Get(os.Args[1])
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			io.Copy(os.Stdout, answer.Body)
		}
	EOF
	(cd -- "$BATS_TEST_TMPDIR/go" && GO111MODULE=off GOFLAGS='' GOCACHE=$PWD/cache CGO_ENABLED=0 \
		go build -o "$project/client" main.go)
	gets 'hello from the origin' ./client "http://listed.test:$http/hello"
	gets 'hello from the origin' sh -c 'SSL_CERT_FILE=ca.pem ./client "$0"' "https://listed.test:$https/hello"
	is_told not_listed ./client "http://other.test:$http/hello"
	is_told Forbidden sh -c 'SSL_CERT_FILE=ca.pem ./client "$0"' "https://other.test:$https/hello"
}

@test "apt: an index and a package" {
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		lacks apt
	fi
	local deb=$origin/www/deb
	mkdir -p "$deb" "$BATS_TEST_TMPDIR/hello/DEBIAN" apt/lists/partial apt/cache/archives/partial
	printf '%s\n' 'Package: koda-hello' 'Version: 1.0' 'Architecture: all' \
		'Maintainer: Nobody <nobody@example.test>' 'Description: hello from the package' \
		>"$BATS_TEST_TMPDIR/hello/DEBIAN/control"
	chmod 755 "$BATS_TEST_TMPDIR/hello/DEBIAN" # whatever the umask
	dpkg-deb -b "$BATS_TEST_TMPDIR/hello" "$deb/hello.deb" >/dev/null
	(
		cat -- "$BATS_TEST_TMPDIR/hello/DEBIAN/control"
		printf 'Filename: ./hello.deb\nSize: %s\nSHA256: %s\n' "$(stat -c %s "$deb/hello.deb")" \
			"$(sha256sum <"$deb/hello.deb" | cut -d' ' -f1)"
	) >"$deb/Packages"
	echo "deb [trusted=yes] http://listed.test:$http/deb ./" >apt/sources.list
	: >apt/status
	local options="-qq -o Dir::Etc::sourcelist='$PWD/apt/sources.list' -o Dir::Etc::sourceparts=/nowhere \
		-o Dir::State='$PWD/apt' -o Dir::State::status='$PWD/apt/status' -o Dir::Cache='$PWD/apt/cache' \
		-o APT::Sandbox::User= -o Debug::NoLocking=true -o Acquire::Retries=0"
	gets 'hello from the package' -c "apt-get $options update >&2 &&
		apt-get $options download koda-hello >&2 && dpkg-deb -f koda-hello_1.0_all.deb Description"
	sed -i 's/listed/other/' apt/sources.list
	is_told 403 -c "apt-get $options update"
}
