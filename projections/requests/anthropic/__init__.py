"""The requests of Anthropic's Messages API."""
