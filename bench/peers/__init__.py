"""Measure refold beside other stores of sessions: `python -m bench.peers DATE`."""
