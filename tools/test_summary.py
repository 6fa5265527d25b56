#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts test cases in meson's testlog.json and prints "N passed, N failed" as the last line.

A TAP program counts once per case, any other program once. A program that failed as a whole
(crash, timeout, fewer cases than planned) counts as one failure more than its failed cases say.
Skipped cases are listed; with KODA_TEST_MUST_RUN=1 they are failures.
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


def main():
    must_run = os.environ.get("KODA_TEST_MUST_RUN") == "1"
    passed = failed = 0
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
    if passed + failed == 0:
        print("no test ran", file=sys.stderr)
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
