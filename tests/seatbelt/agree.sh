#!/bin/bash
# SPDX-License-Identifier: MIT
# T-119. Profiles of random policies say what the verdict functions say.
# KODA_TEST_SEED repeats a run.
# Usage: tests/seatbelt/agree.sh AGREE GUILE EVALUATE.go
set -euo pipefail

agree=$1 guile=$2 evaluate=$3
seed=${KODA_TEST_SEED:-$((SRANDOM % 1000000))}
policies=2000

compare() {
	"$guile" --no-auto-compile -c "(load-compiled \"$evaluate\")" agree
}

echo "KODA_TEST_SEED=$seed"
answer=$("$agree" "$seed" "$policies" | compare)
echo "profiles and answers that agree: $answer"
[[ $answer == "$policies $((policies * 100))" ]]

# The comparison can fail: by one wrong answer, and by quotes that end a string too early.
if "$agree" 7 20 lie | compare; then
	echo 'a wrong answer was not noticed'
	exit 1
fi
if "$agree" 7 20 | LC_ALL=C sed 's/\\x22/   "/g' | compare; then
	echo 'a quote that is not escaped was not noticed'
	exit 1
fi
