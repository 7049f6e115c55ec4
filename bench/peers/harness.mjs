// Time a harness's own session manager: one request in JSON a line, one answer a line.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , name] = process.argv;
const { SessionManager } = await import(name);

const open = async (path) => await SessionManager.open(path);
const work = {
	version: async () => {
		const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
		return JSON.parse(readFileSync(file, "utf8")).version;
	},
	rebuild: async ({ path, withMessages }) => {
		const start = performance.now();
		const session = await open(path);
		const { messages } = session.buildSessionContext();
		const seconds = (performance.now() - start) / 1000;
		await session.close?.();
		return { seconds, messages: withMessages ? messages : messages.length };
	},
	append: async ({ path, messages }) => {
		const session = await open(path);
		const seconds = [];
		for (const message of messages) {
			const start = performance.now();
			session.appendMessage(message);
			await session.flush?.();
			seconds.push((performance.now() - start) / 1000);
		}
		await session.close?.();
		return seconds;
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	const { does, ...options } = JSON.parse(line);
	process.stdout.write(`${JSON.stringify(await work[does](options))}\n`);
}
