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

function isSummary(e) {
  return e.door === 'compaction' && e.agentId === undefined && e.message.type === 'user' && Array.isArray(e.message.content);
}

export function register(on) {
  on('session.compact', async ($, e, next) => {
    const path = e.trigger === 'precompute' || e.agentId !== undefined ? '' : await begin($);
    const keep = path === '' ? '' : await answer($, { hook_event_name: 'PreCompact', transcript_path: path });
    const instructions = [e.instructions, keep].filter(Boolean).join('\n\n');
    return next(keep === '' ? e : { ...e, instructions });
  });
  // The words follow the summary in its own record: messages that replace those of the compaction get new ids, by which
  // results of tools lose their place in the session's file, and a resumed session loads all that was summarized.
  on('session.append', async ($, e, next) => {
    if (!isSummary(e)) {
      return next(e);
    }
    const path = await begin($);
    const summary = e.message.content.map((block) => block.text || '').join('\n');
    const words = path === '' ? '' : await answer($, { hook_event_name: 'Compacted', transcript_path: path, summary });
    if (words === '') {
      return next(e);
    }
    return next({ ...e, message: { ...e.message, content: [...e.message.content, { type: 'text', text: words }] } });
  });
}
