#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every attempt states which clauses of containment it proves.

tests/security/run.sh decides by these tags what a backend has to pass; a test without one would be
demanded of a backend that never claimed it, or, with a misspelt one, of none.
"""

import re
import sys

import sources

TAGS = re.compile(r"# bats (file|test)_tags=(\S+)")


def known_clauses():
    text = sources.read("include/koda/clause.h")
    return {"none"} | set(re.findall(r'X\([A-Z_]+, "(\w+)"', text))


def problems_of(path, known):
    in_file = stated = 0
    for number, line in enumerate(sources.read(path).splitlines(), 1):
        match = TAGS.fullmatch(line)
        if match:
            names = [t[7:] for t in match.group(2).split(",") if t.startswith("clause:")]
            for name in set(names) - known:
                yield f"{path}:{number}: '{name}' is not a clause"
            if match.group(1) == "file":
                in_file += len(names)
            else:
                stated = len(names)
        elif line.startswith("@test "):
            if not in_file and not stated:
                yield f"{path}:{number}: no tag clause:NAME says what it proves"
            stated = 0


def main():
    known = known_clauses()
    problems = [p for path in sources.files(".bats") if str(path).startswith("tests/security/")
                for p in problems_of(path, known)]
    print("\n".join(problems) or "check_clauses: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
