"""The demo session: a recording, and the player that adds real compactions."""
