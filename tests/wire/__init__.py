"""Ask the real programs: run them against a scripted model, and compare what they send with refold's contexts.

Read it in this order: `scenarios/` say what a program is told to do and what the model answers (`replies`); `model` is
the server that answers; `install` gets a release from npm; `box` and `run` start it where it reaches nothing but that
server; `blocks`, `contexts` and `compare` say how a request and a context are equal; `masking` and `recording` keep a
run as a fixture in `recorded/`, and `table` writes docs/checks.md. `python -m tests.wire --help` says how to start.
"""
