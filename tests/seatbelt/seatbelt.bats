#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# T-119. Profiles of koda-sandbox seatbelt, judged by what they allow: evaluate.scm answers as macOS
# would.

setup() {
	load ../integration/helper
	new_project
	mkdir -p .git/hooks .git/info
	: >.git/config
}

# profile OPTION...: prints a profile, which has to be there.
profile() {
	koda seatbelt "$@"
	succeeds
	cp -- "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/profile"
}

# decides EXPECTED QUESTION...: each question has this answer, by the profile.
decides() {
	local expected=$1 answers question
	shift
	answers=$("$KODA_GUILE" --no-auto-compile -c "(load-compiled \"$KODA_EVALUATE\")" \
		ask "$BATS_TEST_TMPDIR/profile" "$@")
	while read -r answer; do
		question=$1
		shift
		[[ $answer == "$expected" ]] || {
			echo "$question: $answer"
			return 1
		}
	done <<<"$answers"
	[[ $# -eq 0 ]]
}

allows() { decides allow "$@"; }
denies() { decides deny "$@"; }

@test "strict_profile_write_protects_dir, _credential_files: stores can be read and not written" {
	profile
	for name in .ssh .aws .claude .android .config/gh .config/netlify .config/vercel .netrc .env; do
		denied+=("file-write-data=$HOME/$name" "file-write-create=$HOME/$name/x")
		allowed+=("file-read-data=$HOME/$name")
	done
	denies "${denied[@]}"
	allows "${allowed[@]}"
}

@test "strict_profile_write_protects: also where a policy makes the home directory writable" {
	echo "{\"fs\":{\"allow_write\":[\"$HOME\",\"$project\"]}}" >policy.json
	profile --policy-fd 3 3<policy.json
	allows "file-write-data=$HOME/notes" "file-write-create=$HOME/notes"
	denies "file-write-data=$HOME/.ssh/authorized_keys" "file-write-data=$HOME/.netrc" \
		"file-write-create=$HOME/.aws" "file-write-unlink=$HOME/.config" \
		"file-write-create=$HOME/.config" "file-write-unlink=$HOME"
}

@test "strict_profile_fully_denies_koda_db" {
	echo "{\"fs\":{\"allow_write\":[\"$HOME\"],\"deny_read\":[\"$HOME/.config\"],
		\"allow_read_within_deny\":[\"$HOME/.config/koda/db\"]}}" >policy.json
	profile --policy-fd 3 3<policy.json
	denies {file-read-data,file-read-metadata,file-write-data,file-write-create,process-exec}"=$HOME/.config/koda/db/keys"
	profile
	denies {file-read-data,file-write-data}"=$HOME/.config/koda/db"
	allows "file-read-data=$HOME/.config/koda"
}

@test "strict_deny_rules_come_after_broad_allow: the floor is last" {
	profile
	local allow floor
	allow=$(grep -n '^(allow' "$BATS_TEST_TMPDIR/profile" | tail -n 1 | cut -d: -f1)
	floor=$(grep -n '^; the floor$' "$BATS_TEST_TMPDIR/profile" | cut -d: -f1)
	((floor > allow))
}

@test "validate_seatbelt_path_accepts_normal, and quotes, parentheses and other bytes, which it escapes" {
	local odd=$project/$'a"b\\(c) \n\xff; #|'
	mkdir -p "$odd/sub"
	profile --root "$odd" --deny-write "$odd/sub"
	[[ $(LC_ALL=C grep -c '[^ -~]' "$BATS_TEST_TMPDIR/profile") == 0 ]]
	grep -qF "a\\x22b\\x5c(c) \\x0a\\xff; #|" "$BATS_TEST_TMPDIR/profile"
}

@test "policy_overlay_rules_validates_paths_to_prevent_injection" {
	profile --deny-read '/x")) (allow file-write* (subpath "/'
	denies 'file-write-data=/etc/hosts' 'file-read-data=/x")) (allow file-write* (subpath "/y'
	allows 'file-read-data=/x'
}

@test "policy_overlay_rules_emit_deny_read_first_then_allow_within, emit_allow_write_then_deny_within" {
	mkdir -p secret/open closed/deep
	profile --deny-read secret --deny-write closed
	denies "file-read-data=$project/secret/x" "file-write-data=$project/secret/x" \
		"process-exec=$project/secret/x" "file-write-data=$project/closed/deep/x"
	allows "file-read-data=$project/closed/deep/x" "file-write-data=$project/src/x"
	echo "{\"fs\":{\"deny_read\":[\"$project/secret\"],\"allow_write\":[\"$project/secret/open\",\"$project\"],
		\"allow_read_within_deny\":[\"$project/secret/open\"]}}" >policy.json
	profile --policy-fd 3 3<policy.json
	allows "file-read-data=$project/secret/open/x"
	denies "file-write-data=$project/secret/open/x" "file-read-data=$project/secret/x"
}

@test "policy_overlay_rules_empty_for_default_policy: an empty policy makes nothing writable" {
	echo '{}' >policy.json
	profile --policy-fd 3 3<policy.json
	denies "file-write-data=$project/x" "file-write-data=/tmp/x" "file-write-data=$HOME/.cargo/x" \
		"file-write-data=$HOME/.cache/x"
	allows "file-write-data=/dev/null"
}

@test "policy_overlay_rules_is_appended_after_baseline_in_build_command: and the floor after both" {
	echo "{\"fs\":{\"allow_write\":[\"$project\",\"$project/.git/hooks\",\"$HOME/.ssh\"]}}" >policy.json
	profile --policy-fd 3 3<policy.json
	denies "file-write-create=$project/.git/hooks/pre-commit" "file-write-data=$HOME/.ssh/config"
	allows "file-write-data=$project/x"
}

@test "build_command_with_proxy_uses_proxied_profile, without_proxy there is no network" {
	profile
	denies 'network-outbound=tcp:localhost:8080' 'network-outbound=ip:1.1.1.1:443'
	profile --proxy-port 8080
	allows 'network-outbound=tcp:localhost:8080'
}

@test "git_config_deny_rules_cover_hooks_and_config, deny_only_writes_not_reads" {
	profile
	denies "file-write-data=$project/.git/config" "file-write-create=$project/.git/hooks/pre-commit"
	allows "file-read-data=$project/.git/config" "file-write-data=$project/.git/index" \
		"file-write-create=$project/.git/index.lock" "file-write-unlink=$project/.git/index.lock"
}

@test "build_command_omits_git_deny_rules_when_explicitly_allowed: but never hooks" {
	echo "{\"fs\":{\"allow_write\":[\"$project\"],\"allow_git_config\":true}}" >policy.json
	profile --policy-fd 3 3<policy.json
	allows "file-write-data=$project/.git/config"
	denies "file-write-data=$project/.git/hooks/post-commit"
}

@test "sec_001_git_config_write_is_denied_in_resolved_profile, unrelated_project_path_remains_writable" {
	profile
	denies "file-write-data=$project/.git/config" "file-write-data=$project/.git/hooks/pre-push"
	allows "file-write-data=$project/src/main.rs"
}

@test "a repository below the root is closed too" {
	git init -q deep/er
	profile
	denies "file-write-create=$project/deep/er/.git/hooks/pre-commit" \
		"file-write-data=$project/deep/er/.git/config" "file-write-unlink=$project/deep"
	allows "file-write-create=$project/deep/er/.git/index.lock" "file-write-data=$project/deep/er/x"
}

@test "T-11: nothing above a protected name can be moved, and none can be made by moving" {
	mkdir -p .koda
	profile
	denies file-write-{unlink,create}"=$project/"{.git,.git/info,.koda,.claude} \
		file-write-{unlink,create}"=$project" file-write-create="$project/.vscode"
	allows file-write-{unlink,create}"=$project/src" "file-write-create=$project/.koda/notes"
}

@test "proxied_profile_omits_open_network_allow, allows_only_proxy_port_outbound_tcp" {
	profile --proxy-port 8080
	allows 'network-outbound=tcp:localhost:8080'
	denies 'network-outbound=tcp:localhost:8081' 'network-outbound=ip:1.1.1.1:443' \
		'network-outbound=unix:/var/run/docker.sock' 'network-outbound=/private/var/run/mDNSResponder'
	[[ $(grep -c 'remote tcp' "$BATS_TEST_TMPDIR/profile") == 1 ]]
	[[ $(grep -c 'network\*' "$BATS_TEST_TMPDIR/profile") == 0 ]]
}

@test "proxied_profile_allows_unix_socket_outbound in TMPDIR, and nowhere else" {
	mkdir -p "$HOME/t"
	profile --proxy-port 8080 --tmpdir "$HOME/t"
	allows "network-outbound=unix:$HOME/t/s" "network-bind=unix:$HOME/t/s"
	denies "network-outbound=unix:$HOME/ts" "network-outbound=unix:$project/s"
}

@test "proxied_profile_allows_localhost_inbound_for_debuggers if local_binding_propagates; no wildcard_bind" {
	profile --proxy-port 8080
	allows 'network-bind=ip:localhost:3000' 'network-inbound=ip:localhost:3000'
	denies 'network-bind=ip:*:3000' 'network-inbound=ip:*:3000'
	profile --trust plan
	denies 'network-bind=ip:localhost:3000' 'network-inbound=ip:localhost:3000'
}

@test "proxied_and_open_differ_only_in_network_section; keeps_baseline_file_writes_unchanged" {
	profile --proxy-port 8080
	grep -v network "$BATS_TEST_TMPDIR/profile" >proxied
	profile --open-network
	allows 'network-outbound=ip:1.1.1.1:443'
	denies 'network-outbound=unix:/var/run/docker.sock' 'network-inbound=ip:*:80'
	grep -v network "$BATS_TEST_TMPDIR/profile" >open
	profile
	denies 'network-outbound=ip:1.1.1.1:443' 'network-outbound=tcp:localhost:8080'
	grep -v network "$BATS_TEST_TMPDIR/profile" >none
	cmp proxied open
	cmp proxied none
}

@test "proxied_profile_omits_trustd_by_default, permits_trustd_when_weaker_isolation_set and no egress" {
	profile --proxy-port 8080
	denies mach-lookup=com.apple.trustd{,.agent}
	cp "$BATS_TEST_TMPDIR/profile" strong
	koda policy show
	sed 's/"weaker_macos_isolation": [a-z]*/"weaker_macos_isolation": true/' "$BATS_TEST_TMPDIR/out" >policy.json
	profile --proxy-port 8080 --policy-fd 3 3<policy.json
	allows mach-lookup=com.apple.trustd{,.agent}
	grep -q '^; net.weaker_macos_isolation$' "$BATS_TEST_TMPDIR/profile"
	[[ $(diff strong "$BATS_TEST_TMPDIR/profile" | grep -c '^[<>]') == 4 ]]
}

@test "W17: services that act outside the sandbox are not reached" {
	profile --proxy-port 8080
	denies mach-lookup=com.apple.{coreservices.launchservicesd,coreservices.appleevents,SecurityServer,pasteboard.1,cfprefsd.agent,FSEvents} \
		process-exec=/usr/bin/{open,osascript} process-exec=/bin/launchctl \
		sysctl-read=kern.procargs2 file-link="$project/x" iokit-open=x appleevent-send=x
	allows mach-lookup=com.apple.system.opendirectoryd.libinfo process-exec=/usr/bin/make \
		process-exec="$project/src/tool" sysctl-read=hw.ncpu process-fork=x ipc-posix-sem=/psm_1 \
		signal=same-sandbox
	denies signal=others process-info-pidinfo=others
}

@test "certificates are read where macOS has them, and below TMPDIR" {
	mkdir -p "$HOME/t"
	profile --tmpdir "$HOME/t"
	allows file-read-data=/private/etc/ssl/cert.pem "file-read-data=$HOME/t/ca-bundle.pem"
	denies file-write-data=/private/etc/ssl/cert.pem
}

@test "W60: TMPDIR is writable, and is not moved" {
	mkdir -p "$HOME/t"
	profile --tmpdir "$HOME/t"
	allows file-write-{data,create,unlink}"=$HOME/t/tmp.x"
	denies "file-write-unlink=$HOME/t" "file-write-data=$HOME/t2"
	for dir in / /tmp "$HOME" "$HOME/missing" "$project" "$project/.git/hooks"; do
		koda seatbelt --tmpdir "$dir"
		[[ $status == 125 && -z $stdout && -n $stderr ]]
	done
}

@test "build_command_returns_byte_identical_profile_on_repeated_calls, also as plan --seatbelt" {
	profile
	cp "$BATS_TEST_TMPDIR/profile" first
	profile
	cmp "$BATS_TEST_TMPDIR/profile" first
	koda plan --seatbelt -c true
	succeeds
	cmp "$BATS_TEST_TMPDIR/out" first
}

@test "a tag is in every denial" {
	profile --tag koda-42
	[[ $(grep -c '^(deny' "$BATS_TEST_TMPDIR/profile") == \
		$(grep -c '^(deny.*(with message "koda-42")' "$BATS_TEST_TMPDIR/profile") ]]
	denies "file-write-data=$project/.git/config"
	koda seatbelt --tag 'a") (allow default'
	[[ $status == 125 && -z $stdout ]]
}

@test "what no profile can hold prints none" {
	koda seatbelt --root "$project/missing"
	[[ $status == 125 && -z $stdout && $stderr == *"$project/missing"* ]]
	koda seatbelt --proxy-port 0
	[[ $status == 125 && -z $stdout ]]
	koda seatbelt --proxy-port 80 --no-network
	[[ $status == 125 && -z $stdout && $stderr == *network* ]]
	koda seatbelt --open-network --trust plan
	[[ $status == 125 && -z $stdout && $stderr == *network* ]]
	koda seatbelt --open-network --proxy-port 80
	[[ $status == 125 && -z $stdout ]]
	koda plan --seatbelt --json -c true
	[[ $status == 125 && -z $stdout ]]
	echo '{"fs":{"allow_write":["/"]}}' >policy.json
	koda seatbelt --policy-fd 3 3<policy.json
	[[ $status == 125 && -z $stdout ]]
	koda seatbelt --deny-read "$(printf '/%0200d' 1 2 3 4 5 6)"
	[[ $status == 125 && -z $stdout && $stderr == *1023* ]]
	python3 -c 'import json; print(json.dumps({"fs": {"deny_read": ["/%0200d/%d" % (i, i) for i in range(4500)]}}))' >policy.json
	koda seatbelt --policy-fd 3 3<policy.json
	[[ $status == 125 && -z $stdout && $stderr == *'1 MiB'* ]]
}
