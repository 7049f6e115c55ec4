"""Contexts: what the model was sent at any event of any branch, and what it would be sent."""
