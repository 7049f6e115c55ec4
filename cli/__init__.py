"""The command line: thin, and how things look."""
