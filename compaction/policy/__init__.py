"""Policies: how a harness keeps its context small, as data, from presets and from a person's TOML.

To add a preset: a file in `presets`, its docs.
"""
