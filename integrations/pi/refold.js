// In pi and oh-my-pi: put what a compaction drops behind it, as an entry of the session.
// Whatever fails, the program goes on as without it.

import { execFile } from 'node:child_process';

const TYPE = 'refold';
let harness = 'pi';

function answer(ctx, name, more = {}, seconds = 4) {
  return new Promise((settle) => {
    try {
      const path = ctx.sessionManager.getSessionFile();
      if (!path) {
        settle('');
        return;
      }
      const event = JSON.stringify({ hook_event_name: name, transcript_path: path, ...more });
      const words = ['hook', harness, '--event', event, '--timeout', `${seconds}`];
      const options = { timeout: (seconds + 2) * 1000, killSignal: 'SIGKILL', maxBuffer: 1 << 24 };
      // The programs' own exec reports a program that a signal ended as one that succeeded.
      execFile('refold', words, options, (error, given) => {
        settle(error ? '' : given.trim());
      });
    } catch {
      settle('');
    }
  });
}

function inPi(pi) {
  pi.on('session_compact', async (event, ctx) => {
    const words = await answer(ctx, 'Compacted');
    if (words !== '') {
      // A message would wait for the end of the turn. pi builds each request from the entries.
      ctx.sessionManager.appendCustomMessageEntry(TYPE, words, true);
    }
  });
}

// oh-my-pi sends the messages that it has in memory, so words come as a message. A handler of each request could add
// them sooner, but with one it marks nothing for the provider's cache.
function inOhMyPi(pi) {
  let isRunning = false;
  let telling; // a promise
  let told; // the compaction whose words the running turn gets

  // Return true for a compaction that refold was not asked about.
  function isOpen(ctx) {
    const entries = ctx.sessionManager.getBranch();
    const last = entries.findLastIndex((each) => each.type === 'compaction');
    return last >= 0 && entries[last].id !== told && !entries.slice(last).some((each) => each.customType === TYPE);
  }

  async function tell(compaction, ctx) {
    const content = await answer(ctx, 'Compacted');
    if (content !== '' && isRunning) {
      told = compaction;
      pi.sendMessage({ customType: TYPE, content, display: true }, { deliverAs: 'steer' });
    }
  }

  pi.on('session.compacting', async (event, ctx) => {
    const words = await answer(ctx, 'PreCompact');
    return words === '' ? undefined : { context: [words] };
  });

  pi.on('before_agent_start', async (event, ctx) => {
    await telling;
    isRunning = true;
    if (!isOpen(ctx)) {
      return undefined;
    }
    const content = await answer(ctx, 'Compacted');
    if (content === '') {
      pi.appendEntry(TYPE, {});
      return undefined;
    }
    return { message: { customType: TYPE, content, display: true } };
  });

  pi.on('turn_end', (event) => {
    isRunning = event.toolResults.length > 0;
  });

  pi.on('session_compact', async (event, ctx) => {
    if (isRunning) {
      telling = tell(event.compactionEntry.id, ctx);
      await telling;
    }
  });
}

// Let a policy of refold make the compactions. Without an answer, the program makes its own.
function byPolicy(pi, policy) {
  pi.on('session_before_compact', async (event, ctx) => {
    const made = await answer(ctx, 'Compact', { policy, window: ctx.model.contextWindow }, 300);
    if (made === '') {
      return undefined;
    }
    const { summary, firstKeptEntryId, tokensBefore, details } = JSON.parse(made);
    return firstKeptEntryId ? { compaction: { summary, firstKeptEntryId, tokensBefore, details } } : undefined;
  });
}

export default function (pi) {
  // Only oh-my-pi gives its extensions a logger.
  harness = pi.logger === undefined ? 'pi' : 'oh-my-pi';
  if (process.env.REFOLD_POLICY) {
    byPolicy(pi, process.env.REFOLD_POLICY);
  }
  (harness === 'pi' ? inPi : inOhMyPi)(pi);
  pi.on('session_shutdown', async (event, ctx) => {
    await answer(ctx, 'SessionEnd');
  });
}
