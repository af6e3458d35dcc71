"""Notices: every template, every shape of facts."""
