"""Render contexts as requests to APIs, one package an API."""
