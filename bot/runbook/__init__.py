"""Runbooks: Markdown to steps, what is wrong with one, and where a walk through one stands. Pure."""
