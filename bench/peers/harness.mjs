// Time a harness's own session manager: one request in JSON a line, one answer a line.
import { createInterface } from "node:readline";

const [, , name] = process.argv;
const { SessionManager } = await import(name);

const open = async (path) => await SessionManager.open(path);
let appending;
const work = {
	rebuild: async ({ path }) => {
		const start = performance.now();
		const session = await open(path);
		const { messages } = session.buildSessionContext();
		const seconds = (performance.now() - start) / 1000;
		await session.close?.();
		return { seconds, messages };
	},
	append: async ({ path, messages }) => {
		const session = (appending ??= await open(path));
		const seconds = [];
		for (const message of messages) {
			const start = performance.now();
			session.appendMessage(message);
			await session.flush?.();
			seconds.push((performance.now() - start) / 1000);
		}
		return seconds;
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	const { does, ...options } = JSON.parse(line);
	process.stdout.write(`${JSON.stringify(await work[does](options))}\n`);
}
