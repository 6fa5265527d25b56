#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ties doc/threat-model.md to the tree.

A row  | T-01 | threat | defends: path | proves: path |  names a file that defends and a test that
proves it. Both exist and mention the threat's number; and every number that the code or a test
mentions has a row. Several paths may stand in a cell.
"""

import re
import sys

import sources

MODEL = "doc/threat-model.md"
THREAT = re.compile(r"\bT-\d{2,}\b")
PATH = re.compile(r"[\w./-]*\w/[\w./-]*\w\.\w+")


def cell(cells, word):
    """The paths of the cell that starts with word, e.g. "defends:"."""
    for text in cells:
        if text.replace("*", "").strip().lower().startswith(word):
            return PATH.findall(text)
    return []


def check_row(number, threat, cells):
    problems = []
    for word in ("defends", "proves"):
        paths = cell(cells, word)
        if not paths:
            problems.append(f"{MODEL}:{number}: {threat}: no '{word}: path'")
        for path in paths:
            if not (sources.ROOT / path).is_file():
                problems.append(f"{MODEL}:{number}: {threat}: {path} does not exist")
            elif word == "proves" and not path.startswith("tests/"):
                problems.append(f"{MODEL}:{number}: {threat}: {path} is not a test")
            elif threat not in THREAT.findall(sources.read(path)):
                problems.append(f"{MODEL}:{number}: {threat}: {path} does not mention {threat}")
    return problems


def main():
    problems = []
    rows = {}
    for number, line in enumerate(sources.read(MODEL).splitlines(), 1):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        head = re.fullmatch(r"[`*\s]*(T-\d{2,})[`*\s]*", cells[0]) if "|" in line else None
        if not head:
            continue
        threat = head.group(1)
        if threat in rows:
            problems.append(f"{MODEL}:{number}: {threat} is also in line {rows[threat]}")
        rows[threat] = number
        problems += check_row(number, threat, cells[1:])
    if not rows:
        problems.append(f"{MODEL}:1: no row '| T-nn | threat | defends: path | proves: path |'")
    for path in sources.files(".c", ".h", ".bats", ".py",
                              folders=("include", "src", "libexec", "cli", "tests")):
        for number, line in enumerate(sources.read(path).splitlines(), 1):
            for threat in THREAT.findall(line):
                if threat not in rows:
                    problems.append(f"{path}:{number}: {threat} has no row in {MODEL}")
    print("\n".join(problems) or f"check_threats: ok, {len(rows)} threats")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
