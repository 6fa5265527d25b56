#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# The environment that a command would get, with poison in the caller's.

bats_require_minimum_version 1.5.0

setup() {
	load helper
	new_project
	# What a developer's shell may hold and a command must never see.
	export OPENAI_API_KEY=poison ANTHROPIC_API_KEY=poison GITHUB_TOKEN=poison GH_TOKEN=poison
	export AWS_ACCESS_KEY_ID=poison AWS_SECRET_ACCESS_KEY=poison AWS_SESSION_TOKEN=poison
	export NPM_TOKEN=poison NODE_AUTH_TOKEN=poison GIT_ASKPASS=poison GIT_SSH_COMMAND=poison
	export GIT_HTTP_USER_AGENT=poison SSH_AUTH_SOCK=poison DATABASE_PASSWORD=poison
	export HTTP_PROXY=http://poison:1 https_proxy=http://poison:2 ALL_PROXY=poison
	export NO_PROXY=poison LD_PRELOAD_NOT=poison BASH_ENV=poison KODA_SANDBOX=poison PWD_OLD=poison
	export CARGO_HOME=/c RUSTUP_HOME=/r GIT_AUTHOR_NAME=Ada NODE_ENV=test PYTHONPATH=/py
	export KUBECONFIG=/k DOCKER_HOST=unix:///d CLOUDSDK_CONFIG=/g AWS_PROFILE=work MAKEFLAGS=-j2
	export LANG=C.UTF-8 TERM=dumb USER=ada
}

# environment ARG...: runs env and keeps the sorted lines.
environment() {
	koda env "$@"
	succeeds
	[[ $stdout != *poison* ]]
}

has() {
	grep -qxF -e "$1" "$BATS_TEST_TMPDIR/out" || {
		show_result
		echo "missing: $1"
		return 1
	}
}

# has_no NAME...
has_no() {
	local name
	for name in "$@"; do
		if grep -q "^$name=" "$BATS_TEST_TMPDIR/out"; then
			show_result
			echo "unwanted: $name"
			return 1
		fi
	done
}

@test "nothing of the poison passes, whatever the tool" {
	for command in ls cargo rustc git npm node yarn python3 pip kubectl docker gcloud aws make \
		'bash -c env' 'sudo git' 'A=1 git' '(git)' '' ' '; do
		environment -c "$command"
	done
}

@test "a tool's own credentials do not pass even for that tool" {
	environment -c 'aws s3 ls'
	has AWS_PROFILE=work
	has_no AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN
	environment -c 'git push'
	has GIT_AUTHOR_NAME=Ada
	has_no GITHUB_TOKEN GIT_ASKPASS GIT_SSH_COMMAND GIT_HTTP_USER_AGENT
	environment -c 'npm publish'
	has NODE_ENV=test
	has_no NPM_TOKEN NODE_AUTH_TOKEN
}

@test "no name of the result looks like a credential" {
	for command in ls cargo git npm python3 kubectl docker gcloud aws make; do
		environment -c "$command x"
		# AWS_SHARED_CREDENTIALS_FILE is the name of a file.
		run -1 grep -E '^[^=]*(KEY|SECRET|TOKEN|PASSWORD|CRED[^=]*[^E]=)' "$BATS_TEST_TMPDIR/out"
	done
}

@test "PATH, HOME, USER, LANG and TERM survive" {
	environment -c ls
	has "PATH=$PATH"
	has "HOME=$HOME"
	has USER=ada
	has LANG=C.UTF-8
	has TERM=dumb
}

@test "extras reach only the tool that the first word names" {
	environment -c 'cargo build'
	has CARGO_HOME=/c
	has RUSTUP_HOME=/r
	has_no GIT_AUTHOR_NAME AWS_PROFILE KUBECONFIG
	environment -c 'ls cargo'
	has_no CARGO_HOME RUSTUP_HOME
	environment -c 'rm -rf x'
	has_no CARGO_HOME GIT_AUTHOR_NAME NODE_ENV PYTHONPATH KUBECONFIG DOCKER_HOST CLOUDSDK_CONFIG \
		AWS_PROFILE
}

@test "the first word is found as documented" {
	environment -c '/usr/bin/git status'
	has GIT_AUTHOR_NAME=Ada
	environment -c 'git log | cargo x'
	has GIT_AUTHOR_NAME=Ada
	has_no CARGO_HOME
	environment -c $' \t git status'
	has GIT_AUTHOR_NAME=Ada
	for command in "bash -c 'git status'" 'sudo git status' 'X=1 git status' '(git status)' \
		'git/ status' 'gitk' '' '   '; do
		environment -c "$command"
		has_no GIT_AUTHOR_NAME
	done
}

@test "a program with arguments is as good as shell text" {
	environment git status
	has GIT_AUTHOR_NAME=Ada
	environment -- git --version
	has GIT_AUTHOR_NAME=Ada
	environment /usr/bin/git -c core.pager=cat log
	has GIT_AUTHOR_NAME=Ada
	environment ls --help
	has_no GIT_AUTHOR_NAME
}

@test "each documented tool gets its variables" {
	environment -c 'npm test'
	has NODE_ENV=test
	environment -c 'python3 x.py'
	has PYTHONPATH=/py
	environment -c 'helm list'
	has KUBECONFIG=/k
	environment -c 'podman ps'
	has DOCKER_HOST=unix:///d
	environment -c 'bq ls'
	has CLOUDSDK_CONFIG=/g
	environment -c 'make all'
	has MAKEFLAGS=-j2
}

@test "settings of common tools pass, and of MAKEFLAGS only the number of jobs" {
	export TZ=Europe/Berlin NO_COLOR=1 CI=true EDITOR=vi CC=clang CFLAGS='-O1 -g'
	for flags in ' -j12 --jobserver-auth=3,4 -- X=poison' '-j12' 'w -j12'; do
		MAKEFLAGS=$flags environment -c ls
		has MAKEFLAGS=-j12
	done
	has TZ=Europe/Berlin
	has NO_COLOR=1
	has CI=true
	has EDITOR=vi
	has CC=clang
	has 'CFLAGS=-O1 -g'
	for flags in '' -j '-j 4' -j4x -k 'j4' "-j$(printf '9%.0s' {1..40})"; do
		MAKEFLAGS=$flags environment -c ls
		has_no MAKEFLAGS
	done
}

@test "--env hands a variable through by name, and names none of the caller's others" {
	export MY_SETTING='a b=c'
	environment --env MY_SETTING --env OTHER=x=y --env EMPTY= --env NO_SUCH_VARIABLE -c ls
	has 'MY_SETTING=a b=c'
	has OTHER=x=y
	has EMPTY=
	has_no NO_SUCH_VARIABLE
	# The last one counts, also over what the sandbox sets.
	environment --env OTHER=1 --env OTHER=2 --env TMPDIR=/elsewhere -c ls
	has OTHER=2
	has TMPDIR=/elsewhere
	cut -d = -f 1 "$BATS_TEST_TMPDIR/out" | LC_ALL=C sort -uc
	koda env --env =x -c ls
	refuses '--env needs NAME or NAME=VALUE'
	koda env --env-secret '' -c ls
	refuses '--env-secret needs NAME or NAME=VALUE'
}

@test "--env refuses what looks like a credential, --env-secret hands it through" {
	for name in GITHUB_TOKEN NPM_AUTH DB_PASS PGPASSWORD MYSQL_PWD my_api_key apikey AWS_SECRET_ACCESS_KEY \
		SSH_AUTH_SOCK SENTRY_DSN X_CREDENTIALS; do
		koda env --env "$name=poison" -c ls
		refuses "$name looks like a credential" "--env-secret $name"
		[[ $stderr != *poison* ]]
		koda env --env-secret "$name=value" -c ls
		succeeds
		has "$name=value"
	done
	koda env --env DATABASE_URL=postgres://ada:poison@db/x -c ls
	refuses 'DATABASE_URL looks like a credential'
	export DATABASE_URL=postgres://ada:poison@db/x
	koda env --env DATABASE_URL -c ls
	refuses 'DATABASE_URL looks like a credential'
	koda env --env-secret DATABASE_URL -c ls
	succeeds
	has "DATABASE_URL=$DATABASE_URL"
	for name in AUTHOR KEYBOARD MONKEY COMPASS OLDPWD PATH DATABASE_URL2=postgres://db:5432/x@y; do
		environment --env "$name" -c ls
	done
}

@test "run gives the variables to the command" {
	# shellcheck disable=SC2016 # the shell inside expands it
	MY_OWN=word koda run --env MY_OWN --env-secret GITHUB_TOKEN=value \
		-c 'echo "$MY_OWN $GITHUB_TOKEN ${GH_TOKEN-none}"'
	succeeds
	[[ $stdout == 'word value none' ]]
}

@test "the sandbox describes itself" {
	environment -c ls
	has KODA_SANDBOX=1
	has "PWD=$project"
	has TMPDIR=/tmp
}

@test "TMP and TEMP change only if they are there" {
	unset TMP TEMP
	environment -c ls
	has_no TMP TEMP
	TMP=/poison-tmp TEMP=/elsewhere environment -c ls
	has TMP=/tmp
	has TEMP=/tmp
}

@test "with network the proxy inside is announced, the caller's is not" {
	environment --trust auto -c ls
	for name in HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy; do
		has "$name=http://127.0.0.1:3128"
	done
	for name in NO_PROXY no_proxy; do
		has "$name=localhost,127.0.0.1,::1"
	done
	has_no SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO
}

@test "without network no proxy variable is set" {
	local proxies=(HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
		http_proxy https_proxy all_proxy no_proxy)
	environment --trust plan -c ls
	has_no "${proxies[@]}"
	environment --no-network -c ls
	has_no "${proxies[@]}"
	environment --deny-domain '*' -c ls
	has_no "${proxies[@]}"
	environment --narrow-fd 3 -c ls 3<<<'{"net":{"denied_domains":["*"]}}'
	has_no "${proxies[@]}"
}

@test "a policy that terminates TLS names the certificates inside" {
	environment --policy-fd 3 -c ls 3<<<'{"net":{"mitm":{"ca_bundle":"/etc/corp.pem"}}}'
	for name in SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
		GIT_SSL_CAINFO; do
		has "$name=/run/koda/ca-bundle.pem"
	done
}

@test "--cwd sets PWD and stays below the root" {
	environment --cwd src -c ls
	has "PWD=$project/src"
	environment --cwd "$project/src/./" -c ls
	has "PWD=$project/src"
	environment --root "$project" --cwd . -c ls
	has "PWD=$project"
	koda env --cwd .. -c ls
	refuses "--cwd .." "outside"
	koda env --cwd /etc -c ls
	refuses "--cwd /etc" "outside" 'another --root'
	koda env --cwd nosuch -c ls
	refuses "--cwd nosuch" "No such file or directory"
	: >"$project/file"
	koda env --cwd file -c ls
	refuses "--cwd file" "is not a directory"
	ln -s /etc out
	koda env --cwd out -c ls
	refuses "--cwd out" "outside"
	koda env --cwd "$project-other" -c ls
	refuses "--cwd" "outside"
}

@test "lines are sorted and names are unique" {
	environment -c 'git status'
	cut -d = -f 1 "$BATS_TEST_TMPDIR/out" | LC_ALL=C sort -uc
}

@test "--null separates with NUL, so that newlines in values are harmless" {
	# A value that tries to look like a variable of its own.
	export LANG=$'C\nGITHUB_TOKEN=x'
	for option in -0 --null; do
		koda env "$option" -c ls
		succeeds
		[[ $(tr -dc '\n' <"$BATS_TEST_TMPDIR/out" | wc -c) -eq 1 ]]
		tr '\n\0' ' \n' <"$BATS_TEST_TMPDIR/out" | grep -qxF 'LANG=C GITHUB_TOKEN=x'
		tr '\n\0' ' \n' <"$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/lines"
		run -1 grep '^GITHUB_TOKEN=' "$BATS_TEST_TMPDIR/lines"
	done
}

@test "an empty environment is enough" {
	status=0
	env -i "$KODA_BIN" env -c ls >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 0 ]]
	has KODA_SANDBOX=1
	has "PWD=$project"
	has_no HOME PATH USER
}

@test "odd entries of the caller's environment do no harm" {
	status=0
	env -i $'PATH=/bin' 'HOME=relative' '=x' 'LANG=' "$KODA_BIN" env -c ls \
		>"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[[ $status -eq 0 ]]
	has PATH=/bin
	has LANG=
}

@test "every option of run is one of env" {
	environment --backend native --trust safe --accept network --yes --no-tty --opaque example.org \
		--events "$BATS_TEST_TMPDIR/none/events" --events-fd 77 -c ls
	has TMPDIR=/tmp
	koda env --backend tent -c ls
	refuses "'tent' is not a backend"
	koda env --backend native --backend native -c ls
	refuses '--backend: can be given only once'
}

@test "a sandbox without namespaces has its temporary directory elsewhere" {
	export TMP=/x
	environment --backend landlock -c ls
	grep -qE '^TMPDIR=/tmp/[^/]+$' "$BATS_TEST_TMPDIR/out"
	directory=$(sed -n 's/^TMPDIR=//p' "$BATS_TEST_TMPDIR/out")
	has "TMP=$directory"
	[[ ! -e $directory ]]
	# But for that name it is what such a command gets.
	sed "s|$directory|/tmp/*|" "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/said"
	koda run --backend landlock --trust safe --yes --accept missing_names --accept private_dirs \
		--accept second_layer /usr/bin/env
	directory=$(sed -n 's/^TMPDIR=//p' "$BATS_TEST_TMPDIR/out")
	sort "$BATS_TEST_TMPDIR/out" | sed "s|$directory|/tmp/*|" | diff - "$BATS_TEST_TMPDIR/said"
}

@test "without a sandbox it says so" {
	TMPDIR=/host/tmp environment --trust safe --no-sandbox -c ls
	has TMPDIR=/host/tmp
	has_no KODA_SANDBOX HTTP_PROXY https_proxy
	koda env --no-sandbox -c ls
	refuses '--no-sandbox needs --trust safe'
}
