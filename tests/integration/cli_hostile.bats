#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# Attempts to widen a policy, to fool whoever reads the output, or to be understood in two ways.
# Each has a twin next to it: the honest use that has to go on working.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	base=${project%/*}
	HOME=$base/home
}

# ascii: nothing but ASCII was printed, and only newlines of its controls. The directory of the test may
# have letters of its own, which count for nothing.
ascii() {
	if python3 -c '
import os, sys
sys.stdout.buffer.write(sys.stdin.buffer.read().replace(os.fsencode(sys.argv[1]), b""))' \
		"$base" <"$BATS_TEST_TMPDIR/out" | LC_ALL=C grep -qP '[^\x20-\x7e]'; then
		od -c "$BATS_TEST_TMPDIR/out"
		return 1
	fi
}

# check VERDICT ARG...: policy check gives that verdict. Descriptor 3 is inherited.
check() {
	local verdict=$1
	shift
	koda policy check "$@"
	if [[ $stdout != "$verdict "* || -n $stderr ]]; then
		show_result
		echo "expected: $verdict $*"
		return 1
	fi
}

# --- links and composition ---

@test "a child cannot widen through a link in the project" {
	ln -s /etc link
	child="{\"fs\":{\"allow_write\":[\"$project/link\"]}}"
	check deny --narrow-fd 3 write /etc/passwd 3<<<"$child"
	check deny --narrow-fd 3 write link/passwd 3<<<"$child"
	check deny --narrow-fd 3 write src/main.c 3<<<"$child"
	child="{\"fs\":{\"allow_write\":[\"$project/src\"]}}"
	check allow --narrow-fd 3 write src/main.c 3<<<"$child"
	check deny --narrow-fd 3 write main.c 3<<<"$child"
}

@test "a link in the project does not lead a host's policy out of it" {
	ln -s /etc link
	policy="{\"fs\":{\"allow_write\":[\"$project/link\"]}}"
	check deny --policy-fd 3 write /etc/passwd 3<<<"$policy"
	check deny --policy-fd 3 write link/passwd 3<<<"$policy"
	# A link where the command cannot write means what it leads to.
	mkdir -p "$base/real/w"
	ln -s real "$base/alias"
	policy="{\"fs\":{\"allow_write\":[\"$base/alias/w\"]}}"
	check allow --policy-fd 3 write "$base/real/w/x" 3<<<"$policy"
	check allow --policy-fd 3 write "$base/alias/w/x" 3<<<"$policy"
	check deny --policy-fd 3 write "$base/real/x" 3<<<"$policy"
}

@test "a child's hole does not reach a secret by another name" {
	mkdir -p "$HOME/secret"
	touch "$HOME/secret/key"
	parent="{\"fs\":{\"deny_read\":[\"$HOME/secret\"]}}"
	for hole in "/proc/self/root$HOME/secret/key" "$HOME/secret/key"; do
		child="{\"fs\":{\"allow_read_within_deny\":[\"$hole\"]}}"
		check deny --policy-fd 3 --narrow-fd 4 read "$HOME/secret/key" 3<<<"$parent" 4<<<"$child"
	done
	# A hole that both have stays open.
	parent="{\"fs\":{\"deny_read\":[\"$HOME/secret\"],\"allow_read_within_deny\":[\"$HOME/secret/key\"]}}"
	child="{\"fs\":{\"deny_read\":[\"$HOME\"],\"allow_read_within_deny\":[\"$HOME/secret/key\"]}}"
	check allow --policy-fd 3 --narrow-fd 4 read "$HOME/secret/key" 3<<<"$parent" 4<<<"$child"
	check deny --policy-fd 3 --narrow-fd 4 read "$HOME/secret/other" 3<<<"$parent" 4<<<"$child"
}

@test "parent and child may name one place differently" {
	mkdir -p "$base/real/secret" "$base/real/w/sub"
	ln -s real "$base/alias"
	for names in 'alias real' 'real alias'; do
		read -r ours theirs <<<"$names"
		parent="{\"fs\":{\"deny_read\":[\"$base/$ours/secret\"],\"allow_write\":[\"$base/$ours/w\"]}}"
		child="{\"fs\":{\"allow_read_within_deny\":[\"$base/$theirs/secret/key\"],\"allow_write\":[\"$base/$theirs/w/sub\"]}}"
		for name in alias real; do
			check deny --policy-fd 3 --narrow-fd 4 read "$base/$name/secret/key" 3<<<"$parent" 4<<<"$child"
			check deny --policy-fd 3 --narrow-fd 4 write "$base/$name/w/x" 3<<<"$parent" 4<<<"$child"
			check allow --policy-fd 3 --narrow-fd 4 write "$base/$name/w/sub/x" 3<<<"$parent" 4<<<"$child"
		done
	done
}

@test "what show prints of links means the same when it is read back" {
	mkdir -p "$base/real/w"
	ln -s real "$base/alias"
	ln -s /etc link
	koda policy show --policy-fd 3 \
		3<<<"{\"fs\":{\"deny_read\":[\"$base/alias/s\"],\"allow_write\":[\"$base/alias/w\",\"$project/link\"]}}"
	succeeds
	json_is 'd["fs"]["deny_read"]' "[\"$base/alias/s\", \"$base/real/s\"]"
	json_is 'd["fs"]["allow_write"]' "[\"$base/real/w\"]"
	cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/first"
	koda policy show --policy-fd 3 3<"$BATS_TEST_TMPDIR/first"
	cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/out"
}

@test "each child narrows the policy, not the child before it" {
	first='{"fs":{"deny_read":["/x"]}}'
	second="{\"fs\":{\"allow_write\":[\"$project/src\"]},\"net\":{\"allow_local_binding\":true}}"
	koda policy show --narrow-fd 3 --narrow-fd 4 3<<<"$first" 4<<<"$second"
	succeeds
	json_is 'd["fs"]["allow_write"]' "[\"$project/src\"]"
	json_is 'd["fs"]["deny_read"]' '["/x"]'
	json_is 'd["net"]["allow_local_binding"]' true
	cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/first"
	koda policy show --narrow-fd 4 --narrow-fd 3 3<<<"$first" 4<<<"$second"
	cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/out"
	# Neither takes back what the other has taken, nor what the policy never gave.
	second="{\"fs\":{\"allow_write\":[\"$project/src\",\"/etc\"]},\"net\":{\"allow_local_binding\":true}}"
	koda policy show --trust plan --narrow-fd 3 --narrow-fd 4 3<<<"$first" 4<<<"$second"
	json_is 'd["fs"]["allow_write"]' '[]'
	json_is 'd["net"]["allow_local_binding"]' false
	koda policy show --narrow-fd 3 --narrow-fd 4 3<<<'{"fs":{"allow_write":[]}}' 4<<<"$second"
	json_is 'd["fs"]["allow_write"]' '[]'
}

@test "a path up from behind a link is denied where it is spelt and where it leads" {
	mkdir -p "$base/far/deep" "$base/far/secret" secret
	ln -s "$base/far/deep" jump
	policy="{\"fs\":{\"allow_write\":[\"$base/far\",\"$project\"]}}"
	for file in "$base/far/secret/x" "$project/secret/x" jump/../secret/x; do
		check deny --deny-read jump/../secret read "$file"
		check deny --policy-fd 3 --deny-write jump/../secret write "$file" 3<<<"$policy"
	done
	for file in "$base/far/other" "$project/other" jump/x; do
		check allow --deny-read jump/../secret read "$file"
		check allow --policy-fd 3 --deny-write jump/../secret write "$file" 3<<<"$policy"
	done
	# What is spelt may be a link as well.
	rmdir secret
	ln -s src secret
	check deny --deny-read jump/../secret read src/main.c
	check allow --deny-read jump/../other read src/main.c
}

# --- options given twice ---

@test "the least of repeated limits counts, in any order" {
	for order in '--wall-time 5 --wall-time 200' '--wall-time 200 --wall-time 5'; do
		# shellcheck disable=SC2086 # words
		koda policy show $order
		json_is 'd["limits"]["wall_time_secs"]' 5
	done
	koda policy show --memory 1M --memory 1G --memory 2M --max-output 2K --max-output 1K
	json_is 'd["limits"]["max_rss_bytes"]' 1048576
	json_is 'd["limits"]["max_output_bytes"]' 1024
	koda policy show --memory 1M --memory x
	refuses '--memory x'
	# A value that is not allowed is not allowed beside a smaller one either.
	koda policy show --memory 1M --memory 0
	refuses '--memory 0'
}

@test "what has one value is given once" {
	local given option command
	for given in '--trust plan' "--root $project" '--cwd src' '--policy-fd 3'; do
		option=("${given%% *}" "${given#* }")
		for command in 'policy show' 'env' 'plan'; do
			# shellcheck disable=SC2086 # words
			koda $command "${option[@]}" "${option[@]}" 3<<<'{}'
			refuses "$given: can be given only once"
		done
	done
	koda policy show --trust plan --trust auto
	refuses '--trust auto: can be given only once'
	koda policy show --trust plan --root "$project" --cwd src --deny-read a --deny-read b
	succeeds
}

@test "run, plan and env agree about --trust beside --policy-fd" {
	koda env --trust plan --policy-fd 3 -c ls 3<<<'{}'
	succeeds
	koda plan --trust plan --policy-fd 3 -c ls 3<<<'{}'
	succeeds
	# The policy is the one that was handed over: it leaves network, which plan does not.
	koda env --trust plan --policy-fd 3 -c ls 3<<<'{}'
	grep -q '^HTTP_PROXY=' "$BATS_TEST_TMPDIR/out"
	koda env --trust plan -c ls
	run -1 grep '^HTTP_PROXY=' "$BATS_TEST_TMPDIR/out"
	# For a question the mode would mean nothing.
	koda policy check --trust plan --policy-fd 3 read / 3<<<'{}'
	refuses --trust --policy-fd
}

# --- output ---

# Every kind of character that is well-formed and still not shown.
deceptive=$'\xc2\x85\xc2\x9b\xc2\xad\xd8\x9c\xe2\x80\x8b\xe2\x80\x8f\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa0\xe2\x81\xa6\xef\xbb\xbf\xf3\xa0\x80\x81\xf3\xa0\x81\xbf'
as_python='"\u0085\u009b\u00ad\u061c\u200b\u200f\u2028\u202e\u2060\u2066\ufeff\U000e0001\U000e007f"'

@test "variables cannot forge lines" {
	LANG=$'C\nGITHUB_TOKEN=x\e[2K'$deceptive koda env -c ls
	succeeds
	ascii
	grep -qF 'LANG=C\x0aGITHUB_TOKEN=x\x1b[2K\xc2\x85\xc2\x9b\xc2\xad' "$BATS_TEST_TMPDIR/out"
	run -1 grep '^GITHUB_TOKEN=' "$BATS_TEST_TMPDIR/out"
	LANG=$'caf\xc3\xa9 \\x' koda env -c ls
	grep -qxF $'LANG=caf\xc3\xa9 \\x' "$BATS_TEST_TMPDIR/out"
}

@test "a directory cannot forge lines" {
	dir=$'src/a\nKODA_FORGED=1'
	mkdir "$dir"
	koda env --cwd "$dir" -c ls
	succeeds
	grep -qxF "PWD=$project/"'src/a\x0aKODA_FORGED=1' "$BATS_TEST_TMPDIR/out"
	run -1 grep '^KODA_FORGED' "$BATS_TEST_TMPDIR/out"
}

@test "with --null every byte is exact" {
	dir=$'src/a\nb\xff\e'$deceptive
	mkdir "$dir"
	LANG=$'\xff\n'$deceptive koda env -0 --cwd "$dir" -c ls
	succeeds
	mapfile -d '' -t variables <"$BATS_TEST_TMPDIR/out"
	[[ " ${variables[*]} " == *" PWD=$project/$dir "* ]]
	[[ " ${variables[*]} " == *" LANG="$'\xff\n'"$deceptive "* ]]
}

@test "JSON holds no character that deceives, and loses none" {
	koda policy check --json read "/x/$deceptive"
	ascii
	json_is "d['target'] == '/x/' + $as_python" true
	koda policy show --deny-read "/x/$deceptive"
	succeeds
	ascii
	json_is "d['fs']['deny_read'] == ['/x/' + $as_python]" true
	cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/first"
	koda policy show --policy-fd 3 3<"$BATS_TEST_TMPDIR/first"
	cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/out"
	koda policy check --json read $'/x/caf\xc3\xa9\xf0\x9f\x98\x80'
	grep -qF $'"target":"/x/caf\xc3\xa9\xf0\x9f\x98\x80"' "$BATS_TEST_TMPDIR/out"
}

@test "lines and messages hold no character that deceives" {
	koda policy check read "/x/$deceptive"
	ascii
	[[ $stdout == *'\xf3\xa0\x80\x81\xf3\xa0\x81\xbf (default'* ]]
	koda policy compose $'\xef\xbb\xbf\xf3\xa0\x80\x81\xe2\x80\xae' -
	refuses '\xef\xbb\xbf\xf3\xa0\x80\x81\xe2\x80\xae: '
	koda policy check read $'/x/caf\xc3\xa9\xf0\x9f\x98\x80'
	answers 0 $'allow read /x/caf\xc3\xa9\xf0\x9f\x98\x80 (default: not below fs.deny_read)'
}

# --- hosts ---

@test "brackets hold an IPv6 address and nothing else" {
	for host in '[example.com]:443' '[example.com]' '[127.0.0.1]:80' '[1.1.1.1]' '[[::1]]' '[::1%lo]'; do
		koda policy check --policy-fd 3 connect "$host" 3<<<'{}'
		refuses "$host"
		koda policy check --json --policy-fd 3 connect "$host" 3<<<'{}'
		refuses "$host"
	done
	koda policy check --policy-fd 3 connect '[2606:4700::1111]' 3<<<'{}'
	answers 0 'allow connect [2606:4700::1111]:443 (default: net.allowed_domains is empty)'
}

@test "a host is shown as the rules see it" {
	reminder='; its addresses are checked when connecting'
	koda policy check connect CRATES.io.
	answers 0 "allow connect CRATES.io.:443 -> crates.io:443 (net.allowed_domains: crates.io:443)$reminder"
	koda policy check --policy-fd 3 connect 2130706433:80 3<<<'{}'
	[[ $status -eq 1 && $stdout == 'deny connect 2130706433:80 -> 127.0.0.1:80 (net.address_guard: '* ]]
	koda policy check --policy-fd 3 connect '[::ffff:7f00:1]:80' 3<<<'{}'
	[[ $status -eq 1 && $stdout == 'deny connect [::ffff:7f00:1]:80 -> 127.0.0.1:80 ('* ]]
	koda policy check --policy-fd 3 connect 2606:4700:0:0::1111 3<<<'{}'
	answers 0 'allow connect [2606:4700:0:0::1111]:443 -> [2606:4700::1111]:443 (default: net.allowed_domains is empty)'
	# A Cyrillic letter in a name that looks like another.
	koda policy check connect $'cr\xd0\xb0tes.io'
	[[ $status -eq 1 && $stdout == *' -> xn--'*':443 (default: '* ]]
	koda policy check --json connect CRATES.io.
	json_is 'd["target"] + " " + d["canonical"]' 'CRATES.io. crates.io'
	# Neither arrow nor reminder where there is nothing to say.
	koda policy check connect example.org
	answers 1 'deny connect example.org:443 (default: not in net.allowed_domains)'
	koda policy check --policy-fd 3 connect 1.1.1.1 3<<<'{}'
	answers 0 'allow connect 1.1.1.1:443 (default: net.allowed_domains is empty)'
}
