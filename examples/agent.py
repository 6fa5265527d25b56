#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs shell commands at once in sandboxes around the working directory: agent.py COMMAND..."""
import asyncio, json, os, sys

KODA = os.environ.get("KODA_SANDBOX", "koda-sandbox")
POLICY = {"fs": {"allow_write": [os.getcwd()]}, "net": {"denied_domains": ["*"]}}

async def run(number, text):
    events, to_events = os.pipe()
    policy = os.memfd_create("policy")
    os.write(policy, json.dumps(POLICY).encode())
    os.lseek(policy, 0, os.SEEK_SET)
    child = await asyncio.create_subprocess_exec(
        KODA, "run", "--policy-fd", str(policy), "--events-fd", str(to_events), "--wall-time", "10",
        "-c", text, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT, pass_fds=(policy, to_events))
    os.close(policy), os.close(to_events)
    lines = asyncio.to_thread(lambda: [json.loads(line) for line in open(events, encoding="utf-8")])
    told, (output, _) = await asyncio.gather(lines, child.communicate())
    print(f"[{number}] {told[-1]['reason']} {child.returncode}\n{output.decode()}", end="")
    for event in told:
        if event["type"] == "violation":
            print(f"[{number}] denied: {event['kind']} {event['target']}")

async def main():
    await asyncio.gather(*(run(i, text) for i, text in enumerate(sys.argv[1:], 1)))
asyncio.run(main())
