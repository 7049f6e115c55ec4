// In opencode: put what a compaction drops behind it, as a part of the session that the person did not type.
// Whatever fails, opencode goes on as without it.

import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

const DATA = join(process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'opencode');
const DATABASE = resolve(DATA, process.env.OPENCODE_DB || 'opencode.db');

function answer(name, session) {
  const event = JSON.stringify({ hook_event_name: name, transcript_path: DATABASE, session_id: session });
  const options = { timeout: 6000, killSignal: 'SIGKILL' };
  return new Promise((settle) => {
    try {
      execFile('refold', ['hook', 'opencode', '--event', event], options, (error, words) => {
        settle(error ? '' : words.trim());
      });
    } catch {
      settle('');
    }
  });
}

export const Refold = async ({ client }) => {
  const waiting = new Set(); // sessions whose compaction the next prompt follows
  const answered = new Set(); // sessions that already got their words behind it

  return {
    'experimental.session.compacting': async ({ sessionID }, output) => {
      const words = await answer('PreCompact', sessionID);
      if (words !== '') {
        output.context.push(words);
      }
    },

    // Between the new summary and the message by which opencode goes on.
    'experimental.compaction.autocontinue': async ({ sessionID, agent, message }) => {
      answered.add(sessionID);
      const text = await answer('Compacted', sessionID);
      if (text !== '') {
        const parts = [{ type: 'text', text, synthetic: true }];
        const body = { noReply: true, agent, model: message.model, parts };
        await client.session.prompt({ path: { id: sessionID }, body }).catch(() => {});
      }
    },

    event: async ({ event }) => {
      if (event.type === 'session.compacted' && !answered.delete(event.properties.sessionID)) {
        waiting.add(event.properties.sessionID);
      }
    },

    'chat.message': async ({ sessionID }, { message, parts }) => {
      if (waiting.delete(sessionID)) {
        const text = await answer('Compacted', sessionID);
        if (text !== '') {
          const id = `${parts.at(-1)?.id ?? 'prt_'}0`; // sorts behind the last
          parts.push({ id, messageID: message.id, sessionID, type: 'text', text, synthetic: true });
        }
      }
    },

    dispose: async () => {
      await answer('SessionEnd');
    },
  };
};
