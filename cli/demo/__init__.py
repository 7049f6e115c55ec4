"""The demo session: a recording, and the player that gives it real compactions."""
