"""The log on disk, in an LMDB environment."""
