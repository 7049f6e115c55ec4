"""Sessions of pi: its files, its records, what they say."""
