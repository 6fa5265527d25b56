#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# Wrong policies and wrong arguments: exit 125, one line that names the place, nothing else.

setup() {
	load helper
	new_project
	echo '{}' >good.json
}

# bad PLACE: the policy in bad.json is refused through every door, and the line names the place.
bad() {
	local place=$1
	koda policy show --policy-fd 3 3<bad.json
	refuses "koda-sandbox: --policy-fd 3: $place"
	koda policy check --policy-fd 3 read / 3<bad.json
	refuses "koda-sandbox: --policy-fd 3: $place"
	koda env --narrow-fd 4 -c ls 4<bad.json
	refuses "koda-sandbox: --narrow-fd 4: $place"
	koda policy compose bad.json good.json
	refuses "koda-sandbox: bad.json: $place"
	koda policy compose good.json bad.json
	refuses "koda-sandbox: bad.json: $place"
	koda policy compose good.json - <bad.json
	refuses "koda-sandbox: standard input: $place"
}

# bad_text TEXT PLACE
bad_text() {
	printf '%s' "$1" >bad.json
	bad "$2"
}

@test "unknown keys" {
	bad_text '{"fss":{}}' '/fss: '
	bad_text '{"fs":{"deny_reads":[]}}' '/fs/deny_reads: '
	bad_text '{"net":{"domains":[]}}' '/net/domains: '
	bad_text '{"limits":{"cpu":1}}' '/limits/cpu: '
	bad_text '{"net":{"mitm":{"ca_bundle":"/c","key":"/k"}}}' '/net/mitm/key: '
	bad_text '{"a/b~c":1}' '/a~1b~0c: '
	bad_text '{"":1}' '/: '
}

@test "duplicate keys" {
	bad_text '{"fs":{},"fs":{}}' '1:'
	bad_text $'{"fs":{"deny_read":["/a"],\n"deny_read":[]}}' '2:'
	bad_text '{"trust":"auto","tr\u0075st":"auto"}' '1:'
}

@test "wrong types" {
	bad_text '[]' ''
	bad_text '"x"' ''
	bad_text 'null' ''
	bad_text '1' ''
	bad_text '{"fs":[]}' '/fs: '
	bad_text '{"fs":null}' '/fs: '
	bad_text '{"net":"x"}' '/net: '
	bad_text '{"limits":7}' '/limits: '
	for list in deny_read allow_read_within_deny deny_write_within_allow; do
		bad_text "{\"fs\":{\"$list\":null}}" "/fs/$list: "
		bad_text "{\"fs\":{\"$list\":\"/a\"}}" "/fs/$list: "
		bad_text "{\"fs\":{\"$list\":[\"/a\",1]}}" "/fs/$list/1: "
	done
	bad_text '{"fs":{"allow_write":{}}}' '/fs/allow_write: '
	bad_text '{"fs":{"allow_write":[null]}}' '/fs/allow_write/0: '
	for list in allowed_domains denied_domains; do
		bad_text "{\"net\":{\"$list\":null}}" "/net/$list: "
		bad_text "{\"net\":{\"$list\":[[]]}}" "/net/$list/0: "
	done
	bad_text '{"fs":{"allow_git_config":1}}' '/fs/allow_git_config: '
	bad_text '{"net":{"allow_local_binding":"true"}}' '/net/allow_local_binding: '
	bad_text '{"net":{"weaker_macos_isolation":0}}' '/net/weaker_macos_isolation: '
	bad_text '{"net":{"mitm":[]}}' '/net/mitm: '
	bad_text '{"net":{"mitm":{}}}' '/net/mitm/ca_bundle: '
	bad_text '{"net":{"mitm":{"ca_bundle":null}}}' '/net/mitm/ca_bundle: '
	bad_text '{"net":{"mitm":{"ca_bundle":"/c","socket_map":{}}}}' '/net/mitm/socket_map: '
	bad_text '{"net":{"mitm":{"ca_bundle":"/c","socket_map":[["a.example"]]}}}' '/net/mitm/socket_map/0'
	bad_text '{"net":{"mitm":{"ca_bundle":"/c","socket_map":[["a.example",1]]}}}' '/net/mitm/socket_map/0'
	bad_text '{"limits":{"wall_time_secs":"60"}}' '/limits/wall_time_secs: '
	bad_text '{"limits":{"wall_time_secs":true}}' '/limits/wall_time_secs: '
	bad_text '{"trust":null}' '/trust: '
	bad_text '{"trust":"AUTO"}' '/trust: '
	bad_text '{"trust":"yes"}' '/trust: '
}

@test "relative paths" {
	for path in a ./a ../a '' ' /a' \~/a 'C:\\\\a'; do
		bad_text "{\"fs\":{\"deny_read\":[\"$path\"]}}" '/fs/deny_read/0: '
	done
	bad_text '{"fs":{"allow_write":["/a","b"]}}' '/fs/allow_write/1: '
	bad_text '{"net":{"mitm":{"ca_bundle":"c.pem"}}}' '/net/mitm/ca_bundle: '
	bad_text '{"net":{"mitm":{"ca_bundle":"/c","socket_map":[["a.example","s"]]}}}' '/net/mitm/socket_map/0'
	bad_text '{"fs":{"deny_read":["%a"]}}' '/fs/deny_read/0: '
	bad_text '{"fs":{"deny_read":["%"]}}' '/fs/deny_read/0: '
}

@test "parent components" {
	for path in /.. /a/.. /a/../b /a/b/.. '%/a/%2E%2E'; do
		bad_text "{\"fs\":{\"allow_write\":[\"$path\"]}}" '/fs/allow_write/0: '
	done
}

@test "NUL, escaped, encoded and raw" {
	bad_text '{"fs":{"deny_read":["/a\u0000b"]}}' '1:'
	bad_text '{"trust\u0000":"auto"}' '1:'
	bad_text '{"fs":{"deny_read":["%/a%00b"]}}' '/fs/deny_read/0: '
	printf '{"fs":{"deny_read":["/a\0b"]}}' >bad.json
	bad '1:'
	printf '{}\0' >bad.json
	bad '1:'
}

@test "lone surrogates and text that is not UTF-8" {
	bad_text '{"fs":{"deny_read":["/\ud800"]}}' '1:'
	bad_text '{"fs":{"deny_read":["/\udc00x"]}}' '1:'
	bad_text '{"fs":{"deny_read":["/\ud800\u0041"]}}' '1:'
	bad_text $'{"fs":{"deny_read":["/\xff"]}}' '1:'
	bad_text $'{"fs":{"deny_read":["/\xc0\xaf"]}}' '1:'
	bad_text $'{"fs":{"deny_read":["/\xed\xa0\x80"]}}' '1:'
	bad_text $'\xef\xbb\xbf{}' '1:'
}

@test "broken percent escapes" {
	for path in '%/a%' '%/a%4' '%/a%4g' '%/%%'; do
		bad_text "{\"fs\":{\"deny_read\":[\"$path\"]}}" '/fs/deny_read/0: '
	done
}

@test "numbers out of range" {
	for number in -1 9223372036854775808 18446744073709551616 1.5 1e3 1E400; do
		printf '{"limits":{"max_rss_bytes":%s}}' "$number" >bad.json
		bad ''
		[[ $stderr == *'standard input: /limits/max_rss_bytes: '* || $stderr == *'standard input: 1:'* ]]
	done
	bad_text '{"fs":{"mandatory_deny_search_depth":256}}' '/fs/mandatory_deny_search_depth: '
	bad_text '{"fs":{"mandatory_deny_search_depth":-1}}' '/fs/mandatory_deny_search_depth: '
	bad_text '{"limits":{"max_open_fds":01}}' '1:'
	bad_text '{"limits":{"max_open_fds":NaN}}' '1:'
}

@test "depth bombs" {
	python3 -c 'print("[" * 17, end="")' >bad.json
	bad '1:17: '
	python3 -c 'print("[" * 500000 + "]" * 500000, end="")' >bad.json
	bad '1:17: '
	python3 -c 'print("{\"fs\":" * 100000, end="")' >bad.json
	bad '1:'
	python3 -c 'print("\n\n" + "[" * 16 + "]" * 16, end="")' >bad.json
	bad ''
}

@test "over-long input" {
	python3 -c 'print("{}" + " " * (1024 * 1024 - 1), end="")' >bad.json
	bad ''
	[[ $stderr == *1048576* ]]
	# One byte less fits.
	python3 -c 'print("{}" + " " * (1024 * 1024 - 2), end="")' >exact.json
	koda policy compose exact.json exact.json
	succeeds
	# A source without end is not read to the end.
	koda policy show --policy-fd 3 3</dev/zero
	refuses '--policy-fd 3: '
	koda policy compose good.json - < <(yes)
	refuses 'standard input: '
}

@test "over-long paths" {
	python3 -c 'print("{\"fs\":{\"deny_read\":[\"" + "/a" * 2048 + "\"]}}", end="")' >bad.json
	bad '/fs/deny_read/0: '
	python3 -c 'print("{\"fs\":{\"deny_read\":[\"/" + "a" * 256 + "\"]}}", end="")' >bad.json
	bad '/fs/deny_read/0: '
	python3 -c 'print("{\"fs\":{\"deny_read\":[\"" + "/a" * 2047 + "\", \"/" + "a" * 255 + "\"]}}")' >long.json
	koda policy compose long.json long.json
	succeeds
}

@test "text that is no JSON, or more than one" {
	bad_text '{' '1:'
	bad_text '{}x' '1:'
	bad_text '{} {}' '1:'
	bad_text $'{\n  "fs": {},\n}' '3:'
	bad_text '// comment' '1:'
	bad_text "{'fs':{}}" '1:'
	bad_text '{"fs":{"deny_read":["/a",]}}' '1:'
	bad_text 'nonsense' '1:'
}

@test "empty files" {
	: >bad.json
	bad '1:1: '
	printf ' \n\t ' >bad.json
	bad ''
	koda policy compose good.json /dev/null
	refuses '/dev/null: '
	koda policy show --policy-fd 3 3</dev/null
	refuses '--policy-fd 3: '
	# A descriptor that was read before is at its end.
	koda policy show --policy-fd 3 --narrow-fd 3 3<good.json
	refuses '-fd 3: '
}

@test "bad host patterns" {
	for pattern in '' ' ' '*.com' '*.co.uk' '*.xyz' '*' '*:443' 'a*.example.org' '*.*.example.org' \
		'a.*.org' '*.' 'a b' 'a..b' 'x:0' 'x:65536' 'x:y' '10.0.0.1/8' '10.0.0.0/33' '::1/129' \
		'[::1' '[::1]x' 'fe80::1%eth0' '*.10.0.0.1' 'http://x.example/' 'x.example/24'; do
		bad_text "{\"net\":{\"allowed_domains\":[\"ok.example\",\"$pattern\"]}}" '/net/allowed_domains/1: '
	done
	for pattern in '' '*.*' 'a b' '10.0.0.1/8'; do
		bad_text "{\"net\":{\"denied_domains\":[\"$pattern\"]}}" '/net/denied_domains/0: '
	done
	koda policy show --deny-domain 'a*b'
	refuses '--deny-domain a*b: '
}

@test "a directory or something else instead of a file" {
	mkdir folder
	koda policy compose folder good.json
	refuses 'koda-sandbox: folder: ' directory
	koda policy compose good.json folder
	refuses 'koda-sandbox: folder: ' directory
	koda policy compose - good.json <folder
	refuses 'standard input: '
	koda policy show --policy-fd 3 3<folder
	refuses '--policy-fd 3: '
	koda policy compose /dev/zero good.json
	refuses '/dev/zero: '
}

@test "a FIFO does not hang" {
	mkfifo pipe
	status=0
	timeout 10 "$KODA_BIN" policy compose pipe good.json >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" || status=$?
	stderr=$(<"$BATS_TEST_TMPDIR/err")
	refuses 'koda-sandbox: pipe: '
}

@test "files that are missing or not ours to read" {
	koda policy compose missing.json good.json
	refuses 'koda-sandbox: missing.json: ' 'No such file'
	koda policy compose good.json nowhere/x.json
	refuses 'koda-sandbox: nowhere/x.json: ' 'No such file'
	koda policy compose '' good.json
	refuses 'No such file'
	if [[ $EUID -ne 0 ]]; then
		echo '{}' >secret.json
		chmod 000 secret.json
		koda policy compose secret.json good.json
		refuses 'koda-sandbox: secret.json: ' 'Permission denied'
	fi
}

@test "descriptors that cannot be read" {
	koda policy show --policy-fd 9 9<&-
	refuses '--policy-fd 9: ' 'Bad file descriptor; open it for reading'
	koda policy show --narrow-fd 9 9<&-
	refuses '--narrow-fd 9: ' 'Bad file descriptor; open it for reading'
	koda policy check --policy-fd 9 read / 9>"$BATS_TEST_TMPDIR/write-only"
	refuses '--policy-fd 9: ' 'Bad file descriptor'
	koda policy compose - good.json <&-
	refuses 'standard input: ' 'Bad file descriptor'
	koda policy compose /dev/fd/9 good.json 9<&-
	refuses '/dev/fd/9: ' 'Bad file descriptor'
}

@test "descriptor numbers" {
	for number in '' x -1 +3 ' 3' 3x 0x3 2147483648 99999999999999999999 3.0; do
		koda policy show --policy-fd "$number"
		refuses "--policy-fd $number"
		koda policy show --narrow-fd="$number"
		refuses "--narrow-fd $number"
	done
}

@test "sizes and counts" {
	for size in '' x -1 1.5 1KB 1T K 9223372036854775808 8589934592G 0; do
		koda policy show --memory "$size"
		refuses "--memory $size"
	done
	koda policy show --memory 1023K
	refuses "--memory 1023K" "at least 1M"
	for number in '' x -1 1K 0 99999999999999999999; do
		koda policy show --max-procs "$number"
		refuses "--max-procs $number"
	done
	for number in '' x -1 1m 301 1e9; do
		koda policy show --wall-time="$number"
		refuses --wall-time
	done
	koda policy show --max-output 1X
	refuses '--max-output 1X'
}

@test "trust modes and roots" {
	for trust in '' x 'auto ' autoo 2 $'plan\n'; do
		koda policy show --trust "$trust"
		refuses '--trust '
	done
	koda policy show --root ''
	refuses '--root'
	koda policy show --cwd ''
	refuses '--cwd'
	koda policy show --root "/$(printf 'x/%.0s' {1..3000})"
	refuses
	koda policy show --deny-read ''
	refuses '--deny-read'
	koda policy show --deny-write "$(printf 'x%.0s' {1..300})"
	refuses '--deny-write'
}

@test "a loop of links is no path" {
	ln -s loop loop
	koda policy check read loop/x
	refuses loop
	koda policy show --root loop
	refuses loop
	koda policy check --deny-read loop read /
	refuses loop
}

@test "a working directory that is gone" {
	mkdir gone
	cd gone
	rmdir ../gone
	for command in 'policy show' 'run true'; do
		# shellcheck disable=SC2086 # words
		koda $command
		refuses 'cannot tell the working directory' 'change to a directory that exists, or name another project root'
	done
	koda policy check --root "$project" read x
	refuses
	koda policy show --root "$project"
	succeeds
}

@test "messages stay one safe line" {
	bad_text '{"evil\n\u001b[31m\u0085\u2028\u202e":1}' '/evil'
	printf '{"%s":1}' "$(printf 'k%.0s' {1..5000})" >bad.json
	bad '/kkk'
	printf '{"fs":{"deny_read":["%s"]}}' "$(printf 'k%.0s' {1..4000})" >bad.json
	bad '/fs/deny_read/0: '
	bad_text '{"net":{"allowed_domains":["\u001b]0;x\u0007"]}}' '/net/allowed_domains/0: '
	name=$'new\nline\e.json'
	echo '[]' >"$name"
	koda policy compose "$name" good.json
	refuses 'new\x0aline\x1b.json: '
	name=$(printf 'n%.0s' {1..200}).json
	echo '[]' >"$name"
	koda policy compose "$name" good.json
	refuses 'nnn'
}

@test "a URL is told from a host with a bad port" {
	local url
	for url in https://github.com/ https://github.com:443/; do
		koda policy check connect "$url"
		refuses "host '$url': is a URL; give its host alone, or HOST:PORT"
		koda policy show --deny-domain "$url"
		refuses "host '$url': is a URL"
	done
}
