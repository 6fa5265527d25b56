#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pins where a policy, a hint about one, or a file of events is decoded from text.

A sandbox that reads its policy from wherever it likes can be widened by every process that writes there. So
every call of these decoders outside the tests is listed in tools/parse_sites.txt with a reason;
a new call, or one that went away, fails until the list says so.
"""

import re
import sys
from collections import Counter

import sources

PINS = "tools/parse_sites.txt"
DECODERS = ("koda_policy_parse", "koda_hint_parse", "koda_hint_read", "koda_event_decode")
CALL = re.compile(r"\b(%s)\b" % "|".join(DECODERS))


def call_sites():
    """Each use in a .c file (a call, or its address taken) as "path:function"."""
    sites = Counter()
    for path in sources.files(".c", ".h", folders=("src", "libexec", "cli")):
        text = sources.read(path)
        spans = sources.functions(text)
        for number, line in enumerate(
                sources.without_comments(text, keep_strings=False).splitlines(), 1):
            for _ in CALL.finditer(line):
                name = next((n for n, first, last in spans if first <= number <= last), "?")
                # The definition itself is no call, nor is a declaration.
                if name not in DECODERS and not line.startswith("KODA_CHECK int "):
                    sites[f"{path}:{name}"] += 1
    return sites


def pinned_sites():
    """Lines "path:function reason"; two calls in one function take two lines."""
    pins = Counter()
    for number, line in enumerate(sources.read(PINS).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        site, _, reason = line.strip().partition(" ")
        if not reason.strip():
            sys.exit(f"{PINS}:{number}: no reason given for {site}")
        pins[site] += 1
    return pins


def main():
    sites, pins = call_sites(), pinned_sites()
    problems = [f"{site}: decodes text, but {PINS} does not list it"
                for site in (sites - pins).elements()]
    problems += [f"{PINS}: {site} does not decode text (any more)"
                 for site in (pins - sites).elements()]
    print("\n".join(problems) or "check_parse_sites: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
