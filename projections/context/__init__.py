"""Contexts: what the model was sent, or would be sent, at any event of any branch."""
