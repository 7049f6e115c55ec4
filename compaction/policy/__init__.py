"""Load and check policies: data that says how a harness keeps its context small.

To add a preset, write a file in `presets` and its docs.
"""
