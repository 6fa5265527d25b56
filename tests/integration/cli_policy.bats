#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016,SC2030,SC2031,SC2094,SC2154 # status, stdout, stderr and project come from helper.bash
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
	json_is 'd["fs"]' '{"deny_read": [], "allow_read_within_deny": [], "allow_write": null, "deny_write_within_allow": [], "allow_git_config": null, "mandatory_deny_search_depth": null}'
	json_is 'd["net"]' '{"allowed_domains": [], "denied_domains": [], "allow_local_binding": null, "mitm": null, "weaker_macos_isolation": null}'
	json_is 'set(d["limits"].values()) == {None}' true
	json_is 'd["trust"]' auto
}

@test "show: on a terminal it says what trust is, and which figures act as others; elsewhere nothing" {
	for trust in plan safe; do
		koda policy show --trust "$trust"
		succeeds
		[[ ! -s $BATS_TEST_TMPDIR/err ]]
	done
	python3 - "$KODA_BIN" <<-'PY'
		import os, pty, subprocess, sys
		def show(trust):
		    ours, theirs = pty.openpty()
		    run = subprocess.run([sys.argv[1], "policy", "show", "--trust", trust], stdout=theirs, stderr=subprocess.PIPE, text=True)
		    os.close(ours)
		    return run.stderr
		plan, safe, auto = show("plan"), show("safe"), show("auto")
		assert '"trust" is the approval' in plan and "none is needed" in plan and "acts as 8" in plan, plan
		assert "a person has to approve" in safe and "acts as 8" in safe, safe
		assert '"trust" is the approval' in auto and "acts as" not in auto, auto
	PY
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

# --- show: widening ---

# noted TEXT...: the run printed a policy, and one line for each text, in order.
noted() {
	local -a lines
	local i=0 text
	[[ $status -eq 0 && -s $BATS_TEST_TMPDIR/out ]] || { show_result; return 1; }
	mapfile -t lines <"$BATS_TEST_TMPDIR/err"
	[[ ${#lines[@]} -eq $# ]] || { show_result; return 1; }
	for text in "$@"; do
		[[ ${lines[i]} == "koda-sandbox: $text"* ]] || { show_result; return 1; }
		i=$((i + 1))
	done
}

@test "show: one more host, one more directory" {
	mkdir "$HOME/build"
	koda policy show --allow-domain Example.ORG --allow-domain '*.example.net:8443' --allow-write "$HOME/build" \
		--allow-write ../home/other
	noted '--allow-write ../home/other: does not exist'
	json_is 'd["net"]["allowed_domains"][-2:]' '["example.org", "*.example.net:8443"]'
	json_is '"github.com:443" in d["net"]["allowed_domains"]' true
	json_is 'd["fs"]["allow_write"]' "[\"$project\", \"$(realpath "$HOME/build")\", \"$(realpath "$HOME")/other\"]"
	# In plan nothing else becomes writable by it.
	koda policy show --trust plan --allow-write "$HOME/build"
	json_is 'd["fs"]["allow_write"]' "[\"$(realpath "$HOME/build")\"]"
	# And a policy can be widened again.
	mkdir -p "$HOME/.config/koda/policies"
	cp "$BATS_TEST_TMPDIR/out" "$HOME/.config/koda/policies/one.json"
	koda policy show --policy "$HOME/.config/koda/policies/one.json" --allow-write "$project"
	succeeds
	json_is 'd["fs"]["allow_write"]' "[\"$(realpath "$HOME/build")\", \"$project\"]"
}

@test "show: a hole in what is hidden" {
	mkdir -p secrets/public
	koda policy show --deny-read secrets
	mkdir -p "$HOME/.config/koda/policies"
	cp "$BATS_TEST_TMPDIR/out" "$HOME/.config/koda/policies/one.json"
	koda policy show --policy "$HOME/.config/koda/policies/one.json" --allow-read secrets/public
	succeeds
	json_is 'd["fs"]["allow_read_within_deny"]' "[\"$project/secrets/public\"]"
	koda policy show --policy "$HOME/.config/koda/policies/one.json" --allow-read secrets
	noted "--allow-read secrets: still denied (fs.deny_read: $project/secrets)"
	koda policy show --allow-read /etc
	noted '--allow-read /etc: can be read already'
	json_is 'd["fs"]["allow_read_within_deny"]' '[]'
}

@test "show: denies and the floor come first, and that is told" {
	mkdir -p "$HOME/.ssh"
	koda policy show --allow-write "$HOME/.ssh" --allow-write "$HOME/.config/koda/policies" --allow-write src
	noted '--allow-write src: can be written already' \
		"--allow-write $HOME/.ssh: still denied (floor.credentials: " \
		"--allow-write $HOME/.config/koda/policies: still denied (floor.own_policy: "
	koda policy show --trust plan --allow-domain example.org
	noted '--allow-domain example.org: still denied (net.denied_domains: *)'
	koda policy show --deny-domain '*.org' --allow-domain example.org --allow-domain '*.example.org'
	noted '--allow-domain example.org: still denied (net.denied_domains: *.org)' \
		'--allow-domain *.example.org: still denied (net.denied_domains: *.org)'
	# What does not exist can be made where the project is.
	koda policy show --allow-write new/dir
	noted '--allow-write new/dir: can be written already'
	# One host in an empty list would be the only one.
	koda policy show --policy-fd 3 --allow-domain example.org 3<<<'{}'
	noted '--allow-domain example.org: left out: net.allowed_domains is empty'
	json_is 'd["net"]["allowed_domains"]' '[]'
	# A link in the project leads nowhere.
	ln -s "$HOME" link
	koda policy show --allow-write link/build
	noted '--allow-write link/build: still denied (default'
}

@test "show: wrong things to allow" {
	koda policy show --allow-domain 'foo bar'
	refuses '--allow-domain foo bar'
	koda policy show --allow-domain '*.com'
	refuses '--allow-domain *.com'
	for option in --allow-domain --allow-write --allow-read; do
		koda policy show "$option" ''
		refuses "$option" 'must not be empty'
	done
}

# bash, dash and zsh leave the ~ of --deny-read=~/x alone.
@test "show: a ~ that the shell has left" {
	for option in --allow-write --allow-read --deny-read --deny-write; do
		for word in \~ \~/x; do
			koda policy show "$option=$word"
			refuses "$option $word" 'the shell has left ~ as it is'
		done
	done
	koda policy show --deny-read ./~ --deny-write '~x'
	succeeds
	json_is 'd["fs"]["deny_read"]' "[\"$project/~\"]"
}

# What the message says can be pasted.
@test "options that would allow more say how to" {
	mkdir "$BATS_TEST_TMPDIR/bin" "$HOME/build"
	ln -s "$KODA_BIN" "$BATS_TEST_TMPDIR/bin/koda-sandbox"
	for words in "run --allow-domain example.org" "run --trust safe --root . --allow-domain=example.org" \
		"plan --allow-domain example.org" "env --allow-domain example.org" "shell --allow-domain example.org"; do
		# shellcheck disable=SC2086
		koda $words
		refuses 'options only narrow' 'policy show' ' --policy '
		recipe=${stderr#*instead: }
		[[ $recipe == *' && koda-sandbox '*' --policy "$d/my.json"' ]]
		PATH=$BATS_TEST_TMPDIR/bin:$PATH bash -c "${recipe% && *}"
		koda policy check --policy "$HOME/.config/koda/policies/my.json" connect example.org
		[[ $status -eq 0 && $stdout == 'allow connect example.org:443 (net.allowed_domains: example.org)'* ]]
		rm -r "$HOME/.config"
	done
	koda run --allow-write "$HOME/build" -c true
	refuses 'options only narrow' '--allow-write'
	# A home directory with a blank in its name.
	koda run --allow-domain example.org
	mkdir "$HOME/a b"
	recipe=${stderr#*instead: }
	HOME="$HOME/a b" PATH=$BATS_TEST_TMPDIR/bin:$PATH sh -c "${recipe% && *}"
	[[ -s "$HOME/a b/.config/koda/policies/my.json" ]]
	# However long what is repeated, the recipe is whole.
	for length in {1..120}; do
		koda run --allow-write "/$(printf "%${length}s" | tr ' ' x)" -c true
		refuses '--policy "$d/my.json"'
	done
	koda run --allow-write "it's" -c true
	refuses '--allow-write DIR >'
	koda run --allow-everything -c true
	refuses '--allow-domain HOST >'
	koda run --allow-domain -c true
	refuses '--allow-domain HOST >'
	koda run --root "$(printf '/long%.0s' {1..60})" --allow-domain "$(printf 'long.%.0s' {1..60})"
	refuses '--root DIR --allow-domain HOST >' 'koda-sandbox run --policy "$d/my.json"'
}

@test "--policy is taken wherever --policy-fd is" {
	mkdir -p "$HOME/.config/koda/policies"
	file=$HOME/.config/koda/policies/one.json
	echo '{"net": {"allowed_domains": ["example.org"]}}' >"$file"
	koda policy show --policy "$file"
	succeeds
	json_is 'd["net"]["allowed_domains"]' '["example.org"]'
	koda policy check --policy "$file" connect example.org
	[[ $status -eq 0 ]]
	koda env --policy "$file" -c true
	succeeds
	koda plan --policy "$file" -c true
	succeeds
	koda policy show --trust auto --policy "$file"
	refuses '--trust and --policy exclude each other'
	koda policy show --policy "$file" --policy-fd 3 3<"$file"
	refuses 'can be given only once, --policy and --policy-fd together'
	echo '{"nett": {}}' >"$file"
	koda policy show --policy "$file"
	refuses "--policy $file" nett
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

@test "compose: what a policy leaves open stays open in its canonical text" {
	echo '{}' >child.json
	koda policy show --policy-fd 3 3<child.json
	succeeds
	cp "$BATS_TEST_TMPDIR/out" text.json
	echo '{"fs":{"allow_git_config":true,"mandatory_deny_search_depth":1},"net":{"allow_local_binding":true}}' >parent.json
	koda policy compose parent.json child.json
	succeeds
	cp "$BATS_TEST_TMPDIR/out" first
	json_is 'd["fs"]["allow_git_config"]' true
	koda policy compose parent.json text.json
	succeeds
	cmp "$BATS_TEST_TMPDIR/out" first
	# What it states does count.
	echo '{"fs":{"allow_git_config":false}}' >child.json
	koda policy compose parent.json child.json
	json_is 'd["fs"]["allow_git_config"]' false
	# The trust table leaves nothing open.
	koda policy show --trust plan
	json_is 'None in list(d["fs"].values()) + [d["net"]["allow_local_binding"]]' false
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
		.claude/settings.local.json .claude/skills/s .claude/hooks/h .envrc .zed/tasks.json \
		.devcontainer/devcontainer.json .devcontainer.json .gemini/settings.json .windsurf/hooks.json \
		.amazonq/mcp.json .helix/languages.toml .kiro/hooks/h .opencode/plugins/p.js .roo/mcp.json; do
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

@test "check: what another system for versions or Copilot runs, once its directory is there" {
	for name in .hg/hgrc .sl/config .jj/repo/config.toml .github/hooks; do
		koda policy check write "$name"
		[[ $status -eq 0 ]]
		mkdir -p "${name%/*}"
		koda policy check write "$name"
		answers 1 "deny write $project/$name (floor.project: $project/$name)"
		koda policy check write "${name%/*}/other"
		[[ $status -eq 0 ]]
	done
}

@test "check: where git's configuration leads" {
	mkdir -p .git/hooks .husky/_
	printf '[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../tools/git\n' >.git/config
	for name in .husky/_/pre-commit .husky/pre-commit tools/git; do
		koda policy check write "$name"
		[[ $status -eq 1 && $stdout == "deny write $project/$name (floor.git: "* ]]
	done
	for name in refs/x commondir; do
		koda policy check write "$name"
		[[ $status -eq 1 && $stdout == "deny write $project/$name (floor.project: "* ]]
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

@test "check: what is not a host is a wrong question" {
	for target in 'foo bar' 'foo bar:443' x..y 'x!y' '[fe80::1%eth0]:1' '-' '*.crates.io' \ 		'crates.io:' crates.io:0 crates.io:65536 crates.io:http https://crates.io/ \
		'[::1' '[::1]x' '[]:1' ':443'; do
		koda policy check connect "$target"
		refuses "$target"
	done
}

@test "the documentation lists each developer host with its ports" {
	koda policy show --trust auto
	succeeds
	python3 - "$BATS_TEST_TMPDIR/out" "$BATS_TEST_DIRNAME/../../doc/developer-hosts.md" <<-'EOF'
		import json, re, sys
		policy = set(json.load(open(sys.argv[1]))["net"]["allowed_domains"])
		listed = {f"{host}:{port}" for host, ports in re.findall(r"^\| `(\S+)` \| ([0-9, ]+) \|", open(sys.argv[2]).read(), re.M)
		          for port in ports.split(", ")}
		assert listed and listed == policy, listed ^ policy
	EOF
}
