#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ties doc/threat-model.md to the tree.

An entry names the files that defend and the tests that prove it:

    * **T-01** what the threat is
      - defends: `path`, `path`
      - proves: `path`

All exist and mention the threat's number, and every number that the code or a test mentions has an
entry.
"""

import re
import sys

import sources

MODEL = "doc/threat-model.md"
THREAT = re.compile(r"\bT-\d{2,}\b")
PATH = re.compile(r"[\w./-]*\w/[\w./-]*\w\.\w+")


def entries(text):
    """(line number, threat, its text as paragraphs by their "-") for each entry of the model."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\* \*\*(T-\d{2,})\*\*", line)
        if head:
            found.append((number, head.group(1), [line]))
        elif not line.startswith("  "):
            found.append(None)  # the end of an entry
        elif found and found[-1]:
            parts = found[-1][2]
            if line.startswith("  - "):
                parts.append(line[4:])
            else:
                parts[-1] += " " + line.strip()
    return [entry for entry in found if entry]


def paths_of(parts, word):
    """The paths of the part that starts with word, e.g. "defends:"."""
    for text in parts:
        if text.startswith(word + ":"):
            return PATH.findall(text)
    return []


def check_entry(number, threat, parts):
    problems = []
    for word in ("defends", "proves"):
        paths = paths_of(parts, word)
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
    for number, threat, parts in entries(sources.read(MODEL)):
        if threat in rows:
            problems.append(f"{MODEL}:{number}: {threat} is also in line {rows[threat]}")
        rows[threat] = number
        problems += check_entry(number, threat, parts)
    if not rows:
        problems.append(f"{MODEL}:1: no entry '* **T-nn** threat' with 'defends:' and 'proves:'")
    for path in sources.files(".c", ".h", ".bats", ".py",
                              folders=("include", "src", "libexec", "cli", "tests")):
        for number, line in enumerate(sources.read(path).splitlines(), 1):
            for threat in THREAT.findall(line):
                if threat not in rows:
                    problems.append(f"{path}:{number}: {threat} has no entry in {MODEL}")
    print("\n".join(problems) or f"check_threats: ok, {len(rows)} threats")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
