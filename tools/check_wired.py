#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every C source, unit test, fuzz target and bats file is named in a meson.build.

The build lists its files explicitly; without this, a test that is not in a list would never run.
"""

import re
import sys

import sources

# Compiled by tools/check_install.sh and examples.bats against the library, on purpose not by the build.
ELSEWHERE = {"examples/agent.c", "examples/descriptor.c", "examples/run.c",
             "tests/install/consumer.c"}
# Folders whose meson.build lists the bare <name> of a file <prefix><name>.<suffix>.
BARE = {
    "tests/unit": r"test_(\w+)\.c",
    "tests/fault": r"test_fault_(\w+)\.c",
    "tests/fuzz": r"fuzz_(\w+)\.c",
    "tests/egress": r"test_egress_(\w+)\.c",
    "tests/fsworker": r"test_fsworker_(\w+)\.c",
    "tests/integration": r"(\w+)\.bats",
}


def is_wired(path):
    bare = re.fullmatch(BARE.get(str(path.parent), r"(?!)"), path.name)
    for folder in path.parents:
        build = folder / "meson.build"
        if not (sources.ROOT / build).is_file():
            continue
        names = [path.relative_to(folder).as_posix()]
        if bare and folder == path.parent:
            names.append(bare.group(1))
        if any(f"'{name}'" in sources.read(build) for name in names):
            return True
    # What several test programs share is named from the folders beside it.
    shared = f"'../{path.parent.name}/{path.name}'"
    beside = (sources.ROOT / path.parent.parent).glob("*/meson.build")
    return any(shared in build.read_text(encoding="utf-8") for build in beside)


def main():
    problems = [f"{path}:1: no meson.build names it" for path in sources.files(".c", ".bats")
                if str(path) not in ELSEWHERE and not is_wired(path)]
    print("\n".join(problems) or "check_wired: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
