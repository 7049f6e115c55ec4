"""Keeping the contexts of running sessions small."""
