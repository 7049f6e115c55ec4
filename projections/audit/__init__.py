"""Audits of sessions: what each compaction, summary and rewrite lost, kept and cost."""
