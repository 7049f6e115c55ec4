"""Store the log on disk in an LMDB environment."""
