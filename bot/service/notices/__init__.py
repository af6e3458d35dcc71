"""Notices: who is owed one, how it is previewed, sent and answered."""
