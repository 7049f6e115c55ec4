"""Move about in a session's tree, fork it, undo what was appended, hand a session off."""
