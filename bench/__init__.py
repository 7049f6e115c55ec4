"""Measure what refold costs, compared with lower bounds and with other ways to do the work."""
