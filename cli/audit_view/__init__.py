"""How audits look in a terminal: a session on one screen, a session in full, many sessions a line each."""
