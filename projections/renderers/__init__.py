"""Contexts as others want them: an API's request, a harness's messages, text."""
