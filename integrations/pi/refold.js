// In pi and oh-my-pi: put what a compaction drops behind it, as an entry of the session.
// Whatever fails, the program goes on as without it.

import { execFile } from 'node:child_process';

const TYPE = 'refold';

function answer(ctx, name) {
  return new Promise((settle) => {
    try {
      const path = ctx.sessionManager.getSessionFile();
      if (!path) {
        settle('');
        return;
      }
      const event = JSON.stringify({ hook_event_name: name, transcript_path: path });
      const options = { timeout: 6000, killSignal: 'SIGKILL' };
      // The programs' own exec reports a program that a signal ended as one that succeeded.
      execFile('refold', ['hook', 'pi', '--event', event], options, (error, words) => {
        settle(error ? '' : words.trim());
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

  // Return true for a compaction that refold was not asked about.
  function isOpen(ctx) {
    const entries = ctx.sessionManager.getBranch();
    const last = entries.findLastIndex((each) => each.type === 'compaction');
    return last >= 0 && !entries.slice(last).some((each) => each.customType === TYPE);
  }

  pi.on('session.compacting', async (event, ctx) => {
    const words = await answer(ctx, 'PreCompact');
    return words === '' ? undefined : { context: [words] };
  });

  pi.on('before_agent_start', async (event, ctx) => {
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
      const content = await answer(ctx, 'Compacted');
      if (content !== '' && isRunning) {
        pi.sendMessage({ customType: TYPE, content, display: true }, { deliverAs: 'steer' });
      }
    }
  });
}

export default function (pi) {
  // Only oh-my-pi gives its extensions a logger.
  (pi.logger === undefined ? inPi : inOhMyPi)(pi);
  pi.on('session_shutdown', async (event, ctx) => {
    await answer(ctx, 'SessionEnd');
  });
}
