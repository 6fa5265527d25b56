#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails on C files over 400 lines and functions over 80.

Exceptions, each with a reason, stand in tools/size_exceptions.txt; one that is no longer needed
fails too, so the list cannot rot.
"""

import sys

import sources

FILE_MAX = 400
FUNCTION_MAX = 80
EXCEPTIONS = "tools/size_exceptions.txt"


def load_exceptions():
    """Lines "path reason" or "path:function reason"."""
    allowed = {}
    for number, line in enumerate(sources.read(EXCEPTIONS).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        what, _, reason = line.strip().partition(" ")
        if not reason.strip():
            sys.exit(f"{EXCEPTIONS}:{number}: no reason given for {what}")
        allowed[what] = number
    return allowed


def main():
    allowed = load_exceptions()
    used = set()
    problems = []

    def report(what, where, text):
        if what in allowed:
            used.add(what)
        else:
            problems.append(f"{where}: {text}")

    for path in sources.files(".c", ".h"):
        text = sources.read(path)
        count = len(text.splitlines())
        if count > FILE_MAX:
            report(str(path), f"{path}:1", f"{count} lines, at most {FILE_MAX}")
        for name, first, last in sources.functions(text):
            length = last - first + 1
            if length > FUNCTION_MAX:
                report(f"{path}:{name}", f"{path}:{first}",
                       f"{name} has {length} lines, at most {FUNCTION_MAX}")
    for what in sorted(set(allowed) - used):
        problems.append(f"{EXCEPTIONS}:{allowed[what]}: {what} needs no exception (any more)")
    print("\n".join(problems) or "check_sizes: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
