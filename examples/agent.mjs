#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Runs shell commands at once in sandboxes around the working directory: agent.mjs COMMAND...
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

const koda = process.env.KODA_SANDBOX ?? "koda-sandbox";
const policy = { fs: { allow_write: [process.cwd()] }, net: { denied_domains: ["*"] } };

async function run(command, i) {
	const args = ["run", "--policy-fd", "3", "--events-fd", "4", "--wall-time", "10", "-c", command];
	const child = spawn(koda, args, { stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"] });
	const status = new Promise((resolve, reject) => child.on("close", resolve).on("error", reject));
	child.stdio[3].end(JSON.stringify(policy));
	const [out, err, lines] = await Promise.all([1, 2, 4].map((fd) => text(child.stdio[fd])));
	const events = lines.trim().split("\n").map((line) => JSON.parse(line));
	console.log(`[${i + 1}] ${events.at(-1).reason} ${await status}\n${out}${err}`.trimEnd());
	for (const event of events.filter(({ type }) => type === "violation"))
		console.log(`[${i + 1}] denied: ${event.kind} ${event.target}`);
}
await Promise.all(process.argv.slice(2).map(run));
