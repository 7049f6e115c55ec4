"""Append the events that make contexts smaller; contexts are recomputed from the log."""
