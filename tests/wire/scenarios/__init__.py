"""Scenarios: tell each program what to do, as far as it does it without a terminal."""
