#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# policy show, compose and check on good input.

setup() {
	load helper
	new_project
}

# --- show ---

@test "show: plan is read-only and without network" {
	koda policy show --trust plan
	succeeds
	json_is 'd["fs"]["allow_write"]' '[]'
	json_is 'd["net"]["denied_domains"]' '["*"]'
	json_is 'd["net"]["allow_local_binding"]' false
	json_is 'd["fs"]["mandatory_deny_search_depth"]' 3
	json_is 'd["limits"]["wall_time_secs"]' 60
	json_is 'd["limits"]["max_output_bytes"]' 2097152
}

@test "show: safe and auto write the project and reach developer hosts only" {
	for trust in safe auto; do
		koda policy show --trust "$trust"
		succeeds
		json_is 'd["fs"]["allow_write"]' "[\"$project\"]"
		json_is '"github.com:443" in d["net"]["allowed_domains"]' true
		json_is '"github.com:22" in d["net"]["allowed_domains"]' true
		json_is '"crates.io:443" in d["net"]["allowed_domains"]' true
		json_is '"crates.io:22" in d["net"]["allowed_domains"]' false
		json_is 'all(":" in x for x in d["net"]["allowed_domains"])' true
		json_is 'd["net"]["denied_domains"]' '[]'
		json_is 'd["net"]["allow_local_binding"]' true
		json_is 'd["fs"]["allow_git_config"]' false
	done
	json_is 'd["fs"]["mandatory_deny_search_depth"]' 10
	koda policy show --trust safe
	json_is 'd["fs"]["mandatory_deny_search_depth"]' 5
}

@test "show: every field is there, in order" {
	koda policy show
	succeeds
	json_is '" ".join(d)' 'fs net limits trust'
	json_is '" ".join(d["fs"])' 'deny_read allow_read_within_deny allow_write deny_write_within_allow allow_git_config mandatory_deny_search_depth'
	json_is '" ".join(d["net"])' 'allowed_domains denied_domains allow_local_binding mitm weaker_macos_isolation'
	json_is '" ".join(d["limits"])' 'cpu_time_secs wall_time_secs max_rss_bytes max_open_fds max_output_bytes'
}

@test "show: auto is the default mode, and modes have aliases in any case" {
	koda policy show
	succeeds
	default=$stdout
	for name in auto yolo accept AUTO; do
		koda policy show --trust "$name"
		[[ $stdout == "$default" ]]
	done
	koda policy show --trust plan
	succeeds
	plan=$stdout
	for name in readonly read-only Plan; do
		koda policy show --trust "$name"
		[[ $stdout == "$plan" ]]
	done
	koda policy show --trust safe
	succeeds
	safe=$stdout
	for name in confirm strict normal SAFE; do
		koda policy show --trust="$name"
		[[ $stdout == "$safe" ]]
	done
}

@test "show: the root is resolved and need not exist" {
	ln -s "$project" "$BATS_TEST_TMPDIR/link"
	koda policy show --root "$BATS_TEST_TMPDIR/link"
	json_is 'd["fs"]["allow_write"]' "[\"$project\"]"
	koda policy show --root ../missing
	json_is 'd["fs"]["allow_write"]' "[\"${project%/*}/missing\"]"
}

@test "show: its output is accepted and unchanged by --policy-fd" {
	for trust in plan safe auto; do
		koda policy show --trust "$trust"
		cp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/first"
		koda policy show --policy-fd 3 3<"$BATS_TEST_TMPDIR/first"
		succeeds
		cmp "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/out"
	done
}

@test "show: an empty object is the default policy" {
	koda policy show --policy-fd 0 <<<'{}'
	succeeds
	json_is 'd["fs"]' '{"deny_read": [], "allow_read_within_deny": [], "allow_write": null, "deny_write_within_allow": [], "allow_git_config": false, "mandatory_deny_search_depth": 3}'
	json_is 'd["net"]' '{"allowed_domains": [], "denied_domains": [], "allow_local_binding": false, "mitm": null, "weaker_macos_isolation": false}'
	json_is 'set(d["limits"].values()) == {None}' true
	json_is 'd["trust"]' auto
}

@test "show: narrowing options" {
	koda policy show --deny-read secret --deny-read /a --deny-write "$project/src/" \
		--deny-domain Example.ORG. --deny-domain '*.example.net:443' --memory 1M --max-output 4k \
		--max-procs 3
	succeeds
	json_is 'd["fs"]["deny_read"]' "[\"$project/secret\", \"/a\"]"
	json_is 'd["fs"]["deny_write_within_allow"]' "[\"$project/src\"]"
	json_is 'd["net"]["denied_domains"]' '["example.org", "*.example.net:443"]'
	json_is 'd["limits"]["max_rss_bytes"]' 1048576
	json_is 'd["limits"]["max_output_bytes"]' 4096
	koda policy show --read-only --no-network
	json_is 'd["fs"]["allow_write"]' '[]'
	json_is 'd["net"]["denied_domains"]' '["*"]'
}

@test "show: limits are lowered, never raised" {
	koda policy show --max-output 1G
	json_is 'd["limits"]["max_output_bytes"]' 2097152
	koda policy show --policy-fd 3 --memory 2M 3<<<'{"limits":{"max_rss_bytes":1024}}'
	json_is 'd["limits"]["max_rss_bytes"]' 1024
	koda policy show --policy-fd 3 --memory 2M 3<<<'{}'
	json_is 'd["limits"]["max_rss_bytes"]' 2097152
}

@test "show: wall time may rise to the ceiling, not above" {
	koda policy show --wall-time 300
	json_is 'd["limits"]["wall_time_secs"]' 300
	koda policy show --wall-time 5
	json_is 'd["limits"]["wall_time_secs"]' 5
	koda policy show --wall-time 301
	refuses --wall-time 301 300
	koda policy show --wall-time 0
	refuses '--wall-time 0'
	# What a child policy states still bounds it.
	koda policy show --wall-time 200 --narrow-fd 3 3<<<'{"limits":{"wall_time_secs":10}}'
	json_is 'd["limits"]["wall_time_secs"]' 10
}

@test "show: child policies narrow and cannot widen" {
	koda policy show --narrow-fd 3 --narrow-fd 4 \
		3<<<'{"fs":{"allow_write":["/etc"],"deny_read":["/x"]},"limits":{"wall_time_secs":999}}' \
		4<<<'{"fs":{"deny_read":["/y"]},"net":{"allowed_domains":["evil.example","crates.io"]},"trust":"forbid"}'
	succeeds
	json_is 'd["fs"]["allow_write"]' '[]'
	json_is 'd["fs"]["deny_read"]' '["/x", "/y"]'
	json_is '"evil.example" in str(d["net"]["allowed_domains"])' false
	json_is '"github.com" in str(d["net"]["allowed_domains"])' false
	json_is '"crates.io" in str(d["net"]["allowed_domains"])' true
	json_is 'd["limits"]["wall_time_secs"]' 60
	json_is 'd["trust"]' forbid
}

@test "show: paths that are not UTF-8 survive" {
	printf '{"fs":{"deny_read":["%%/a/%%FF%%25","/b/\xc3\xa9%%"]}}' >"$BATS_TEST_TMPDIR/in"
	koda policy show --policy-fd 3 3<"$BATS_TEST_TMPDIR/in"
	json_is 'd["fs"]["deny_read"][0]' '%/a/%FF%25'
	json_is 'd["fs"]["deny_read"][1] == "/b/\u00e9%"' true
	koda policy show --deny-read $'/a/\xff'
	json_is 'd["fs"]["deny_read"]' '["%/a/%FF"]'
}

@test "show: --trust and --policy-fd exclude each other" {
	koda policy show --trust plan --policy-fd 3 3<<<'{}'
	refuses 'policy show: ' --trust --policy-fd
	koda policy check --trust plan --policy-fd 3 read / 3<<<'{}'
	refuses 'policy check: ' --trust --policy-fd
}

@test "show: roots that would give the machine away" {
	for root in / /tmp /etc /usr/bin /home "$HOME" "$BATS_TEST_TMPDIR"; do
		koda policy show --root "$root"
		refuses "$root"
	done
	mkdir -p "$HOME/.config"
	koda policy show --root "$HOME/.config"
	refuses "$HOME/.config"
	ln -s / "$BATS_TEST_TMPDIR/slash"
	koda policy show --root "$BATS_TEST_TMPDIR/slash"
	refuses 'refused as project root'
	XDG_STATE_HOME=$project/state koda policy show
	refuses 'refused as project root'
}

# --- compose ---

@test "compose: denies add up, allows intersect" {
	cat >parent.json <<-'END'
		{"fs": {"deny_read": ["/a"], "allow_write": ["/p", "/q"]}, "limits": {"wall_time_secs": 60},
		 "net": {"allowed_domains": ["*.example.org", "b.example"]}}
	END
	cat >child.json <<-'END'
		{"fs": {"deny_read": ["/b", "/a"], "allow_write": ["/p/src", "/etc"]},
		 "limits": {"wall_time_secs": 30, "max_open_fds": 5},
		 "net": {"allowed_domains": ["*.x.example.org", "c.example"]}, "trust": "require"}
	END
	koda policy compose parent.json child.json
	succeeds
	json_is 'd["fs"]["deny_read"]' '["/a", "/b"]'
	json_is 'd["fs"]["allow_write"]' '["/p/src"]'
	json_is 'd["net"]["allowed_domains"]' '["*.x.example.org"]'
	json_is 'd["limits"]["wall_time_secs"]' 30
	json_is 'd["limits"]["max_open_fds"]' 5
	json_is 'd["trust"]' require
}

@test "compose: nothing in common means no network, not every host" {
	echo '{"net":{"allowed_domains":["a.example"]}}' >a.json
	echo '{"net":{"allowed_domains":["b.example"]}}' >b.json
	koda policy compose a.json b.json
	json_is 'd["net"]["denied_domains"]' '["*"]'
	cp "$BATS_TEST_TMPDIR/out" both.json
	koda policy check --policy-fd 3 connect a.example 3<both.json
	answers 1 'deny connect a.example:443 (net.denied_domains: *)'
}

@test "compose: a policy with itself is itself" {
	koda policy show --trust auto
	cp "$BATS_TEST_TMPDIR/out" p.json
	koda policy compose p.json p.json
	succeeds
	cmp "$BATS_TEST_TMPDIR/out" p.json
}

@test "compose: standard input, once, on either side" {
	echo '{"fs":{"deny_read":["/a"]}}' >a.json
	koda policy compose - a.json <<<'{"fs":{"deny_read":["/b"]}}'
	json_is 'd["fs"]["deny_read"]' '["/b", "/a"]'
	koda policy compose a.json - <<<'{"fs":{"deny_read":["/b"]}}'
	json_is 'd["fs"]["deny_read"]' '["/a", "/b"]'
	koda policy compose a.json <(echo '{"fs":{"deny_read":["/c"]}}')
	json_is 'd["fs"]["deny_read"]' '["/a", "/c"]'
	koda policy compose - - <<<'{}'
	refuses 'policy compose: ' 'standard input'
}

# --- check: files ---

@test "check: writing in the project and outside" {
	koda policy check write "$project/src/main.c"
	answers 0 "allow write $project/src/main.c (fs.allow_write: $project)"
	koda policy check write src/main.c
	answers 0 "allow write $project/src/main.c (fs.allow_write: $project)"
	koda policy check write /etc/passwd
	answers 1 'deny write /etc/passwd (default: outside fs.allow_write)'
	koda policy check --trust plan write src/main.c
	answers 1 "deny write $project/src/main.c (default: outside fs.allow_write)"
	koda policy check --read-only write src/main.c
	answers 1 "deny write $project/src/main.c (default: outside fs.allow_write)"
}

@test "check: options may follow the operands" {
	koda policy check write src/main.c --trust plan
	answers 1 "deny write $project/src/main.c (default: outside fs.allow_write)"
}

@test "check: reading" {
	koda policy check read /etc/passwd
	answers 0 'allow read /etc/passwd (default: not below fs.deny_read)'
	koda policy check --deny-read /etc read /etc/passwd
	answers 1 'deny read /etc/passwd (fs.deny_read: /etc)'
	policy='{"fs":{"deny_read":["/a"],"allow_read_within_deny":["/a/b"]}}'
	koda policy check --policy-fd 3 read /a/b/c 3<<<"$policy"
	answers 0 'allow read /a/b/c (fs.allow_read_within_deny: /a/b)'
	koda policy check --policy-fd 3 read /a/bc 3<<<"$policy"
	answers 1 'deny read /a/bc (fs.deny_read: /a)'
	koda policy check --deny-write src write src/x
	answers 1 "deny write $project/src/x (fs.deny_write_within_allow: $project/src)"
	koda policy check --deny-read src write src/x
	answers 1 "deny write $project/src/x (fs.deny_read: $project/src)"
}

@test "check: a directory that would hold a protected name is reserved until it is there" {
	for name in .git .koda .claude; do
		koda policy check write "$name/harmless"
		answers 1 "deny write $project/$name/harmless (floor.project: $project/$name)"
		mkdir "$name"
		koda policy check write "$name/harmless"
		answers 0 "allow write $project/$name/harmless (fs.allow_write: $project)"
	done
}

@test "check: the floor of the project" {
	mkdir -p .git/info .koda .claude
	for name in .koda/agents/a .koda/skills/s .mcp.json .vscode/tasks.json .idea/x .cursor/x \
		.codex/x .claude/agents/a .claude/commands/c .claude/settings.json \
		.claude/settings.local.json .envrc; do
		koda policy check write "$name"
		[[ $status -eq 1 && $stdout == "deny write $project/$name (floor.project: "* ]]
		koda policy check read "$name"
		[[ $status -eq 0 ]]
	done
	for name in hooks/pre-commit config config.worktree commondir info/attributes; do
		koda policy check write ".git/$name"
		[[ $status -eq 1 && $stdout == "deny write $project/.git/$name (floor.git: "* ]]
	done
	for name in .git/index .git/refs/heads/main .koda/notes src/.vscodex .envrc2; do
		koda policy check write "$name"
		[[ $status -eq 0 ]]
	done
}

@test "check: no policy names the floor away" {
	mkdir .git
	policy="{\"fs\":{\"allow_write\":[\"/\",\"$project/.git/hooks\",\"$HOME/.ssh\",\"$HOME/.config/koda/db\"],\"allow_git_config\":true}}"
	for path in .git/hooks/x .vscode/x "$HOME/.ssh/config" "$HOME/.config/gh/x" "$HOME/.netrc" \
		"$HOME/.config/koda/db/keys" /proc/sys/kernel/core_pattern /sys/x; do
		koda policy check --policy-fd 3 write "$path" 3<<<"$policy"
		[[ $status -eq 1 && $stdout == *'(floor.'* ]]
	done
	koda policy check --policy-fd 3 write .git/config 3<<<"$policy"
	[[ $status -eq 0 ]]
	policy="{\"fs\":{\"deny_read\":[\"$HOME\"],\"allow_read_within_deny\":[\"$HOME/.config/koda/db\"]}}"
	koda policy check --policy-fd 3 read "$HOME/.config/koda/db/keys" 3<<<"$policy"
	[[ $status -eq 1 && $stdout == *'(floor.own_state: '* ]]
	koda policy check read "$HOME/.ssh/config"
	[[ $status -eq 0 ]]
}

@test "check: directories of PATH are never writable" {
	mkdir bin
	PATH=$project/bin:$PATH koda policy check write bin/tool
	answers 1 "deny write $project/bin/tool (floor.exec_dir: $project/bin)"
	koda policy check write bin/tool
	[[ $status -eq 0 ]]
}

@test "check: links are followed" {
	ln -s /etc outside
	koda policy check write outside/passwd
	answers 1 "deny write $project/outside/passwd -> /etc/passwd (default: outside fs.allow_write)"
	ln -s "$project/src" "$BATS_TEST_TMPDIR/inside"
	koda policy check write "$BATS_TEST_TMPDIR/inside/main.c"
	[[ $status -eq 0 && $stdout == "allow write "*" -> $project/src/main.c (fs.allow_write: $project)" ]]
	ln -s "$project" "$BATS_TEST_TMPDIR/link"
	koda policy check --root "$BATS_TEST_TMPDIR/link" write "$BATS_TEST_TMPDIR/link/src/main.c"
	[[ $status -eq 0 ]]
	mkdir .vscode
	ln -s .vscode harmless
	koda policy check write harmless/tasks.json
	[[ $status -eq 1 && $stdout == *"(floor.project: $project/.vscode)" ]]
	# A rule on a link is a rule on what it leads to.
	ln -s src alias
	koda policy check --deny-read alias read src/main.c
	[[ $status -eq 1 && $stdout == *'(fs.deny_read: '* ]]
	koda policy check --deny-read src read alias/main.c
	[[ $status -eq 1 && $stdout == *'(fs.deny_read: '* ]]
}

@test "check: a path through a link and back up is where the kernel would go" {
	mkdir -p "$BATS_TEST_TMPDIR/far/deep"
	ln -s "$BATS_TEST_TMPDIR/far/deep" jump
	koda policy check write jump/../file
	answers 1 "deny write $project/file -> ${project%/*}/far/file (default: outside fs.allow_write)"
}

@test "check: nested repositories are found on the way" {
	mkdir -p vendor/lib/.git/objects vendor/lib/.git/refs
	touch vendor/lib/.git/HEAD
	koda policy check write vendor/lib/.git/hooks/post-checkout
	[[ $status -eq 1 && $stdout == *'(floor.git: '* ]]
	mkdir sub
	echo 'gitdir: ../.git/modules/sub' >sub/.git
	koda policy check write sub/.git
	[[ $status -eq 1 && $stdout == *'(floor.git: '* ]]
}

@test "check: a relative path starts from --cwd" {
	koda policy check --cwd src write main.c
	answers 0 "allow write $project/src/main.c (fs.allow_write: $project)"
	koda policy check --cwd src write ../.envrc
	answers 1 "deny write $project/.envrc (floor.project: $project/.envrc)"
}

@test "check: file names cannot forge a line" {
	koda policy check write $'/etc/x\nallow write /etc/x (fs.allow_write: /)'
	answers 1 'deny write /etc/x\x0aallow write /etc/x (fs.allow_write: /) (default: outside fs.allow_write)'
	koda policy check write $'/etc/\e[31m\xff\xc2\x9b'
	answers 1 'deny write /etc/\x1b[31m\xff\xc2\x9b (default: outside fs.allow_write)'
}

@test "check: --json" {
	koda policy check --json write src/main.c
	[[ $status -eq 0 && $(wc -l <"$BATS_TEST_TMPDIR/out") -eq 1 ]]
	json_is d "{\"verdict\": \"allow\", \"access\": \"write\", \"target\": \"$project/src/main.c\", \"resolved\": \"$project/src/main.c\", \"why\": \"fs.allow_write\", \"rule\": \"$project\"}"
	koda policy check --json write $'/etc/a"\\\n\xff'
	[[ $status -eq 1 ]]
	json_is 'd["target"]' '%/etc/a"\%0A%FF'
	json_is 'd["rule"]' null
	json_is 'd["why"]' default
	koda policy check --json connect github.com
	json_is d '{"verdict": "allow", "access": "connect", "target": "github.com", "canonical": "github.com", "port": 443, "why": "net.allowed_domains", "rule": "github.com:443"}'
}

# --- check: hosts ---

@test "check: developer hosts, on their ports" {
	koda policy check connect crates.io
	answers 0 'allow connect crates.io:443 (net.allowed_domains: crates.io:443); its addresses are checked when connecting'
	koda policy check connect github.com:22
	answers 0 'allow connect github.com:22 (net.allowed_domains: github.com:22); its addresses are checked when connecting'
	koda policy check connect raw.githubusercontent.com:443
	answers 0 'allow connect raw.githubusercontent.com:443 (net.allowed_domains: *.githubusercontent.com:443); its addresses are checked when connecting'
	koda policy check connect crates.io:22
	answers 1 'deny connect crates.io:22 (default: not in net.allowed_domains)'
	koda policy check connect example.org:443
	answers 1 'deny connect example.org:443 (default: not in net.allowed_domains)'
	koda policy check connect githubusercontent.com
	[[ $status -eq 1 ]]
	koda policy check connect github.com.evil.example
	[[ $status -eq 1 ]]
}

@test "check: one host has many spellings" {
	for host in CRATES.IO crates.io. Crates.Io.; do
		koda policy check connect "$host"
		[[ $status -eq 0 ]]
		koda policy check --deny-domain crates.io connect "$host"
		[[ $status -eq 1 && $stdout == *'(net.denied_domains: crates.io)' ]]
	done
	for host in 2130706433 0x7f.1 0177.0.0.1 127.1 ::ffff:127.0.0.1 '[::ffff:7f00:1]:443'; do
		koda policy check --policy-fd 3 connect "$host" 3<<<'{"net":{"denied_domains":["127.0.0.1"]}}'
		[[ $status -eq 1 && $stdout == *'(net.denied_domains: 127.0.0.1)' ]]
	done
}

@test "check: no network" {
	koda policy check --trust plan connect crates.io
	answers 1 'deny connect crates.io:443 (net.denied_domains: *)'
	koda policy check --no-network connect crates.io
	answers 1 'deny connect crates.io:443 (net.denied_domains: *)'
}

@test "check: both lists empty allow every public address and nothing else" {
	koda policy check --policy-fd 3 connect example.org:8080 3<<<'{}'
	answers 0 'allow connect example.org:8080 (default: net.allowed_domains is empty); its addresses are checked when connecting'
	for host in 127.0.0.1 10.1.2.3 192.168.0.1 169.254.169.254 100.64.0.1 ::1 fe80::1 fd00::1 \
		'[::ffff:10.0.0.1]:80' 64:ff9b::a00:1 2002:7f00:1::; do
		koda policy check --policy-fd 3 connect "$host" 3<<<'{}'
		[[ $status -eq 1 && $stdout == *'(net.address_guard: '* ]]
	done
	koda policy check --policy-fd 3 connect '[2606:4700::1111]:443' 3<<<'{}'
	answers 0 'allow connect [2606:4700::1111]:443 (default: net.allowed_domains is empty)'
}

@test "check: a private address that the policy lists" {
	koda policy check --policy-fd 3 connect 10.1.2.3:5432 3<<<'{"net":{"allowed_domains":["10.0.0.0/8:5432"]}}'
	answers 0 'allow connect 10.1.2.3:5432 (net.allowed_domains: 10.0.0.0/8:5432)'
	koda policy check --policy-fd 3 connect 10.1.2.3:5433 3<<<'{"net":{"allowed_domains":["10.0.0.0/8:5432"]}}'
	[[ $status -eq 1 ]]
}

@test "check: what is no host is denied, what is no target is refused" {
	for host in 'a b' x..y x_y '[fe80::1%eth0]:1'; do
		koda policy check connect "$host"
		[[ $status -eq 1 && $stdout == *'(invalid: not a host)' ]]
	done
	for target in 'crates.io:' crates.io:0 crates.io:65536 crates.io:http https://crates.io/ \
		'[::1' '[::1]x' '[]:1' ':443'; do
		koda policy check connect "$target"
		refuses "$target"
	done
}
