"""Session files of harnesses: what is read of them, and how a session is given back."""
