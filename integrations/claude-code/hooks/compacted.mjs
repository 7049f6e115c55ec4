// Around the stock compaction, hand over what refold keeps. Whatever fails, the stock result stands.

async function answer($, event) {
  try {
    const argv = ['refold', 'hook', 'claude-code'];
    // Other users of the machine could see an argument.
    const run = await $.process.run(argv, { stdin: JSON.stringify(event), timeoutMs: 6000 });
    return run.exitCode === 0 ? run.stdout.trim() : '';
  } catch (error) {
    return '';
  }
}

// Tell the commands of hooks.json that this module does their work here; return the session's file.
async function begin($) {
  try {
    await $.env.set('REFOLD_MODULE', '1');
    return (await $.session.info()).transcriptPath || '';
  } catch (error) {
    return '';
  }
}

export function register(on) {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute' || e.agentId !== undefined) {
      return next(e);
    }
    const path = await begin($);
    if (path === '') {
      return next(e);
    }
    const keep = await answer($, { hook_event_name: 'PreCompact', transcript_path: path });
    const instructions = [e.instructions, keep].filter(Boolean).join('\n\n');
    const made = await next(instructions === '' ? e : { ...e, instructions });
    if (made.messages === undefined) {
      return made;
    }
    const summary = made.messages.map((message) => message.text).join('\n');
    const words = await answer($, { hook_event_name: 'Compacted', transcript_path: path, summary });
    if (words === '') {
      return made;
    }
    return { ...made, messages: [...made.messages, { role: 'user', text: words, toolUses: [] }] };
  });
}
