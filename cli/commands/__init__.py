"""One module per subcommand; `command` in each is the click command."""
