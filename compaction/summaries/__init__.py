"""Making a compaction's summary: in how many steps, from what notes, with which file tags and what record."""
