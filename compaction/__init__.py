"""Append the events that make contexts smaller; contexts are recomputed from the log."""

MARK = "REFOLD_ASKS"
"""Marks the environment of a program that refold asks; the value is the name of its folder."""
