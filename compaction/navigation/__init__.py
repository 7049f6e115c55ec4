"""Moving about in a session's tree, and telling where it goes on what was left."""
