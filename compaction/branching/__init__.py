"""Move in a session's tree, fork it, undo appends, hand a session off."""
