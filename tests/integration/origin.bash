# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2016 # shells inside expand
# shellcheck disable=SC2154 # project comes from helper.bash
# shellcheck disable=SC2034 # for the tests
# Hosts for clients in a sandbox, on top of helper.bash and run_helper.bash: listed.test is allowed
# by the policy and other.test is not; both are this machine, by a hosts file that only the runner
# and its proxy see.

# authority NAME: NAME.pem and NAME.key in the working directory.
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
		-subj "/CN=$1 of the test" -addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,keyCertSign -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# start_origin: sets http, https and echo, the ports. The authority is in the project: ca.pem.
start_origin() {
	origin=$BATS_TEST_TMPDIR/origin
	mkdir -p "$origin/www"
	echo 'hello from the origin' >"$origin/www/hello"
	(
		cd -- "$origin" || exit
		authority ca
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
			-subj /CN=listed.test -keyout key.pem -out request.pem 2>/dev/null
		openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -days 2 -out cert.pem \
			-extfile <(echo subjectAltName=DNS:listed.test,DNS:other.test) 2>/dev/null
	)
	cp -- "$origin/ca.pem" "$project/ca.pem"
	printf '127.0.0.1 localhost listed.test other.test\n' >"$origin/hosts"
	hosts=(sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$origin/hosts")
	python3 "$BATS_TEST_DIRNAME/origin.py" "$origin" 3>&- &
	origin_pid=$!
	appears "$origin/ports"
	read -r http https echo <"$origin/ports"
}

end_origin() {
	if [[ ${origin_pid:-} ]]; then
		kill "$origin_pid" 2>/dev/null || true
		wait "$origin_pid" || true
	fi
}

# make_index: /simple/ of the origin is an index of Python packages, with one: hello.
make_index() {
	mkdir -p "$origin/www/simple/hello"
	python3 - "$origin/www/simple/hello" <<-'EOF'
		import sys, zipfile
		with zipfile.ZipFile(sys.argv[1] + "/hello-1.0-py3-none-any.whl", "w") as z:
		    z.writestr("hello.py", "print('hello from the wheel')\n")
		    z.writestr("hello-1.0.dist-info/METADATA",
		               "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
		    z.writestr("hello-1.0.dist-info/WHEEL",
		               "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		    z.writestr("hello-1.0.dist-info/RECORD", "")
	EOF
	echo '<a href="hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a>' \
		>"$origin/www/simple/hello/index.html"
}

# make_registry: /npm/ of the origin is a registry that knows one package: hello.
make_registry() {
	mkdir -p "$origin/www/npm"
	printf '%s' '{"name":"hello","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"hello",
		"version":"1.2.3","dist":{"tarball":"http://listed.test/x.tgz"}}}}' >"$origin/www/npm/hello"
}

# allow_listed [STATEMENT]: a policy like that of auto, which allows listed.test on the origin's
# ports; changed by Python over d.
allow_listed() {
	"$KODA_BIN" policy show | python3 -c '
import json, sys
d = json.load(sys.stdin)
d["limits"]["max_rss_bytes"] = None  # a sanitized koda, run inside, reserves terabytes
d["net"]["allowed_domains"] = ["listed.test:" + port for port in sys.argv[1:4]]
exec(sys.argv[4])
json.dump(d, sys.stdout)' "$http" "$https" "$echo" "${1:-}" >"$BATS_TEST_TMPDIR/policy"
}

# with_hosts COMMAND...: where the names of the test are known.
with_hosts() {
	unshare -Urm "${hosts[@]}" "$@"
}

# client ARG...: koda-sandbox run ARG... under that policy; events are in $BATS_TEST_TMPDIR/events.
client() {
	status=0 stdout='' stderr=''
	: >"$BATS_TEST_TMPDIR/events"
	with_hosts "$KODA_BIN" run --policy-fd 9 --wall-time 60 \
		--events "$BATS_TEST_TMPDIR/events" "$@" \
		9<"$BATS_TEST_TMPDIR/policy" </dev/null >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" || status=$?
	slurp stdout "$BATS_TEST_TMPDIR/out"
	slurp stderr "$BATS_TEST_TMPDIR/err"
}

# event EXPRESSION: holds for some egress event e.
event() {
	if ! python3 -c '
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(not any(eval(sys.argv[2]) for e in events if e["type"] == "egress"))' \
		"$BATS_TEST_TMPDIR/events" "$1"; then
		cat -- "$BATS_TEST_TMPDIR/events"
		echo "no event with: $1"
		return 1
	fi
}

# gets TEXT ARG...: the client succeeds and prints TEXT, and the connection was allowed.
gets() {
	local text=$1
	shift
	client "$@"
	if [[ $status -ne 0 || $stdout != *"$text"* ]]; then
		show_result
		echo "expected in its output: $text"
		return 1
	fi
	event 'e["host"] == "listed.test" and e["verdict"] == "allow"'
}

# is_told TEXT ARG...: the client does not get the page but TEXT, on either stream.
is_told() {
	local text=$1
	shift
	client "$@"
	if [[ $stdout == *'from the origin'* || $stdout$stderr != *"$text"* ]]; then
		show_result
		echo "expected in its output: $text"
		return 1
	fi
	event 'e["host"] == "other.test" and e["verdict"] == "deny" and e["reason"] == "not_listed"'
}
