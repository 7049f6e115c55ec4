"""One module a subcommand; `command` in it is the click command."""
