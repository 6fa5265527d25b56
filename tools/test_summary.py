#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts test cases in meson's testlog.json and prints "N passed, N failed" as the last line.

A TAP program counts once per case, any other program once. A program that failed as a whole
(crash, timeout, fewer cases than planned) counts as one failure more than its failed cases say.
Skipped cases are listed; with KODA_TEST_MUST_RUN=1 they are failures.

A second argument names a file of cases that cannot pass here, "TEST: CASE" a line, in sections
"[WHAT IS LACKING] REASON". Those count neither as passed nor as failed. A line of the file that names
no case is a failure. A case that passes all the same is told, and counts.
"""

import json
import os
import re
import sys

PLAN = re.compile(r"^1\.\.(\d+)")
CASE = re.compile(r"^(not )?ok\b\s*\d*\s*(.*)$")
SKIP = re.compile(r"#\s*skip\b", re.IGNORECASE)
GOOD = ("OK", "EXPECTEDFAIL")


def tap_cases(text):
    """The cases of TAP output as [passed, skipped, title], or None if it has no plan.

    What a failed case has to say follows it in comments, which become part of its title.
    """
    planned = None
    cases = []
    for line in text.splitlines():
        plan = PLAN.match(line)
        case = CASE.match(line)
        if plan:
            planned = int(plan.group(1))
        elif case:
            title = case.group(2)
            cases.append([not case.group(1), bool(SKIP.search(title)), title])
        elif line.startswith("#") and cases and not cases[-1][0] and not cases[-1][1]:
            cases[-1][2] += "\n    " + line
    if planned is None:
        return None
    cases += [[False, False, "planned, never ran"]] * (planned - len(cases))
    return cases


def read_listed(path):
    """The cases of a file of those that cannot pass here, as a set of (test, case)."""
    with open(path, encoding="utf-8") as lines:
        rows = [line.strip() for line in lines if line.strip() and line[0] not in "#["]
    return {tuple(row.split(": ", 1)) for row in rows}


def without_listed(test, cases, listed):
    """The cases without those listed that failed. Removes what it has seen from listed."""
    rest = []
    for case in cases:
        key = (test, case[2].split("\n")[0].removeprefix("- "))
        if key in listed and case[0]:
            print(f"passes, though listed: {test}: {key[1]}")
        if key not in listed or case[0]:
            rest.append(case)
        listed.discard(key)
    return rest


def main():
    must_run = os.environ.get("KODA_TEST_MUST_RUN") == "1"
    listed = read_listed(sys.argv[2]) if len(sys.argv) > 2 else set()
    passed = failed = lost = 0
    if not os.path.exists(sys.argv[1]):
        print("no test ran", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as log:
        programs = [json.loads(line) for line in log if line.strip()]
    for program in programs:
        name, result = program["name"], program["result"]
        good = result in GOOD + ("SKIP",)
        cases = tap_cases(program.get("stdout", ""))
        if cases is None:
            cases = [(result in GOOD, result == "SKIP", result)]
        elif program["returncode"] == 0 and all(ok or skipped for ok, skipped, _ in cases):
            # cmocka writes a skip as "not ok # SKIP", which meson takes for a failure.
            good = True
        rest = without_listed(name.split(" / ")[-1], cases, listed)
        # cmocka exits with the number of failed cases: here all of them are listed.
        good = good or 0 < program["returncode"] == len(cases) - len(rest)
        lost += len(cases) - len(rest)
        cases = rest
        bad = 0
        for ok, skipped, title in cases:
            if skipped:
                print(f"skipped: {name}: {title}")
                bad += must_run
            elif ok:
                passed += 1
            else:
                print(f"failed: {name}: {title}")
                bad += 1
        if bad == 0 and not good:
            print(f"failed: {name}: {result}")
            bad = 1
        failed += bad
    for test, case in sorted(listed):
        print(f"failed: {test}: {case}: {sys.argv[2]} has it, but no test does")
        failed += 1
    if passed + failed == 0:
        print("no test ran", file=sys.stderr)
        failed = 1
    if lost:
        print(f"{lost} cases cannot pass here: {sys.argv[2]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
