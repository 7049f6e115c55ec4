"""Scenarios for each program: what it is told without a terminal, and what the model answers."""
