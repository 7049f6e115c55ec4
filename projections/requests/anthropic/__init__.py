"""Requests to Anthropic's Messages API."""
