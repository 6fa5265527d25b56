#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # status, stdout, stderr and project come from helper.bash
# The completion scripts, the one for bash at work in a real bash.

setup() {
	load helper
	new_project
}

# complete_words WORD...: what bash offers for the last word, one a line, sorted.
complete_words() {
	"$KODA_BIN" completion bash >"$BATS_TEST_TMPDIR/completion.bash"
	# The inner shell expands its own variables.
	# shellcheck disable=SC2016
	env -i PATH="$PATH" bash --norc --noprofile -c '
		set -u
		source "$1"
		shift
		complete -p koda-sandbox >/dev/null || exit 3
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_koda_sandbox
		[[ ${#COMPREPLY[@]} -eq 0 ]] || printf "%s\n" "${COMPREPLY[@]}"
	' bash "$BATS_TEST_TMPDIR/completion.bash" "$@" | sort
}

offers() {
	local expected=$1
	shift
	diff <(tr ' ' '\n' <<<"$expected") <(complete_words "$@")
}

@test "the scripts are printed as they are installed" {
	mapfile -t pages < <(manual_pages)
	for shell in bash zsh fish; do
		koda completion "$shell"
		succeeds
		python3 "$KODA_SOURCE/tools/gen_cli.py" completion "$shell" "$BATS_TEST_TMPDIR/script" \
			"${pages[@]}"
		cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/script"
	done
}

@test "bash completes commands" {
	offers 'completion connect doctor env explain fs help plan policy proxy report run seatbelt shell' koda-sandbox ''
	offers 'env explain' koda-sandbox e
	offers 'check compose show' koda-sandbox policy ''
	offers 'check' koda-sandbox policy ch
}

@test "bash completes the words after help" {
	offers 'completion connect doctor env explain fs plan policy proxy report run seatbelt shell' koda-sandbox help ''
	offers 'plan policy proxy' koda-sandbox help p
	offers 'check compose show' koda-sandbox help policy ''
	[[ -z $(complete_words koda-sandbox help run '') ]]
	[[ -z $(complete_words koda-sandbox help run --tr) ]]
	[[ -z $(complete_words koda-sandbox help policy show '') ]]
	# Elsewhere it is a word like any other.
	[[ -z $(complete_words koda-sandbox policy help '') ]]
}

# The other shells are rarely installed where this is tested; their scripts hold the same words.
@test "every shell knows help, the clauses and the backends" {
	clauses=$(grep -oE 'X\([A-Z_]+, "[a-z_]+", true\)' "$KODA_SOURCE/include/koda/clause.h" | cut -d '"' -f 2)
	[[ $(wc -l <<<"$clauses") -ge 10 ]]
	for shell in bash zsh fish; do
		koda completion "$shell"
		grep -q help "$BATS_TEST_TMPDIR/out"
		grep -q "$(tr '\n' ' ' <<<"$clauses" | sed 's/ $//')" "$BATS_TEST_TMPDIR/out"
		grep -q 'auto native bwrap landlock' "$BATS_TEST_TMPDIR/out"
	done
}

@test "bash completes the options of each command" {
	offers '--help --version -V -h' koda-sandbox -
	offers '--memory' koda-sandbox policy show --mem
	offers '--json' koda-sandbox policy check --js
	offers '--null' koda-sandbox env --nu
	[[ -z $(complete_words koda-sandbox policy show --js) ]]
	[[ -z $(complete_words koda-sandbox completion --tr) ]]
}

@test "bash completes the values of options" {
	offers 'auto plan safe' koda-sandbox policy show --trust ''
	offers 'plan' koda-sandbox policy show --trust = p
	offers 'auto bwrap landlock native' koda-sandbox run --backend ''
	offers 'private_dirs privileges processes' koda-sandbox run --accept pr
	offers 'link_names' koda-sandbox shell --accept = li
	offers 'auto plan safe' koda-sandbox policy show --trust =
	offers 'src' koda-sandbox policy show --root s
	touch src.txt
	offers 'src' koda-sandbox policy show --root s
	offers 'src src.txt' koda-sandbox policy check --deny-read s
	[[ -z $(complete_words koda-sandbox policy show --memory s) ]]
}

@test "bash completes operands" {
	offers 'bash fish zsh' koda-sandbox completion ''
	offers 'connect read write' koda-sandbox policy check ''
	offers 'connect read write' koda-sandbox policy check --trust plan --root = / ''
	touch a.json b.json
	offers 'a.json b.json src' koda-sandbox policy compose ''
	offers 'b.json' koda-sandbox policy compose a.json b
	offers 'src' koda-sandbox policy check write s
	[[ $(complete_words koda-sandbox env ech) == *echo* ]]
	offers 'src' koda-sandbox env -- ls s
	[[ -z $(complete_words koda-sandbox env ls --tru) ]]
}

@test "bash offers exactly the documented options" {
	mapfile -t pages < <(manual_pages)
	while read -r command; do
		read -ra words <<<"${command/#-/}"
		diff <(python3 "$KODA_SOURCE/tools/gen_cli.py" options "${pages[@]}" |
			awk -F '\t' -v c="$command" '$1 == c { print ($2 ~ /^-/ ? $2 : "--" $2) }' | sort) \
			<(complete_words koda-sandbox "${words[@]}" - |
				grep -vxE -e '-[h0V]')
	done < <(python3 "$KODA_SOURCE/tools/gen_cli.py" options "${pages[@]}" | cut -f 1 | sort -u)
}

@test "the scripts are valid for their shells" {
	for shell in bash zsh fish; do
		command -v "$shell" >/dev/null || continue
		koda completion "$shell"
		succeeds
		"$shell" -n "$BATS_TEST_TMPDIR/out"
	done
}
